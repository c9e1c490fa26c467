"""XLA Insights: why is the accelerator idle? Reads XPlane profile captures of PyTorch/XLA, TorchTPU and JAX."""
