"""Unit and meaning of every column that a table of results may have; a sidecar repeats them.

A column without a description here cannot be written: a reader should never have to guess.
"""

import re
from collections.abc import Mapping
from typing import Any

from frugal.core.errors import DataError

COST = "cost unit of the data set"

COLUMNS: dict[str, tuple[str, str]] = {
    # identity
    "row_id": ("", "identity of the unit in the raw data"),
    "part": ("", "part of the split, for example train or test"),
    "label": ("", "class index, in the order of the catalogue's classes"),
    "sensitive": ("", "group of the protected attribute, 0 or 1, in the order of the catalogue"),
    "dataset": ("", "name of the data set"),
    "mechanism": ("", "name of the missingness mechanism"),
    "agent": ("", "name of the acquisition policy"),
    "estimator": ("", "name of the estimator"),
    "seed": ("", "seed of the study: one draw of missingness and of the policy's randomness"),
    "world": ("", "blocked: only recorded panels; full: all; retrospective: the records' own set"),
    "draw": ("", "number of the imputation draw; 0 where there is only one"),
    "panel": ("", "name of the panel"),
    "view": ("", "view of table A.1 of the paper"),
    "nuisance": ("", "name of the nuisance function"),
    "fold": ("", "cross-fitting or cross-validation fold; models never saw the rows they judge"),
    # decisions and outcomes
    "policy": ("", "name of the agent or method that acted"),
    "member": ("", "number of the policy among those that its method trains together"),
    "step": ("decisions", "0 for the first decision of the unit"),
    "action": (
        "",
        "index of the panel acquired; from the number of panels on: stop, or a diagnosis",
    ),
    "probability": ("", "with which the policy took the decision"),
    "cost": (
        COST,
        "acquisition plus misclassification cost; acquisition alone in decisions and in the tables "
        "of diagnosis and dadi",
    ),
    "acquisition_cost": (COST, "cost of the acquired panels"),
    "misclassification_cost": (COST, "cost of the predicted class against the label"),
    "verdict": ("", "class said in the end, in the order of the catalogue's classes"),
    "belief": ("", "probability of the second of two classes when the decision was taken"),
    "set_probability": ("", "probability that the unblocked policy ends with the recorded set"),
    "sequence_probability": ("", "as set_probability, in the order of the records"),
    "in_record_order": ("", "1 where panels were acquired in the order of the records, else 0"),
    "true_afa_propensity": ("", "p(R=1 | X, acquired values, acquired set, R_s=1), by enumeration"),
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
    "reads_values": ("", "True where the policy's decisions depend on values"),
    "afa_propensity_suffices": (
        "",
        "True where afa_propensity is all that the policy's weights need: the policy reads no "
        "value outside X_adj",
    ),
    "mean_cost": (COST, "fitted E[cost | X_adj, R=1]"),
    "mean_acquisition_cost": (COST, "fitted E[acquisition cost | X_adj, R=1]"),
    "mean_misclassification_cost": (COST, "fitted E[misclassification cost | X_adj, R=1]"),
    "bin": ("", "number of the bin of predicted probability"),
    "mean_probability": ("", "mean predicted probability in the bin"),
    "rate": ("", "share of events in the bin"),
    "log_loss": ("nats", "mean log-loss on held-out rows"),
    "loss": (
        "nats, or share of variance",
        "cross-fitted: log-loss of a probability, squared error over variance of a mean cost; "
        "empty where a named method was fitted on a part of its own",
    ),
    "taken": ("", "True for the method whose fit is used"),
    "minimum": ("", "smallest value"),
    "share_below_1_percent": ("", "share of rows with a probability below 0.01"),
    # estimates
    "estimate": (COST, "estimated cost per unit at run time"),
    "std_error": (COST, "standard error by influence function; nuisances taken as known"),
    "ci_low": (COST, "lower end of the 95 % interval, within what a unit can cost"),
    "ci_high": (COST, "upper end of the 95 % interval, within what a unit can cost"),
    "resample_sd": (COST, "standard deviation over resamples, scaled to the full sample"),
    "resample_low": (COST, "the same by resampling: lower end"),
    "resample_high": (COST, "the same by resampling: upper end"),
    "truth": (COST, "mean cost of the policy on the table without missingness; empty if unknown"),
    "n": ("rows", "evaluation rows"),
    "ess": ("rows", "effective sample size of the weights (Kish)"),
    "largest_weight_share": ("", "share of the largest weight in their sum"),
    "usable_rows": ("rows", "rows with a weight above zero"),
    "status": ("", "ok, or why there is no estimate"),
    "reason": ("", "the status in words"),
    "warning": ("", "names of positivity warnings, separated by commas; empty if none"),
    "resample": ("", "number of the resample"),
    "frequency": ("", "share of units for which the panel is acquired"),
    "trajectories": ("", "mean number of acquisition sequences that one row can evaluate"),
    "runs": ("", "mean number of runs of an agent that this takes"),
    "minimum_probability": ("", "smallest probability that the view needs, over rows and sets"),
    "share_below_threshold": ("", "share of rows whose needed probability is below the threshold"),
    "threshold": ("", "of positivity: probability called weak; of a search: δ, or λ of ndp"),
    # imputation
    "method": (
        "",
        "name of the method: of imputation, of a nuisance (empty where it follows from others), or "
        "an agent or baseline that is compared",
    ),
    "rounds": ("", "rounds until the stopping rule ended"),
    # agents that learn
    "transitions": ("", "decisions that the agent has learned from by then"),
    "mean_return": (COST, "mean sum of rewards of an episode while exploring: minus its cost"),
    "td_error": (COST, "mean absolute temporal-difference error of the updates"),
    "epsilon": ("", "probability of a random action"),
    # treatment search
    "patient": ("", "who the unit belongs to; a split never divides a patient"),
    "context": ("", "covariates of the unit, or their index"),
    "trial": ("", "index of the action that was tried"),
    "result": ("", "index of the outcome, from the worst on"),
    "grid": ("", "grid of the config that names the policy"),
    "n_train": ("units", "earlier searches that were learned from"),
    "planner": ("", "cdp, cg, ndp, doctor (emulated), or observed (what was done)"),
    "outcome_model": ("", "smoothed, uninformed, forest, true, or records where there is none"),
    "bound": ("", "stopping statistic: upper, lower, exact, or none"),
    "units": ("units", "test units, or those of them that the row speaks of"),
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
    "value": ("", "expected return from here; of cdp and cg minus the expected trials left"),
    "facet": ("", "facet of the figure in which the row is drawn"),
    "series": ("", "line of the figure to which the row belongs"),
    "parameter": ("", "what the threshold is: δ or λ"),
    "stop_statistic": ("", "bound on, or estimate of, the probability of a better untried action"),
    # recourse
    "variant": ("", "what the units of a data set are: a simulated world, or the rules of a table"),
    "subset": ("", "units kept: all, or those whose explanation is that of more than so many"),
    "generator": ("", "name of the generator of action sets"),
    "actions": ("", "number of actions that the unit needs; all: any number"),
    "group": ("", "group of units: of recourse, those that may take the same actions"),
    "label_status": ("", "labelled, positive, tied, too_many_actions, uncoverable or unproven"),
    "refusal": ("", "why no set of actions is enough, in a sentence; empty where one is"),
    "actions_chosen": ("", "names of the cheapest actions, separated by semicolons"),
    "cheapest_cost": (COST, "cost of the cheapest action set; infinite where there is none"),
    "lower_bound": (COST, "no action set is cheaper than this: the certificate"),
    "optima": ("", "number of irredundant action sets of the lowest cost"),
    "size": ("actions", "actions in the cheapest set"),
    "correct": ("", "True where the answer is the one cheapest action set, or how many are"),
    "feasible": ("", "True where the answer's actions are open to the unit and make it positive"),
    "answer": ("", "names of the actions that the generator gave, separated by semicolons"),
    "repaired": ("", "the same after repair by the solver; as given where that works"),
    "answer_status": ("", "works, repaired, positive (nothing is needed) or uncoverable"),
    "answer_cost": (COST, "cost of the generated action set"),
    "true_cost": (COST, "cost of the cheapest action set"),
    "repaired_cost": (COST, "cost of the answer after repair by the solver"),
    "repaired_correct": ("", "True where the repaired answer is the cheapest action set"),
    "repaired_feasible": (
        "",
        "True where the repaired answer, tried anew, makes the unit positive",
    ),
    "empty": ("", "True where the answer has no action"),
    "confidence": ("", "the generator's probability that its answer is right"),
    "train_frequency": ("units", "training units with the unit's cheapest action set"),
    "accuracy": ("", "share of units whose answer is the cheapest action set"),
    "accuracy_se": ("", "binomial standard error of accuracy"),
    "half_width": ("", "half of the binomial 95 % interval of accuracy, as the paper prints it"),
    "accuracy_low": ("", "lower end of the 95 % interval of accuracy: Wilson, few of a kind exact"),
    "accuracy_high": (
        "",
        "upper end of the 95 % interval of accuracy: Wilson, few of a kind exact",
    ),
    "mistakes": ("units", "units whose answer is another set"),
    "feasible_share_of_mistakes": ("", "share of mistakes that work but are dearer"),
    "cost_gap": ("", "mean extra cost of feasible mistakes, as a share of the cheapest cost"),
    "infeasible_cost_gap": ("", "the same of mistakes that do not work; below zero if cheaper"),
    "infeasible_share": ("", "share of units whose answer does not work"),
    "repair_cost_gap": ("", "mean extra cost of repaired answers, as a share of the cheapest cost"),
    "repaired_accuracy": ("", "accuracy after repair"),
    "repaired_infeasible_share": ("", "share of repaired answers that do not work"),
    "empty_share": ("", "share of answers without an action, whose repair is the solver's answer"),
    "unseen": ("units", "units whose cheapest action set no training unit has"),
    "low": ("", "lower end of the bin"),
    "high": ("", "upper end of the bin"),
    "mean_confidence": ("", "mean confidence in the bin"),
    "wrong": ("units", "units of the bin whose answer is another set"),
    "at_least": ("units", "lowest training frequency of the class"),
    "at_most": ("units", "highest training frequency of the class; -1 for no end"),
    "epoch": ("", "passes over the training rows so far"),
    "round": ("", "1: AG1, 2: AG2"),
    "candidates": ("units", "distinct worse-off states that are no training units"),
    "test_units_met": ("units", "test units whose state is among the candidates"),
    "leaked": ("units", "derived units that are test units"),
    "derived": ("units", "derived units added to the training units"),
    # dadi
    "gamma": ("", "γ: weight of the label's loss against the adversary's; empty for baselines"),
    "iteration": ("", "joint training iterations, or outer loops of training, so far"),
    "objective": ("nats", "combined loss γ L_C − (1 − γ) L_A, with the penalty for cost"),
    "label_loss": ("nats", "group-normalised cross-entropy of the classifier"),
    "adversary_loss": ("nats", "group-normalised cross-entropy of the adversary"),
    "panels": ("panels", "mean number of panels acquired"),
    "squared_error": ("nats²", "mean squared error of Q since the last evaluation"),
    "stratum": ("", "level of the panel by which selection is shown; all without one"),
    "label_probability": ("", "predicted probability that the label is 1"),
    "adversary_probability": ("", "probability, by the agent's own adversary, of group 1"),
    "decision": ("", "True where the predicted class is 1"),
    "network": ("", "classifier (of the label) or adversary (of the group), after pretraining"),
    "auc": ("", "area under the receiver operating characteristic curve"),
    "auc_low": ("", "lower end of its 95 % interval: over rows in one fold, else over folds"),
    "auc_high": ("", "upper end of its 95 % interval: over rows in one fold, else over folds"),
    "disparity": ("", "gap between the groups' shares of positive decisions"),
    "disparity_low": ("", "lower end of its 95 % interval: bootstrap in one fold, else over folds"),
    "disparity_high": (
        "",
        "upper end of its 95 % interval: bootstrap in one fold, else over folds",
    ),
    "equal_opportunity_gap": ("", "gap between the groups' shares of decisions 1 among labels 1"),
    "equalised_odds_gap": ("", "the larger of the gaps among labels 0 and labels 1"),
    "positive_share": ("", "share of positive decisions"),
    "features_acquired": ("panels", "number of panels acquired"),
    "adversary_auc": ("", "AUC of the agent's own adversary for the group (rows of its objective)"),
    "audit_auc": ("", "AUC for the group of the best outsider trained afterwards on the same sets"),
    "target": ("", "what an outsider is to tell: label or sensitive"),
    "learner": ("", "outsider: logistic, boosting or set_network"),
    "folds": ("", "folds behind the row"),
    "reference_auc": ("", "AUC of the classifier that is compared with"),
    "reference_disparity": ("", "disparity of the classifier that is compared with"),
    "disparity_cut": ("", "reference_disparity less disparity, a mean over folds"),
    "coin_method": (
        "",
        "of two solutions between which a coin has the least AUC allowed: the more accurate one; "
        "empty, with all coin_…, where no solution lies on one side of that AUC",
    ),
    "coin_gamma": ("", "γ of coin_method; empty for baselines"),
    "coin_other_method": ("", "the less accurate solution of the coin"),
    "coin_other_gamma": ("", "γ of coin_other_method; empty for baselines"),
    "coin_share": ("", "share of units that the coin gives to coin_method"),
    "coin_disparity": ("", "disparity of the coin, at most: its sides' weighted mean"),
    "coin_cut": ("", "reference_disparity less coin_disparity, a mean over folds"),
    "on_front": ("", "True where no other point is at least as good in both and better in one"),
    # diagnosis
    "family": (
        "",
        "what is judged together: a front by its method, baselines, selection or bayes; in dadi, "
        "methods of one kind",
    ),
    "criterion": ("", "score by which weights are kept and solutions chosen: f1 or am"),
    "pair": ("", "number of the solution within its method; of a front, of its reward pair"),
    "lambda": (
        "",
        "λ of theorem 4.1: worth of a true positive, of a true negative 1; empty if none",
    ),
    "rho": ("", "ρ of theorem 4.1, per mean panel cost; empty if none"),
    "setting": ("", "what else tells solutions of a method apart, such as their panels"),
    "split": ("", "part of the units: train, validation or test"),
    "diagnosis": ("", "class that was said: its index or its name; index 1 is ill"),
    "f1": ("", "2 TP / (2 TP + FP + FN)"),
    "am": ("", "mean of sensitivity and specificity"),
    "sensitivity": ("", "share of ill units that are called ill"),
    "specificity": ("", "share of healthy units that are called healthy"),
    "precision": ("", "share of those called ill who are ill"),
    "auroc": ("", "chance that an ill unit has a higher probability than a healthy one"),
    "positives": ("units", "ill units"),
    "true_positive": ("units", "ill and called ill"),
    "false_positive": ("units", "healthy and called ill"),
    "false_negative": ("units", "ill and called healthy"),
    "true_negative": ("units", "healthy and called healthy"),
    "full_cost": (COST, "mean cost of full observation of the units"),
    "cost_share": ("", "cost as a share of the cost of full observation"),
    "on_am_front": ("", "the same of AM"),
    "on_validation_front": (
        "",
        "the same of F1 on validation units, by which solutions are chosen",
    ),
    "on_validation_am_front": ("", "the same of AM on validation units"),
    "on_test_front": (
        "",
        "True where no solution is as cheap and as good on the test units themselves",
    ),
    "score": ("", "name of the score: f1 or am"),
    "hypervolume": (
        "",
        "area under the test scores of the front that validation chose, cost as a share",
    ),
    "envelope_hypervolume": ("", "the same under the envelope of all solutions over test units"),
    "reference_cost": (COST, "cost of the reference point: that of full observation"),
    "reference_score": ("", "score of the reference point"),
    "solutions": ("", "number of solutions"),
    "front_solutions": ("", "number of them on the front that validation chose"),
    "budget": (COST, "most that a unit may cost on average, on validation units"),
    "budget_share": ("", "budget as a share of the cost of full observation"),
    "unpaid_ends": ("units", "units whose last decision costs nothing: a diagnosis"),
    "repeated": ("decisions", "panels ordered a second time"),
    "steps": ("decisions", "steps of training of one policy so far"),
    "kept": ("", "True for the look whose weights were kept"),
    "classifier_auroc_random": ("", "AUROC of the classifier where random panels are known"),
    "classifier_auroc_policy": ("", "AUROC of the classifier on the states that the policy visits"),
    "classifier_log_loss_random": (
        "nats",
        "mean log-loss of the classifier where random panels are known",
    ),
    "classifier_log_loss_policy": (
        "nats",
        "mean log-loss of it on the states that the policy visits",
    ),
    "imputer": ("", "name of the imputer"),
    "rmse": (
        "",
        "root mean squared error of hidden entries, in standard deviations of training rows",
    ),
    "entries": ("", "hidden entries that are scored"),
    "paid": (COST, "cost of the panels ordered so far"),
    "values": ("", "what the step revealed"),
    "share": ("", "share of the units for whom the panel is ordered"),
    "f1_se": ("", "standard error of f1, over units"),
    "am_se": ("", "standard error of am, over units"),
    "sensitivity_se": ("", "standard error of sensitivity, over units"),
    "specificity_se": ("", "standard error of specificity, over units"),
    "precision_se": ("", "standard error of precision, over units"),
    "auroc_se": ("", "standard error of auroc, over units"),
    "cost_se": (COST, "standard error of cost, over units"),
    "validation_f1": ("", "f1 on validation units"),
    "validation_auroc": ("", "auroc on validation units"),
    "validation_am": ("", "am on validation units"),
    "validation_sensitivity": ("", "sensitivity on validation units"),
    "validation_specificity": ("", "specificity on validation units"),
    "validation_cost": (COST, "cost on validation units"),
    "validation_n": ("rows", "n on validation units"),
    "validation_positives": ("units", "positives on validation units"),
    "validation_full_cost": (COST, "full_cost on validation units"),
    "rmse_average": ("", "mean of rmse over seeds"),
    "rmse_sd": ("", "standard deviation of rmse over seeds"),
    "rmse_of_mean": ("", "rmse of mean imputation on the same entries"),
    "better_than_mean": ("", "True where the error is below mean imputation's in every seed"),
}

OF_ITS_COLUMN = "that of the column named"

PATTERNS: tuple[tuple[str, tuple[str, str]], ...] = (
    (r"value:(.+)", ("unit of the raw column", "encoded feature {0}")),
    (r"observed:(.+)", ("", "True where panel {0} is in the records")),
    (r"factor:(.+)", ("", "fitted probability that panel {0} is recorded, given its causes are")),
    (r"probability:(.+)", ("", "true probability that panel {0} is recorded, given its causes")),
    (r"result:(.+)", ("", "index of the outcome under action {0}, from the worst on")),
    (r"feature:(.+)", ("", "state of feature {0}")),
    (r"chosen:(.+)", ("", "index of action number {0} of the cheapest set; -1 if it is shorter")),
    (r"acquired:(.+)", ("", "True where the policy acquired panel {0}")),
    (
        r"(features_acquired|cost|equal_opportunity_gap|equalised_odds_gap|adversary_auc|audit_auc"
        r"|frequency|reference_auc|reference_disparity|disparity_cut"
        r"|coin_disparity|coin_cut)_(low|high)",
        (OF_ITS_COLUMN, "{1} end of the 95 % interval of {0} over folds; none of one fold"),
    ),
    (
        r"(auc|disparity|features_acquired|cost|equal_opportunity_gap|equalised_odds_gap"
        r"|adversary_auc|audit_auc|frequency)_(least|most)",
        (OF_ITS_COLUMN, "{1} of {0} in any fold"),
    ),
)


def describe_columns(table: Any, units: Mapping[str, str]) -> list[dict[str, str]]:
    """Name, dtype, unit and meaning of each column of a DataFrame.

    Args:
        table: the DataFrame.
        units: of the encoded features, which a data set names; empty for other tables.

    Raises:
        DataError: a column has no description.
    """
    described = []
    for name, dtype in zip(table.columns, table.dtypes, strict=True):
        own = (units[str(name)], "encoded feature") if str(name) in units else None
        unit, meaning = own or _description(str(name))
        described.append({"name": str(name), "dtype": str(dtype), "unit": unit, "meaning": meaning})
    return described


def _description(name: str) -> tuple[str, str]:
    if name in COLUMNS:
        return COLUMNS[name]
    for pattern, (unit, meaning) in PATTERNS:
        if match := re.fullmatch(pattern, name, flags=re.DOTALL):
            own = COLUMNS[match[1]][0] if unit == OF_ITS_COLUMN else unit
            return own, meaning.format(*match.groups())
    raise DataError(f"column {name!r} has no description in frugal.core.columns")
