"""What steps wait for: early executions and reads, waits, transfers, data, callbacks, pauses, collectives."""
