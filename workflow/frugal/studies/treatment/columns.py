"""Unit and meaning of the columns that only tables of treatment have."""

COLUMNS: dict[str, tuple[str, str]] = {
    # treatment search
    "context": ("", "covariates of the unit, or their index"),
    "trial": ("", "index of the action that was tried"),
    "result": ("", "index of the outcome, from the worst on"),
    "grid": ("", "grid of the config that names the policy"),
    "n_train": ("units", "earlier searches that were learned from"),
    "planner": ("", "cdp, cg, ndp, doctor (emulated), or observed (what was done)"),
    "outcome_model": ("", "smoothed, uninformed, forest, true, or records where there is none"),
    "bound": ("", "stopping statistic: upper, lower, exact, or none"),
    "efficacy": ("", "share of test units for which a near-optimal action was found"),
    "efficacy_se": ("", "standard error of efficacy, over units or over repeats"),
    "efficacy_variance": ("", "variance of efficacy over repeats"),
    "mean_trials": ("trials", "trials per unit"),
    "trials_se": ("trials", "standard error of mean_trials over units"),
    "mean_trials_se": ("trials", "standard error of mean_trials over repeats"),
    "mean_trials_variance": ("trials²", "variance of mean_trials over repeats"),
    "worst_case": ("trials", "most trials of any unit"),
    "mean_outcome": ("worth", "mean worth of the best outcome found"),
    "outcome_se": ("worth", "standard error of the mean worth, over units or over repeats"),
    "mean_outcome_se": ("worth", "standard error of mean_outcome over repeats"),
    "mean_outcome_variance": ("worth²", "variance of mean_outcome over repeats"),
    "cpu_s": ("s", "CPU seconds of learning the policy, measured on the first repeat"),
    "repeats": ("", "realisations or splits behind the row"),
    "trials": ("trials", "number of actions tried"),
    "best": ("", "best outcome found so far, or its index"),
    "near_optimal": ("", "True where no action is better than what was found by more than ε"),
    "outcome": ("worth", "mean worth of the best outcome by then, or at termination"),
    "history_index": ("", "index of the history; 0 is empty"),
    "history": ("", "tried actions and their outcomes, in the order of actions, not of trials"),
    "next": ("", "what the policy does after the history: an action's name, or stop"),
    "facet": ("", "facet of the figure in which the row is drawn"),
    "series": ("", "line of the figure to which the row belongs"),
    "parameter": ("", "what the threshold is: δ or λ"),
    "stop_statistic": ("", "bound on, or estimate of, the probability of a better untried action"),
}

PATTERNS: tuple[tuple[str, tuple[str, str]], ...] = (
    (r"result:(.+)", ("", "index of the outcome under action {0}, from the worst on")),
)
