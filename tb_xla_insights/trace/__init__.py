"""One data model for captures of every runtime: planes, lines, events, flows, threads, devices, annotations."""
