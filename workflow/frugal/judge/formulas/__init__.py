"""Pure formulas of estimators: arrays of rows in, terms of a ratio of means out."""
