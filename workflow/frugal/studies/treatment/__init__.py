"""The shortest search for a near-optimal treatment."""
