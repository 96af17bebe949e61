"""Reads the rules of a policy: python read_rules.py policy.json cases.csv; docs/reference/rules.md.

Plain Python, to be copied or translated: `advice(rules, case)` is the next panel, the prediction,
and the probability of each class. A case maps columns to cells; None or "" is not acquired.
"""

import csv
import json
import math
import operator
import struct
import sys

OPS = {"-": operator.sub, "*": operator.mul, "/": operator.truediv, "exp": math.exp}
OPS |= {"single": lambda x: struct.unpack("f", struct.pack("f", x))[0], "+": lambda *x: sum(x)}
COMPARES = {"<": operator.lt, "<=": operator.le, "=": operator.eq}


def cell_of(column, cell):
    text = "" if cell is None or cell != cell else str(cell).strip()
    if text in column["unknown"]:
        return None
    if column["type"] == "category":
        return column["texts"].get(text) or column["spellings"].get(text.lower(), text)
    number = column["texts"].get(text) if text in column["texts"] else float(text)
    low, high = column["range"] or (number, number)
    outside = not low <= number <= high and number not in column["codes"]
    return None if outside or number in column["unknown_numbers"] else number


def leaves(model, k, values):
    for node in model["root"]:
        while model["column"][node] >= 0:
            x = values(model["column"][node])
            left = model["unknown_left"][node] if x is None else x <= model["cut"][node]
            node = node + 1 if left else model["right"][node]
        yield model["leaves"][model["right"][node]][k]


def advice(rules, case):
    cells = [cell_of(column, case.get(column["name"])) for column in rules["columns"]]
    for k, column in enumerate(rules["columns"]):
        opens = column.get("opened_by", ())
        if cells[k] is None and (opens == "always" or any(cells[j] is not None for j in opens)):
            cells[k] = column["otherwise"]
    if any(cells[k] is None for k in rules["required"]):
        raise ValueError("a column that is known at the start has no value")
    done = {}

    def at(place):
        if place not in done:
            done[place] = result(*rules["steps"][place])
        return done[place]

    def result(op, *parts):
        if op in ("number", "truth", "unknown"):
            return parts[0] if parts else None
        if op in ("cell", "known", "is"):
            x = cells[parts[0]]
            return x if op == "cell" else x is not None if op == "known" else x == parts[1]
        if op in ("and", "or", "not"):
            return not at(*parts) if op == "not" else (all if op == "and" else any)(map(at, parts))
        if op == "if":
            return at(parts[1] if at(parts[0]) else parts[2])
        if op == "trees":
            return sum(leaves(rules["trees"][parts[0]], parts[1], lambda j: at(parts[2 + j])))
        numbers = [at(part) for part in parts]
        if op in COMPARES:
            return None not in numbers and COMPARES[op](*numbers)
        return None if None in numbers else OPS[op](*numbers)

    panels = [p["name"] for p, step in zip(rules["panels"], rules["next"]) if at(step)]
    predicted = next(c for c, step in zip(rules["classes"], rules["predicted"]) if at(step))
    return (panels or ["stop"])[0], predicted, [at(step) for step in rules["probability"]]


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as rules, open(sys.argv[2], newline="") as cases:
        policy = json.load(rules)
        for case in csv.DictReader(cases):
            print(*advice(policy, case), sep="\t")
