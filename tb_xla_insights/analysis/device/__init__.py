"""The ops of devices by name, and their collectives."""
