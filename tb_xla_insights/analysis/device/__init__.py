"""What devices did: op names and collectives."""
