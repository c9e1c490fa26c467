"""The class of the host's activity, and the code and annotations that it comes from."""
