"""Events and ops added up by their names."""
