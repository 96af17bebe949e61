"""Frugal: what is worth acquiring next, and whether that answer can be trusted."""
