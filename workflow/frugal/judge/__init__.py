"""What a policy costs, and how sure that is: estimators, intervals, warnings, fairness, fronts."""
