"""Made-up answers to nine screening questions, and the log of an adaptive test of known rule.

Answers from 0 to 3 are of Samejima's graded-response model (1969); an interview finds the disorder
with a probability that rises with the same trait. Of `docs/notebooks/questionnaire.ipynb`.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import yaml

ITEMS = [f"q{k}" for k in range(1, 10)]
RULE = Path(__file__).with_suffix(".yaml")
DISCRIMINATION = np.array([2.6, 2.4, 1.4, 1.7, 1.5, 2.2, 1.8, 1.5, 2.0])
FIRST = np.array([0.3, 0.4, -0.2, -0.4, 0.5, 0.4, 0.6, 1.2, 1.5])  # threshold of the answer 1
FURTHER = np.array([0.0, 0.9, 1.6])  # of the answers 1 to 3, above it


def people(n: int, draw: np.random.Generator) -> pd.DataFrame:
    """All answers of n people, the sum of the first two, and the disorder by an interview."""
    trait = draw.normal(size=(n, 1, 1))
    above = trait - FIRST[:, None] - FURTHER
    reaches = draw.random((n, 9, 1)) < 1 / (1 + np.exp(-DISCRIMINATION[:, None] * above))
    rows = pd.DataFrame(reaches.sum(axis=2), columns=ITEMS)
    found = draw.random(n) < 1 / (1 + np.exp(-5 * (trait.ravel() - 1.2)))
    return rows.assign(first_two=rows["q1"] + rows["q2"], disorder=np.where(found, "yes", "no"))


def logged(rows: pd.DataFrame, draw: np.random.Generator) -> pd.DataFrame:
    """The answers that the rule asks for; NaN for others."""
    lot, asked = draw.random(len(rows)), rows[ITEMS] < 0
    asked[ITEMS[:2]] = True
    for stratum in yaml.safe_load(RULE.read_text(encoding="utf-8"))["strata"]:
        ends, chance = stratum["where"]["first_two"], 0.0
        inside = (rows["first_two"] >= ends["from"]) & (rows["first_two"] < ends["below"])
        for entry in stratum["record"]:
            drawn = (lot >= chance) & (lot < chance + entry["probability"])
            chance += entry["probability"]
            asked.loc[inside & drawn, entry["panels"]] = True
    return rows.assign(**{item: rows[item].where(asked[item]) for item in ITEMS})
