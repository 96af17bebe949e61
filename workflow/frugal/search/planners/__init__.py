"""From a model of outcomes to a table of what to try next."""
