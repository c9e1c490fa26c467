"""Everything that is known about a session, as the one document that the command line, Python and the page
share (`report.document`)."""
