"""Tables of the page of methods: the generators."""

from frugal.core.studies import MethodTable

GENERATORS = MethodTable(
    name="Generators",
    words="Kinds of `recourse.generators`.",
    package="frugal.studies.recourse.generators",
    of="GeneratorKind",
    columns={"kind": "name", "in figures": "label", "description": "doc", "settings": "settings"},
    more={"augmentation": (("none", "ag1", "ag2"), "how rare explanations are added to", "none")},
)
