"""Encoding cell by cell, from its definition; shares nothing with the package."""

import math
import statistics


def encode_slowly(records, columns):
    """Rows of encoded numbers and their names.

    Args:
        records: list of mappings, raw column → text ("" = missing).
        columns: list of (name, "numeric", codes) or (name, "categorical", levels).
    """
    names = []
    for name, kind, items in columns:
        if kind == "numeric":
            names.append(name)
        names += [f"{name}={item}" for item in items]
    rows = []
    for record in records:
        row = []
        for name, kind, items in columns:
            text = record[name]
            if kind == "categorical":
                row += [math.nan if text == "" else float(text == level) for level in items]
                continue
            regular = [float(r[name]) for r in records if r[name] != "" and r[name] not in items]
            if text == "":
                row += [math.nan] * (1 + len(items))
            else:
                row.append(statistics.median(regular) if text in items else float(text))
                row += [float(text == code) for code in items]
        rows.append(row)
    return names, rows
