"""Unit and meaning of the columns that only tables of dadi have."""

from frugal.core.columns import OF_ITS_COLUMN

COLUMNS: dict[str, tuple[str, str]] = {
    # identity
    "fold": (
        "",
        "cross-fitting or cross-validation fold; models are evaluated on rows left out of fits",
    ),
    # dadi
    "gamma": ("", "γ: weight of the label's loss against the adversary's; empty for baselines"),
    "squared_error": ("nats²", "mean squared error of Q since the last evaluation"),
    "stratum": ("", "level of the panel by which selection is shown; all without one"),
    "label_probability": ("", "predicted probability that the label is 1"),
    "adversary_probability": ("", "probability, by the agent's own adversary, of group 1"),
    "decision": ("", "True where the predicted class is 1"),
    "network": ("", "classifier (of the label) or adversary (of the group), after pretraining"),
    "auc": ("", "area under the receiver operating characteristic curve"),
    "auc_low": ("", "lower end of its 95 % interval: over rows in one fold, else over folds"),
    "auc_high": ("", "upper end of its 95 % interval: over rows in one fold, else over folds"),
    "disparity": ("", "difference between the groups' shares of positive decisions"),
    "disparity_low": ("", "lower end of its 95 % interval: bootstrap in one fold, else over folds"),
    "disparity_high": (
        "",
        "upper end of its 95 % interval: bootstrap in one fold, else over folds",
    ),
    "equal_opportunity_gap": (
        "",
        "difference between the groups' shares of decisions 1 among labels 1",
    ),
    "equalised_odds_gap": ("", "the larger of the differences among labels 0 and labels 1"),
    "positive_share": ("", "share of positive decisions"),
    "degenerate": (
        "",
        "True where the rarer decision is made for less than a tenth of the share of the rarer "
        "label: nearly all get the same decision, and disparity is uninformative",
    ),
    "decision_threshold": (
        "",
        "least probability decided 1; empty where a method decides by a random cut",
    ),
    "features_acquired": ("panels", "number of panels acquired"),
    "adversary_auc": ("", "AUC of the agent's own adversary for the group (rows of its objective)"),
    "audit_auc": ("", "AUC for the group of the best outsider trained afterwards on the same sets"),
    "target": ("", "target of an outsider: label or sensitive"),
    "learner": ("", "outsider: logistic, boosting or set_network"),
    "folds": ("", "folds behind the row"),
    "reference_auc": ("", "AUC of the classifier that is compared with"),
    "reference_disparity": ("", "disparity of the classifier that is compared with"),
    "disparity_cut": ("", "reference_disparity less disparity, a mean over folds"),
    "coin_method": (
        "",
        "of two solutions whose random mixture has the least AUC allowed: the more accurate one; "
        "empty, with all coin_…, where no solution lies on one side of that AUC",
    ),
    "coin_gamma": ("", "γ of coin_method; empty for baselines"),
    "coin_other_method": ("", "the less accurate solution of the mixture"),
    "coin_other_gamma": ("", "γ of coin_other_method; empty for baselines"),
    "coin_share": ("", "share of units that the mixture gives to coin_method"),
    "coin_disparity": ("", "disparity of the mixture, at most: the weighted mean of both"),
    "coin_cut": ("", "reference_disparity less coin_disparity, a mean over folds"),
}

PATTERNS: tuple[tuple[str, tuple[str, str]], ...] = (
    (
        r"(features_acquired|cost|equal_opportunity_gap|equalised_odds_gap|adversary_auc|audit_auc"
        r"|positive_share|frequency|reference_auc|reference_disparity|disparity_cut"
        r"|coin_disparity|coin_cut)_(low|high)",
        (OF_ITS_COLUMN, "{1} end of the 95 % interval of {0} over folds; none of one fold"),
    ),
    (
        r"(auc|disparity|features_acquired|cost|equal_opportunity_gap|equalised_odds_gap"
        r"|adversary_auc|audit_auc|positive_share|frequency)_(least|most)",
        (OF_ITS_COLUMN, "{1} of {0} in any fold"),
    ),
)
