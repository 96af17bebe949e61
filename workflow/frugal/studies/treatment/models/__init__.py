"""Models of outcomes: counts of records, smoothed tables, forests."""
