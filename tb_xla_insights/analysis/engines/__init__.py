"""The engines beside a TPU core's own: what a core waits for, how much of an asynchronous op's time its computing
hides, and what its SparseCores do. (docs/definitions.md, "Engines")"""
