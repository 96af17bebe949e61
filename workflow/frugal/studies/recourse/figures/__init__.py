"""Tidy tables to figures; computes no statistic beyond what that needs."""
