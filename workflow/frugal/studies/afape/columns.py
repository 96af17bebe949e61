"""Unit and meaning of the columns of afape, with those of an answer."""

from frugal.answer.columns import COLUMNS as OF_ANSWERS
from frugal.answer.columns import PATTERNS as PATTERNS_OF_ANSWERS
from frugal.core.columns import COST

COLUMNS: dict[str, tuple[str, str]] = OF_ANSWERS | {
    # identity
    "mechanism": ("", "name of the missingness mechanism"),
    "estimator": ("", "name of the estimator"),
    "view": ("", "view of table A.1 of the paper"),
    "nuisance": ("", "name of the nuisance function"),
    # missingness and nuisances
    "propensity": ("", "fitted p(R=1|X_adj); empty where X_adj is not recorded"),
    "s_propensity": ("", "fitted p(R_s=1|X_adj); empty where X_adj is not recorded"),
    "pattern_propensity": ("", "fitted p(R=r|X_adj) of the recorded pattern"),
    "afa_propensity": ("", "fitted p(R=1|X_adj, acquired set, R_s=1)"),
    "afa_propensity_policy": (
        "",
        "p(R=1|X_adj, acquired set and values, R_s=1) by Bayes from fitted factors and the policy",
    ),
    "needed_propensity": (
        "",
        "fitted chance, given X_adj, that a record lets the policy end as it did, as a share of "
        "the largest: for one that is deterministic, that it holds the acquired panels and s",
    ),
    "reads_values": ("", "True where the policy's decisions depend on values"),
    "afa_propensity_suffices": (
        "",
        "True where afa_propensity is all that the policy's weights need: the policy reads no "
        "value outside X_adj",
    ),
    "answers_rows": ("", "True where the policy is a table of states, which knows no values"),
    "gaps_matter": ("", "False where the policy acquires no panel that can be missing"),
    "lacks": ("", "which state the policy's table lacks for its AFA propensity; else empty"),
    "mean_cost": (COST, "fitted E[cost | X_adj, R=1]"),
    "mean_acquisition_cost": (COST, "fitted E[acquisition cost | X_adj, R=1]"),
    "mean_misclassification_cost": (COST, "fitted E[misclassification cost | X_adj, R=1]"),
    "mean_probability": ("", "mean predicted probability in the bin"),
    "rate": ("", "share of events in the bin"),
    "log_loss": ("nats", "mean log-loss on held-out rows"),
    "loss": (
        "nats, or share of variance",
        "cross-fitted: log-loss of a probability, squared error over variance of a mean cost; "
        "empty where a named method was fitted on a part of its own",
    ),
    "taken": ("", "True for the method whose fit is used"),
    "learned_from": (
        "",
        "True for a row that nuisances learned from, where they learned from a sample "
        "(afape.nuisance.rows)",
    ),
    "minimum": ("", "smallest value"),
    "share_below_1_percent": ("", "share of rows with a probability below 0.01"),
    # does the graph hold?
    "kind": (
        "",
        "in contrasts the other side: panels, column or label; of a range under hidden "
        "causes: plain, or sharp, which uses the columns of every row",
    ),
    "score": ("standard errors", "of a product that has mean zero if the graph holds"),
    "rows": ("rows", "on which it rests"),
    "share": ("", "share of these rows in which both panels are recorded; empty of a column"),
    "expected": ("", "the same by the graph"),
    "tested": ("", "number of contrasts"),
    "p_value": ("", "probability of so large a score if the graph holds, all looked at together"),
    "graph_refuted": ("", "True where that is below 0.05"),
    # hidden causes
    "gamma": ("", "Γ: hidden causes change the odds of each needed set by 1/Γ to Γ"),
    "low": (COST, "the least that the estimate can be then"),
    "high": (COST, "the most that it can be then"),
    "range_low": (COST, "lower end of the 95 % interval of that range"),
    "range_high": (COST, "upper end of the 95 % interval of that range"),
    "tipping_gamma": (
        "",
        "the smallest Γ at which hidden causes could make another policy's estimate the lower "
        "one; infinite beyond the largest Γ of the config, empty where nothing is compared",
    ),
    "tipping_other": ("", "that other policy"),
    # comparisons and verdicts
    "other": ("", "name of the policy that it is compared with"),
    "difference": (
        COST,
        "cost of `agent` minus cost of `other`, on the same rows; in verdicts the "
        "other way round: added cost of the runner-up",
    ),
    "runner_up": ("", "the next policy: of those that may be the best, else of all"),
    "state": (
        "",
        "how sure it is: best, good_enough (no other policy is cheaper by more than the margin), "
        "short_list, or open (nothing can be relied on)",
    ),
    "worth": (COST, "expected value of perfect information: saving if all costs were known"),
    "difference_low": (COST, "lower end of its interval, all pairs at once"),
    "difference_high": (COST, "upper end of its interval, all pairs at once"),
    "sure": ("", "True where the state is best"),
    "left_out": ("", "policies that rest on too few rows to be read"),
    "sentence": ("", "the verdict in words"),
    # by group
    "quantity": (
        "",
        "quantity of the row: a cost, panels per unit or a share, each in its own "
        "unit; or the largest difference between two groups",
    ),
    "by_group": ("", "outcomes of the policy by group, in words; empty without groups"),
    # estimates
    "estimate": (COST, "estimated cost per unit at run time"),
    "simultaneous_low": (COST, "lower end of the 95 % interval that all policies hold at once"),
    "simultaneous_high": (COST, "upper end of that interval"),
    "resample_sd": (COST, "standard deviation over resamples, scaled to the full sample"),
    "resample_low": (COST, "the same by resampling: lower end"),
    "resample_high": (COST, "the same by resampling: upper end"),
    "truth": (COST, "mean cost of the policy on the table without missingness; empty if unknown"),
    "ess": (
        "rows",
        "effective sample size of the weights (Kish); of clusters where rows belong together",
    ),
    "usable_rows": ("rows", "rows with a weight above zero"),
    "status": ("", "ok, or why there is no estimate"),
    "reason": ("", "the status in words"),
    "warning": ("", "names of positivity warnings, separated by commas; empty if none"),
    "resample": ("", "number of the resample"),
    "trajectories": ("", "mean number of acquisition sequences that one row can evaluate"),
    "runs": ("", "mean number of runs of an agent that this takes"),
    "minimum_probability": ("", "smallest probability that the view needs, over rows and sets"),
    "share_below_threshold": ("", "share of rows whose needed probability is below the threshold"),
    # imputation
    "rounds": ("", "rounds until the stopping rule ended"),
    # grid
    "missing_share": ("", "of the rows, in every panel that can be missing"),
    "graph": ("", "under which a world is evaluated: true, or mcar (nothing causes missingness)"),
    "named": ("", "policy that the verdict names; empty if it names none"),
    "best": ("", "policy of the lowest true cost"),
    "best_cost": (COST, "its true cost"),
    "regret": (
        COST,
        "true cost of the policy that is named less that of the best; a mean of draws",
    ),
    "gap": (COST, "true cost of the second best policy less that of the best"),
    "decided": ("draws", "in which the verdict names a policy"),
    "sure_draws": ("draws", "in which it is sure"),
    "refuted_draws": ("draws", "in which the records contradict the graph"),
    "draws": ("draws", "of rows and of the missingness"),
    "sure_and_wrong": ("draws", "in which it is sure and another policy is cheaper"),
    "clear": (
        "draws",
        "in which the difference exceeds four standard errors of the best one's estimate",
    ),
    "clear_and_sure": ("draws", "of these, in which the verdict is sure"),
    "costlier": (
        "policies",
        "whose true cost exceeds the best one's by over four standard errors of its estimate",
    ),
    "costlier_excluded": ("policies", "of these, those that the verdict counts as worse"),
    "best_excluded": ("draws", "in which the verdict counts the best policy as worse than another"),
    "intervals": ("", "estimates that exist; of the grid, that are read"),
    "covered": ("", "intervals of these that hold the true cost of the population"),
    "bias": (COST, "mean error of these estimates"),
    "width": (COST, "mean width of their intervals"),
    "picks": ("draws", "in which every policy has an estimate"),
    "wrong_picks": ("draws", "of these, in which the lowest estimate is not that of the best"),
}

PATTERNS: tuple[tuple[str, tuple[str, str]], ...] = (
    (r"factor:(.+)", ("", "fitted probability that panel {0} is recorded, given its causes are")),
    *PATTERNS_OF_ANSWERS,
)
