"""Acquisition agents: policies that decide which panel to acquire next, and when to stop."""
