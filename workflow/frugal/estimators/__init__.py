"""What a policy would cost at run time, from records in which features are missing: pure formulas.

Every estimator takes arrays of evaluation rows and returns `frugal.contracts.Terms`; nothing here
fits a nuisance, runs a policy, or knows a file, a data set or a name of an agent.
"""
