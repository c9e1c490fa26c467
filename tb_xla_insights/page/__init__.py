"""The page's files and the bundles that npm packed of them. The package build uses this module without dependencies."""
