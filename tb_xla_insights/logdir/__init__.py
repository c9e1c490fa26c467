"""Where sessions are, local or remote, and the ones that are in memory."""
