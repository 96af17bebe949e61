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
    "mechanism": ("", "name of the missingness mechanism"),
    "agent": ("", "name of the acquisition policy"),
    "estimator": ("", "name of the estimator"),
    "view": ("", "view of table A.1 of the paper"),
    "nuisance": ("", "name of the nuisance function"),
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
    "not_worse": (
        "",
        "True where `agent` may be the best policy (comparisons with the best, 95 %); in verdicts "
        "the names of all such policies",
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
    "std_error": (COST, "standard error by influence function; nuisances taken as known"),
    "ci_low": (COST, "lower end of the 95 % interval, within the possible costs of a unit"),
    "ci_high": (COST, "upper end of the 95 % interval, within the possible costs of a unit"),
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
    "largest_weight_share": ("", "share of the largest weight in their sum"),
    "usable_rows": ("rows", "rows with a weight above zero"),
    "status": ("", "ok, or why there is no estimate"),
    "reason": ("", "the status in words"),
    "warning": ("", "names of positivity warnings, separated by commas; empty if none"),
    "resample": ("", "number of the resample"),
    "trajectories": ("", "mean number of acquisition sequences that one row can evaluate"),
    "runs": ("", "mean number of runs of an agent that this takes"),
    "minimum_probability": ("", "smallest probability that the view needs, over rows and sets"),
    "share_below_threshold": ("", "share of rows whose needed probability is below the threshold"),
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
    # imputation
    "rounds": ("", "rounds until the stopping rule ended"),
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
    (r"factor:(.+)", ("", "fitted probability that panel {0} is recorded, given its causes are")),
    (r"share:(.+)", ("", "share of cases for which the policy acquires panel {0}")),
    (r"belief:(.+)", ("", "probability of class {0} that the policy holds true in the state")),
    (r"probability:(.+)", ("", "true probability that panel {0} is recorded, given its causes")),
)
