"""Generators of action sets: learned cheapest answers to a negative decision."""
