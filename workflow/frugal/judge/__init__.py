"""What estimators read of a policy in a scenario, and the estimators that read it, declared.

Knows tables, graphs, records and formulas; must not know a file or how a figure is drawn.
"""
