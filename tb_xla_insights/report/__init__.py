"""A session's report, the document that the command line, Python and the page share (`report.document`); the documents
of the page's views; and the texts of all outputs."""
