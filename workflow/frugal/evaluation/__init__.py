"""Metrics, intervals, resampling and diagnostics of results: arrays in, arrays out.

Nothing here knows a file, a figure, or how the numbers that it judges were made.
"""
