"""A bundled policy as an ONNX graph: (values, acquired, available) → (probabilities, belief).

Values are encoded columns in float64, NaN where unknown; what no acquired panel and no free one
shows is not read, whatever stands there.
"""

import numpy as np

from frugal.acquire import onnx_policies
from frugal.acquire.bundles import CaseBundle
from frugal.acquire.onnx_nodes import Graph
from frugal.acquire.onnx_state import State
from frugal.config.declared import declared_kinds, kinds_with
from frugal.core.errors import DataError


def export_policy(bundle: CaseBundle) -> bytes:
    """The graph of a bundled policy as a file.

    Raises:
        DataError: its kind, or a part of it, cannot be written as a graph.
    """
    layout, graph = bundle.layout, Graph()
    known = kinds_with("graph")
    if bundle.kind not in known:
        raise DataError(
            f"an agent of kind {bundle.kind!r} cannot be written as an ONNX graph; those of kind "
            f"{', '.join(known)} can"
        )
    d, a = len(layout.columns), len(layout.actions)
    values, acquired, available = (
        graph.given(name, kind, width)
        for name, kind, width in (("values", "d", d), ("acquired", "?", a), ("available", "?", a))
    )
    free = np.broadcast_to(layout.free_columns, (1, d))
    shown = (acquired.of_kind("f") @ layout.provides.astype(np.float32)) > 0
    visible = (shown | free).where(values, np.nan)
    state = State(graph, bundle, visible, acquired, available & ~acquired)
    formula = getattr(onnx_policies, declared_kinds()[bundle.kind].says["graph"])
    answer = formula(state, bundle.policy, bundle.member)
    belief = answer.belief
    if belief is None:
        assert bundle.classifier is not None, "bug: a bundle without a verdict has a classifier"
        belief = graph.trees(bundle.classifier, visible)
    choice = state.open.of_kind("f").max() > 0
    law = choice.where(answer.law / answer.law.sum(), np.eye(a + 1)[a:])
    said = {
        "kind": bundle.kind,
        "columns": "\n".join(layout.columns),
        "panels": "\n".join(panel.name for panel in layout.actions),
        "classes": "\n".join(layout.classes),
    }
    return graph.written({"probabilities": (law, a + 1), "belief": (belief, len(layout.classes))},
                         said)  # fmt: skip
