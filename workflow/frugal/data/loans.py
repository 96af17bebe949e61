"""The synthetic loan approvals of the dadi study: fair, unfair and conditionally fair features.

Knows neither panels nor folds: a data set's YAML says which columns are shown.
"""

import numpy as np
import pandas as pd

FAIR, UNFAIR = 4, 4  # features of each kind


def loan_applications(*, rows: int, divisor: float, seed: int) -> pd.DataFrame:
    """Applicants of two equally likely groups, ten features, and whether they would pay back.

        X₁..X₄ ~ N(0, 1);  X₅..X₈ ~ N(b − ½, 1);  X₉ ~ U{0, 1, 2};  X₁₀ ~ N(± X₉/2, 1)
        P(Y = 1 | X) = σ(βᵀX / divisor),   β = (1, −1, 1, −1, …)                  [dadi, app. D]

    The sign of X₁₀'s mean is that of b − ½. β has ten entries, one for each feature: X₉ enters as
    the number 0, 1 or 2 with weight +1, and X₁₀ with weight −1. (With an entry for each one-hot
    column of X₉ instead, its weights would be +1, −1, +1, and X₁₀'s still −1.)

    Args:
        rows: number of applicants; the first rows of a larger table of the same seed are the same.
        divisor: 10 in the paper; a smaller one makes the label depend more on the features.
        seed: of the world and its rows.

    Returns:
        Columns X1..X10 (X9 as text "0", "1", "2"), `group` ("0", "1") and `repaid` ("0", "1").
    """
    normal, uniform = (np.random.default_rng([seed, part]) for part in (0, 1))
    noise = normal.standard_normal((rows, FAIR + UNFAIR + 1))
    chance = uniform.random((rows, 3))  # group, X9, repayment
    group = (chance[:, 0] < 0.5).astype(np.int64)
    kind = np.minimum((3 * chance[:, 1]).astype(np.int64), 2)
    side = group - 0.5
    features = np.column_stack(
        [
            noise[:, :FAIR],
            noise[:, FAIR : FAIR + UNFAIR] + side[:, None],
            kind,
            noise[:, -1] + side * kind,
        ]
    )
    beta = np.where(np.arange(features.shape[1]) % 2 == 0, 1.0, -1.0)
    repaid = chance[:, 2] < 1 / (1 + np.exp(-features @ beta / divisor))
    frame = pd.DataFrame(features, columns=[f"X{j + 1}" for j in range(features.shape[1])])
    frame["X9"] = kind.astype(str)
    frame["group"] = group.astype(str)
    frame["repaid"] = repaid.astype(np.int64).astype(str)
    return frame
