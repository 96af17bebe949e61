"""Worlds in which panels are acquired, policies that act there, and how policies are trained."""
