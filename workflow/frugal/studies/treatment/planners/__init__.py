"""Planners of treatment searches, a kind a file."""
