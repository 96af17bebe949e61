"""Rules of a policy in plain Python, to be copied or translated; see docs/reference/rules.md."""

import math
import operator
import struct

OPS = {"-": operator.sub, "*": operator.mul, "/": operator.truediv, "exp": math.exp}
OPS |= {"single": lambda x: struct.unpack("f", struct.pack("f", x))[0], "+": lambda *x: sum(x)}
COMPARES = {"<": operator.lt, "<=": operator.le, "=": operator.eq}


def cell_of(column, cell):
    """A cell as a number or a level; None where it has no value."""
    text = "" if cell is None else str(cell).strip()
    if text in column["unknown"]:
        return None
    if column["type"] == "category":
        return column["texts"].get(text) or column["spellings"].get(text.lower(), text)
    x = column["texts"][text] if text in column["texts"] else float(text)
    low, high = column["range"] or (x, x)
    possible = low <= x <= high or x in column["codes"]
    return x if possible and x not in column["unknown_numbers"] else None


def leaves(model, k, value):
    """The leaf of class k that a case comes to in each tree."""
    for node in model["root"]:
        while (j := model["column"][node]) >= 0:
            known, left = (x := value(j)) is not None, model["unknown_left"][node]
            goes_left = x <= model["cut"][node] if known else left
            node = node + 1 if goes_left else model["right"][node]
        yield model["leaves"][model["right"][node]][k]


def advice(rules, case):
    """The next panel, the predicted class, and the probability of each, for a dict of cells."""
    cells = [cell_of(column, case.get(column["name"])) for column in rules["columns"]]
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

    if any(cells[k] is None for k in rules["required"]):
        raise ValueError("a value that is known at the start lacks")
    ordered = [panel["name"] for k, panel in enumerate(rules["panels"]) if at(rules["next"][k])]
    predicted = [name for k, name in enumerate(rules["classes"]) if at(rules["predicted"][k])]
    return [*ordered, "stop"][0], predicted[0], [at(step) for step in rules["probability"]]
