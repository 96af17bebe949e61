"""Typed models of every config: types, ranges, defaults and meanings, each once."""
