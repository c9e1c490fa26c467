"""What devices did: names of ops, collectives."""
