"""Rows that differ between two small tables, counted one by one from the definition.

A row is (name, number, value); the k-th row of a key in one table is the k-th of that key in the
other.
"""

from collections import defaultdict


def moved_rows(left, right):
    """Rows only in the left, only in the right, and in both with another value."""
    sides = []
    for rows in (left, right):
        by_key = defaultdict(list)
        for name, number, value in rows:
            by_key[name, number].append(value)
        sides.append(by_key)
    a, b = sides
    only_a = only_b = moved = 0
    for key in {*a, *b}:
        first, second = a.get(key, []), b.get(key, [])
        only_a += max(0, len(first) - len(second))
        only_b += max(0, len(second) - len(first))
        for x, y in zip(first, second, strict=False):
            moved += x != y
    return only_a, only_b, moved
