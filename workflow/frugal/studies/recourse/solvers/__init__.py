"""Exact weighted set covers of many units at once, with certificates."""
