"""Generators of action sets: learned cheapest answers to a negative decision, a kind a file."""
