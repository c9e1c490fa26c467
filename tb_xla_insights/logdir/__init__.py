"""Finds sessions, local or remote, reads them and caches them in memory."""
