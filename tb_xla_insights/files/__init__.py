"""Files on disk and behind URLs: read by ranges or as text, written whole, and one line for what goes wrong."""
