"""What a capture lacks or contradicts, and how that limits the analysis."""
