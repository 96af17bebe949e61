"""Cost of a policy and its uncertainty: estimators, intervals, warnings, fairness, fronts."""
