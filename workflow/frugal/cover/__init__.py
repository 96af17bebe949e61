"""Cheapest sets of actions: exact covers, learned generators, repair."""
