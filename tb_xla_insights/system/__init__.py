"""The memory and the threads that this process uses."""
