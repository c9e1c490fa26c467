"""Which execute call each run on a device comes from, and what each run takes."""
