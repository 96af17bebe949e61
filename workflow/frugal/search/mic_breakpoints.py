"""From a minimum inhibitory concentration to resistant, intermediate or susceptible.

Holds the named sets of breakpoints and the reading of a laboratory's text. Must not know which
table the values come from.
"""

import numpy as np

from frugal.core.errors import ConfigError, DataError, shown_cell

# Concentrations in mg/L: susceptible at or below, resistant at or above; between: intermediate.
# CLSI, Performance Standards for Antimicrobial Susceptibility Testing, 27th edition, supplement
# M100, Wayne PA, 2017, table 2A (Enterobacteriaceae). Cefepime's "susceptible, dose dependent"
# (4 and 8 mg/L) is read as intermediate. Later editions lowered piperacillin-tazobactam (2022)
# and the aminoglycosides (2023).
BREAKPOINTS: dict[str, dict[str, tuple[float, float]]] = {
    "CLSI M100 2017, Enterobacteriaceae": {
        "ceftazidime": (4.0, 16.0),
        "piperacillin_tazobactam": (16.0, 128.0),
        "cefepime": (2.0, 16.0),
        "tobramycin": (4.0, 16.0),
        "gentamicin": (4.0, 16.0),
        "meropenem": (1.0, 4.0),
    }
}


def breakpoints_of(name: str, drug: str) -> tuple[float, float]:
    """Susceptible at or below, resistant at or above, in mg/L.

    Raises:
        ConfigError: there is no such set, or the set does not have the drug.
    """
    if name not in BREAKPOINTS:
        raise ConfigError(
            f"there are no breakpoints {name!r}; allowed are {', '.join(BREAKPOINTS)}"
        )
    if drug not in BREAKPOINTS[name]:
        raise ConfigError(
            f"breakpoints {name!r} have no drug {drug!r}; they have {', '.join(BREAKPOINTS[name])}"
        )
    return BREAKPOINTS[name][drug]


def mic_bounds(texts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest concentration that a laboratory's text allows, in mg/L; NaN if empty.

    `8` is 8 exactly; `<=2` is anything up to 2; `>16` is 32 or more, since dilutions double; of a
    drug in two parts, `64/4`, the first number counts.

    Args:
        texts: one per test. (n,)

    Raises:
        DataError: a text is none of these.
    """
    distinct, inverse = np.unique(texts.astype(str), return_inverse=True)
    bounds = np.array([_bounds(str(text)) for text in distinct]).reshape(-1, 2)
    return bounds[inverse, 0], bounds[inverse, 1]


def _bounds(text: str) -> tuple[float, float]:
    stripped = text.strip()
    if not stripped:
        return np.nan, np.nan
    sign = stripped[: len(stripped) - len(stripped.lstrip("<>="))]
    try:
        value = float(stripped[len(sign) :].split("/")[0])
    except ValueError:
        value = 0.0
    if not 0 < value < np.inf or "_" in stripped:
        sign = "?"
    match sign:
        case "" | "=" | "==":
            return value, value
        case "<=":
            return 0.0, value
        case "<":
            return 0.0, value / 2
        case ">":
            return 2 * value, np.inf
        case ">=":
            return value, np.inf
        case _:
            raise DataError(
                f"the concentration {shown_cell(text)} cannot be read; allowed are texts such as "
                "8, <=2, >16 and 64/4"
            )


def interpret_mic(
    texts: np.ndarray, *, susceptible_mg_l: float, resistant_mg_l: float
) -> np.ndarray:
    """Letter R, I or S of each test; empty where the text leaves more than one of them open. (n,)

    Args:
        texts: concentrations as a laboratory writes them. (n,)
        susceptible_mg_l: susceptible at or below.
        resistant_mg_l: resistant at or above.
    """
    low, high = mic_bounds(texts)
    letters = np.full(len(texts), "", dtype="<U1")
    letters[high <= susceptible_mg_l] = "S"
    letters[low >= resistant_mg_l] = "R"
    letters[(low > susceptible_mg_l) & (high < resistant_mg_l)] = "I"
    return letters
