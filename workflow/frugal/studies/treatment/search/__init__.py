"""Searches under a policy: worlds, planning, playing, judging, and their words."""
