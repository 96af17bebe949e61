"""Tidy tables to figures; computes no statistic beyond those needed."""
