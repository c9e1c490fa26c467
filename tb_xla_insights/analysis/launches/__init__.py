"""Which execute call each run on a device comes from, what each run takes, and the steps that runs belong to."""
