"""The MIMIC-III cohort of the treatment search, patient by patient, from the definition.

Shares nothing with the package: plain dictionaries and loops, its own word for each drug.
"""

SIX = ["CEFTAZIDIME", "PIPERACILLIN/TAZO", "CEFEPIME", "TOBRAMYCIN", "GENTAMICIN", "MEROPENEM"]
WORTH = {"R": 0, "I": 1, "S": 2}


def complete_units(events: list[dict[str, str]], organisms: set[str]) -> dict:
    """(patient, organism) → (admission, results of the six), first complete admission."""
    tests: dict[tuple[str, str, str], dict[str, list[tuple[str, int]]]] = {}
    for event in events:
        if event["org_name"] not in organisms or event["ab_name"] not in SIX:
            continue
        if event["interpretation"] not in WORTH:
            continue
        key = (event["subject_id"], event["org_name"], event["hadm_id"])
        when = event["charttime"] or event["chartdate"]
        tests.setdefault(key, {}).setdefault(event["ab_name"], []).append(
            (when, WORTH[event["interpretation"]])
        )
    units: dict[tuple[str, str], tuple[str, str, list[int]]] = {}
    for (patient, organism, admission), drugs in tests.items():
        if len(drugs) < len(SIX):
            continue
        results = [sorted(drugs[drug])[0][1] for drug in SIX]
        first = min(when for found in drugs.values() for when, _ in found)
        known = units.get((patient, organism))
        if known is None or first < known[0]:
            units[patient, organism] = (first, admission, results)
    return {key: (admission, results) for key, (_, admission, results) in units.items()}


def trials_of(prescriptions: list[dict[str, str]], admission: str, words: list[str]) -> list[int]:
    """Indices of the six in the order of their first day in an admission."""
    first: dict[int, str] = {}
    for row in prescriptions:
        if row["hadm_id"] != admission or row["route"] in ("TP", "OU", "NEB"):
            continue
        for index, word in enumerate(words):
            if word in row["drug"].lower():
                first[index] = min(first.get(index, "9"), row["startdate"] or "9")
    return sorted(first, key=lambda index: (first[index], index))
