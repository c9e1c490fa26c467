"""The report as HTML: the standalone page, and cells of notebooks."""
