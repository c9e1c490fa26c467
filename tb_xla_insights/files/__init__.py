"""Files on disk and behind URLs: reading by ranges or as text, atomic writing, and one-line error messages."""
