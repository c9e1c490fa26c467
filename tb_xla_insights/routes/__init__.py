"""The routes that the page requests its data from: one handler per route, from arguments to a document."""
