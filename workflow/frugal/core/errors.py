"""Errors for people: one sentence with what was found, what is allowed, and where."""


class FrugalError(ValueError):
    """Base of every refusal; its text is shown to the user as it stands."""


class ConfigError(FrugalError):
    """A value in config.yaml or in a data set's YAML is not allowed."""


class DataError(FrugalError):
    """A file or a table does not hold what its description promises."""


class MissingStateError(DataError):
    """A policy that is a table of states lacks one that it is asked for."""


class GraphError(FrugalError):
    """A missingness graph is cyclic, or does not identify what is asked of it."""


class NoSupportError(FrugalError):
    """No row carries weight, so the quantity cannot be estimated from this data."""


def printable(text: str) -> str:
    """Text for a terminal: of what is not printed, line ends alone stay; the rest is escaped.

    The name of a file in results that somebody else has made could else rewrite what was said.
    """
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)
