"""What each column of a table says about itself, beside its type: how hosts merge, and its heading."""
