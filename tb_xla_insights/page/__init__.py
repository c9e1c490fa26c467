"""The page's files, and what becomes of them. Pip builds the package with this: nothing here needs another package."""
