"""Sessions of many hosts: what each of them tells on its own, and what only all of them together tell."""
