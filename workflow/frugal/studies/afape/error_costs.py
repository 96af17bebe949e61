"""Costs of decisions that make no sense to save on, of a table whose costs a study adds up.

Only `afape` adds up costs of errors. `dadi` and `diagnosis` score their answers by AUC, F1 and the
price of panels and never read these costs, and `treatment` and `recourse` have none: whatever
stands there is theirs to ignore.
"""

import numpy as np

from frugal.core.errors import ConfigError
from frugal.data.description import Description


def require_error_costs(at: str, description: Description) -> None:
    """Refuse costs by which no decision is wrong, or a right one dearer than a wrong one.

    Raises:
        ConfigError: all decisions cost the same, whatever is true, so that no acquisition could
            pay; or a class for which another decision than the right one is cheaper, as where rows
            and columns are confused.
    """
    cost, classes = np.array(description.misclassification_cost), description.label.classes
    where = (
        f"{at} names data set {description.name!r}, in whose YAML ({description.path}) "
        "'misclassification_cost'"
    )
    if (cost == cost[:, :1]).all():
        what = "is zero everywhere" if not cost.any() else "is the same for all decisions"
        raise ConfigError(
            f"{where} {what}, so that no acquisition could pay; write what a wrong decision costs, "
            f"in {description.cost_unit}: a row for each true class, a column for each decision"
        )
    dearer = np.diag(cost)[:, None] > cost
    if dearer.any():
        true, wrong = (int(k) for k in np.argwhere(dearer)[0])
        raise ConfigError(
            f"{where} says that where {classes[true]!r} is true, the decision {classes[true]!r} "
            f"costs {cost[true, true]:g} and {classes[wrong]!r} costs {cost[true, wrong]:g}; a "
            "right decision may cost no more than a wrong one (rows are true classes, columns "
            "decisions)"
        )


def remark_on_error_costs(at: str, description: Description) -> str | None:
    """What to tell of costs by which one decision is never wrong; None where there is no such one.

    That is allowed, for somebody may want to see it, and its answer is known: never acquire.
    """
    cost = np.array(description.misclassification_cost)
    always = np.flatnonzero((cost == cost.min(axis=1, keepdims=True)).all(axis=0))
    if len(always) == 0:
        return None
    decision = description.label.classes[int(always[0])]
    return (
        f"{at}: by 'misclassification_cost' of {description.path} the decision {decision!r} is the "
        "cheapest whatever is true, so that the best policy acquires nothing; is a cost missing?"
    )
