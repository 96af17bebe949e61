"""Stages that every study may use."""
