"""Kinds of agents, one file each, and the policies that two of them share."""
