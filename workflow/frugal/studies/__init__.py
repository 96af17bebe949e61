"""One folder a study, with the same insides: spec, stages, tables, checks, figures."""
