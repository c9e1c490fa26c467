"""What kernels do with memory that has no other words: an instruction each. Only numba's compiler imports this file."""
