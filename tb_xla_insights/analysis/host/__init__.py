"""What the host did: classes, annotations, transfers, waits."""
