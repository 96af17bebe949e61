"""Treatment searches: records of trials, models of outcomes, planners, and their judgement."""
