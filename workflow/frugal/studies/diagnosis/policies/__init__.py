"""Kinds of agents, one file each, and the policies of a front."""
