"""Records of two panels, and the check of a graph that is right, or lacks one cause."""

import numpy as np
from frugal.judge.graph_check import GraphCheck, Indicators, check_graph
from sklearn.linear_model import LogisticRegression

ODDS = np.log(3.0)


def _logit(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def _fitted(causes: np.ndarray, observed: np.ndarray) -> np.ndarray:
    if not causes.shape[1]:
        return np.full(len(observed), observed.mean())
    model = LogisticRegression(C=1e6).fit(causes, observed)
    return model.predict_proba(causes)[:, 1]


def checked(
    rng: np.random.Generator,
    n: int = 500,
    *,
    edge: float = 0.0,
    column: float = 0.0,
    label: float = 0.0,
    shift: tuple[float, float] = (0.3, 0.0),
) -> GraphCheck:
    """Two panels; the graph says: the first depends on x0, the second on nothing.

    Args:
        rng: of rows, gaps and the check.
        n: rows.
        edge: log-odds of an edge R → R that the graph lacks.
        column: log-odds of a cause of the first panel that the graph lacks, per standard deviation.
        label: the same of the label.
        shift: log-odds that the panels are recorded, all else being average.
    """
    x = rng.normal(size=(n, 3))
    x[:, 2] += 0.5 * x[:, 0]
    ill = rng.random(n) < _logit(x[:, 0] + x[:, 2])
    first = rng.random(n) < _logit(shift[0] + x[:, 0] + column * x[:, 1] + label * ill)
    second = rng.random(n) < _logit(shift[1] + edge * first - edge / 2)
    observed = np.stack([first, second], axis=1)
    causes = [x[:, :1], np.empty((n, 0))]
    probability = np.stack([_fitted(causes[k], observed[:, k]) for k in (0, 1)], axis=1)
    given = Indicators(["A", "B"], observed, probability, causes)
    columns = {f"x{k}": x[:, k] for k in range(3)}
    return check_graph(given, columns, {"ill": ill.astype(float)}, rng)
