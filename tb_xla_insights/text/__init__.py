"""Text for people and programs: units, English, escapes, JSON, the order and length of names."""
