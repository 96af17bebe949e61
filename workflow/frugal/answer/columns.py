"""Unit and meaning of the columns of tables on the way from a table to an answer."""

from frugal.core.columns import COST

COLUMNS: dict[str, tuple[str, str]] = {
    # net benefit
    "net_benefit": (
        "",
        "true positives per case, less t/(1−t) false positives and the price of panels",
    ),
    "panels_net_benefit": ("", "price of panels per case, in the unit of net benefit"),
    "referral_cost": (COST, "cost of cases that are handed to a person"),
    # other cases
    "saving": (COST, "cost of practice less that of the policy, for the other cases"),
    "saving_low": (COST, "lower end of its 95 % interval"),
    "saving_high": (COST, "upper end of its 95 % interval"),
    "cases": ("cases", "for which costs are estimated"),
    # identity
    "agent": ("", "name of the acquisition policy"),
    # decisions and outcomes
    "set_probability": ("", "probability that the unblocked policy ends with the recorded set"),
    "sequence_probability": ("", "as set_probability, in the order of the records"),
    "in_record_order": ("", "1 where panels were acquired in the order of the records, else 0"),
    "true_afa_propensity": ("", "p(R=1 | X, acquired values, acquired set, R_s=1), by enumeration"),
    "repeat": ("", "number of the division into folds, from 0 on"),
    # missingness and nuisances
    "complete_probability": ("", "true p(R=1|X)"),
    "pattern_probability": ("", "true p(R=r|X) of the recorded pattern"),
    "s_probability": ("", "true p(R_s=1|X)"),
    # comparisons and verdicts
    "not_worse": (
        "",
        "True where `agent` may be the best policy (comparisons with the best, 95 %); in verdicts "
        "the names of all such policies",
    ),
    # estimates
    "std_error": (COST, "standard error by influence function; nuisances taken as known"),
    "ci_low": (COST, "lower end of the 95 % interval, within the possible costs of a unit"),
    "ci_high": (COST, "upper end of the 95 % interval, within the possible costs of a unit"),
    "largest_weight_share": ("", "share of the largest weight in their sum"),
    # candidates of an answer
    "recorded": ("", "whether the record holds the panel; true where the policy stops"),
    "effective_rows": ("rows", "of equal weight that would vary as much as the rows followed"),
    "bound": (
        COST,
        "largest possible saving of another policy, 95 % for all at once; in comparisons "
        "that by `other`, of those that may be the best",
    ),
    "weight": ("", "rows that a record followed to the end represents; 0 for others"),
    "term": (COST, "of the estimated cost, whose mean is the estimate"),
    # agents that learn
    "transitions": ("", "decisions that the agent has learned from by then"),
    "mean_return": (COST, "mean sum of rewards of an episode while exploring: minus its cost"),
    "td_error": (COST, "mean absolute temporal-difference error of the updates"),
    "epsilon": ("", "probability of a random action"),
    # errors of imputation
    "rmse_average": ("", "mean of rmse over seeds"),
    "rmse_sd": ("", "standard deviation of rmse over seeds"),
    "rmse_of_mean": ("", "rmse of mean imputation on the same entries"),
    "better_than_mean": ("", "True where the error is below mean imputation's in every seed"),
}

PATTERNS: tuple[tuple[str, tuple[str, str]], ...] = (
    (r"share:(.+)", ("", "share of cases for which the policy acquires panel {0}")),
    (r"belief:(.+)", ("", "probability of class {0} that the policy holds true in the state")),
    (r"probability:(.+)", ("", "true probability that panel {0} is recorded, given its causes")),
)
