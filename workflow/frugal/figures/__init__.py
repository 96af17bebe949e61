"""Tidy tables to figures; places marks and computes no statistic beyond what that needs."""
