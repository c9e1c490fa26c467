"""A report as HTML: the page that stands alone, and what notebooks show in a cell."""
