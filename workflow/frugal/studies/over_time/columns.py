"""Unit and meaning of the columns that only tables of policies over time have."""

from frugal.core.columns import COST

COLUMNS: dict[str, tuple[str, str]] = {
    "estimator": ("", "name of the estimator; semi_offline_doubly_robust is the answer"),
    "std_error": (COST, "standard error, influence terms summed by cluster"),
    "ci_low": (COST, "lower end of the 95 % interval"),
    "ci_high": (COST, "upper end of the 95 % interval"),
    "acquisition": (COST, "part of the cost: panels, set-ups and waiting"),
    "errors": (COST, "part of the cost: wrong decisions"),
    "saving": (COST, "cost of recorded practice less that of the policy"),
    "saving_low": (COST, "lower end of its 95 % interval"),
    "saving_high": (COST, "upper end of its 95 % interval"),
    "records": ("units", "records with weight"),
    "effective": ("units", "effective number of records, by their weights"),
    "contained": ("units", "records that contain the ordered panels; in support, to the window"),
    "equal": ("units", "records that hold the ordered panels and no other"),
    "label_shift": ("", "share of positive labels in the weighted records less that in all"),
    "label_shift_low": ("", "lower end of its 95 % interval"),
    "label_shift_high": ("", "upper end of its 95 % interval"),
    "reason": ("", "why the policy is not named; empty where it may be"),
    "judged_share": ("", "share of the units for which it orders recorded panels alone"),
    "window": ("windows", "number of the window, from 0 on"),
    "at_risk": ("units", "units that have the window"),
    "least": ("", "smallest probability that a record contains all orders up to the window"),
    "tipping_gamma": (
        "",
        "factor on the odds that the window holds the ordered panels, by which hidden causes must "
        "shift them in it alone until the policy costs as much as recorded practice; infinite "
        "beyond 20, empty where no record could lack a panel",
    ),
    "fifth": ("", "5 % smallest of these probabilities"),
}

PATTERNS: tuple[tuple[str, tuple[str, str]], ...] = ()
