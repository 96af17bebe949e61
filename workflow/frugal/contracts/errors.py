"""Errors for people: one sentence with what was found, what is allowed, and where."""


class FrugalError(ValueError):
    """Base of every refusal; its text is shown to the user as it stands."""


class ConfigError(FrugalError):
    """A value in config.yaml or in a data set's YAML is not allowed."""


class DataError(FrugalError):
    """A file or a table does not hold what its description promises."""


class GraphError(FrugalError):
    """A missingness graph is cyclic, or does not identify what is asked of it."""


class NoSupportError(FrugalError):
    """No row carries weight, so the quantity cannot be estimated from this data."""
