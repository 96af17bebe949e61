"""Walks one row down stored trees, one node at a time, straight from the meaning of the arrays."""

import math


def walk_proba(arrays, row, known):
    """Class probabilities of one row; `known[f]` says whether feature f may be read."""
    rows = [_reached(arrays, int(j), row, known) for j in arrays["root"]]
    classes = range(len(rows[0]))
    total = [math.fsum(values[c] for values in rows) for c in classes]
    if arrays["link"][0] == 0:
        return [t / len(rows) for t in total]
    share = [math.exp(t - max(total)) for t in total]
    return [s / math.fsum(share) for s in share]


def _reached(arrays, j, row, known):
    while arrays["feature"][j] >= 0:
        f = arrays["feature"][j]
        readable = known[f] and not math.isnan(row[f])
        left = row[f] <= arrays["threshold"][j] if readable else arrays["missing_left"][j]
        j = j + 1 if left else int(arrays["right"][j])
    return [float(v) for v in arrays["leaf_value"][arrays["right"][j]]]


def known_columns(panel_columns, free, acquired):
    """Columns known by definition: free, or in some acquired panel."""
    return [
        is_free
        or any(f in columns for columns, has in zip(panel_columns, acquired, strict=True) if has)
        for f, is_free in enumerate(free)
    ]
