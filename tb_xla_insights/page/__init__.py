"""The page's files, and what npm packed of them. Pip builds the package with this: it needs no other package."""
