"""A policy with all that its use on new cases needs: one folder, three files, no pickle.

`policy.safetensors` is the stored agent with its header (settings, panels, prices, classes);
`classifier.safetensors` the classifier where the agent predicts no class; `cases.json` how a file
of cases is read, the cost of errors, and the training data's ranges. Knows no study.
"""

import functools
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from frugal.acquire.kinds import CLASSIFIER, KINDS, kind_of, load_policy
from frugal.acquire.onnx_graph import Graph, GraphNode, GraphOutputs, State
from frugal.acquire.policies.python import source_of
from frugal.acquire.reading import SMALLEST_BELIEF
from frugal.acquire.siblings import graph_of
from frugal.config.declared import kinds_with
from frugal.core.episodes import Policy
from frugal.core.errors import ConfigError, DataError
from frugal.core.layout import Bundle, Layout, bundle_header, read_header
from frugal.core.regions import HOLE, Hole, holes_of
from frugal.core.stored import Each, OrNull, StoredArrays, require_document, under
from frugal.core.streams import Streams
from frugal.data.case_document import (
    TableColumns,
    case_document,
    encoded_names,
    require_case_document,
)
from frugal.data.description import Description
from frugal.learn.trees import TreeEnsemble
from frugal.results.files import payload_bytes, read_payload, require_sealed, sealed
from frugal.results.replacing import replace_files

FILES = {
    "policy": "policy.safetensors",
    "classifier": "classifier.safetensors",
    "cases": "cases.json",
}
EDITION = 4
_CHANGE = (
    "a policy was evaluated with its prices and costs of errors, so change these in the table's "
    "YAML and make the bundle again"
)
_DOCUMENT = {
    "bundle": int,
    "name": str,
    "title": str,
    "cost_unit": str,
    "misclassification_cost": [[float]],
    "member": int,
    "seed": int,
    "wildcards": dict,
    "function": OrNull(str),
    "cases": dict,
    "unsupported": [HOLE],
    "digests": Each(str),
    "seal": str,
}


@dataclass(frozen=True, eq=False)
class CaseBundle:
    """Contents of a folder, ready to use.

    Attributes:
        policy: K members.
        member: the one of them that is meant.
        kind: of the agent.
        layout: columns, panels with their prices, and classes.
        classifier: predicts the class where the policy does not; None where it does.
        misclassification_cost: true class × predicted class. (k, k)
        cost_unit: of prices and costs of errors.
        streams: of the draws of its roll-out, by seed; a policy that draws nothing needs none.
        cases: how a file of cases is read.
        unsupported: regions in which a panel is not offered, for lack of records.
    """

    policy: Policy
    member: int
    kind: str
    layout: Layout
    classifier: TreeEnsemble | None
    misclassification_cost: np.ndarray
    cost_unit: str
    streams: Streams
    cases: Mapping[str, Any]
    unsupported: tuple[Hole, ...] = ()


def bundle_payloads(
    *,
    settings: Mapping[str, Any],
    policy: StoredArrays | Path | pd.DataFrame | None,
    table: TableColumns,
    catalogue: Mapping[str, Any],
    description: Description,
    classifier: Mapping[str, np.ndarray] | None,
    streams: Streams,
    member: int = 0,
    unsupported: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """The payloads of a bundle by the names of `FILES`, for a step that writes them.

    Args:
        settings: of the agent, as the config has them.
        policy: the output of `train_agent`, the file of one's own function, or None where the
            settings are all.
        table: that the policy was evaluated on.
        catalogue: of the table.
        description: the data set's.
        classifier: arrays of the classifier; None where the agent predicts the class.
        streams: those of the step that rolled the policy out.
        member: which of the policies of a front.
        unsupported: regions in which a panel is not offered, as `Hole.document` has them.

    Raises:
        ConfigError: the agent knows rows of the table alone.
    """
    if isinstance(policy, pd.DataFrame):
        raise ConfigError(
            f"an agent of kind {settings['kind']!r} knows rows of its table and no values; it has "
            "no answer to a new case"
        )
    layout = Layout.of(table.layout)
    if isinstance(policy, StoredArrays):
        stored = Bundle(policy.header or {}, dict(policy))
    else:
        stored = Bundle(bundle_header(settings["kind"], settings, layout, ""), {})
    document = {
        "bundle": EDITION,
        "name": description.name,
        "title": description.title,
        "cost_unit": description.cost_unit,
        "misclassification_cost": table.layout.misclassification_cost.tolist(),
        "member": member,
        "seed": streams.root,
        "wildcards": dict(streams.wildcards),
        "function": source_of(policy) if isinstance(policy, Path) else None,
        "cases": case_document(description, table, catalogue),
        "unsupported": list(unsupported),
    }
    payloads: dict[str, Any] = {"policy": stored}
    payloads |= {} if classifier is None else {"classifier": dict(classifier)}
    files = {FILES[name]: payload for name, payload in payloads.items()}
    return payloads | {"cases": sealed(document, files)}


def write_bundle(folder: Path, **content: Any) -> None:
    """Write a bundle into a folder; takes the arguments of `bundle_payloads`.

    Raises:
        DataError: the folder cannot be written to; nothing is written then.
    """
    payloads = bundle_payloads(**content)
    paths = {name: folder / FILES[name] for name in payloads}
    replace_files({path: payload_bytes(path, payloads[name]) for name, path in paths.items()})


def policy_folder(folder: Path) -> Path:
    """The folder of a policy; of an answer's folder, that within it."""
    within = folder / "policy"
    return within if (folder / "answer.json").is_file() and within.is_dir() else folder


def read_bundle(folder: Path, *, function: Path | None = None) -> CaseBundle:
    """A bundle, with nothing else at hand.

    Args:
        folder: as `write_bundle` or the stage `bundle_agent` left it.
        function: the file of one's own function, for an agent of kind `python`: no code is read
            from a bundle.

    Raises:
        DataError: the folder holds no bundle, a part of it was edited or is invalid, or
            the function is needed and not given, or another one.
    """
    document_path, policy_path = folder / FILES["cases"], folder / FILES["policy"]
    if not document_path.is_file() or not policy_path.is_file():
        raise DataError(
            f"{folder} is no bundle of a policy: that is a folder with {FILES['policy']} and "
            f"{FILES['cases']}, as `snakemake bundles` leaves it under results/bundles"
        )
    document, stored = read_payload(document_path), read_payload(policy_path)
    _require_edition(document, document_path)
    require_document(document, _DOCUMENT, f"bundle {document_path}")
    require_sealed(document_path, document, _CHANGE, {*FILES.values()} - {FILES["cases"]})
    cases = require_case_document(document["cases"])
    policy, layout = _built(stored, document, function, folder)
    panels = [panel["name"] for panel in cases["panels"] if not panel["free"]]
    if encoded_names(cases) != layout.columns or panels != [p.name for p in layout.actions]:
        raise DataError(
            f"{document_path} describes other columns or panels than {policy_path}; the bundle was "
            "put together from two"
        )
    if not 0 <= document["member"] < policy.members:
        raise DataError(
            f"{document_path} means the policy {document['member']} of {policy.members}; they "
            "count from 0"
        )
    k = len(layout.classes)
    if [len(row) for row in document["misclassification_cost"]] != [k] * k:
        raise DataError(f"{document_path} has no {k} × {k} costs of errors, one for each pair")
    path, inside = folder / FILES["classifier"], under(stored, CLASSIFIER)
    arrays = read_payload(path) if path.is_file() else inside
    classifier = TreeEnsemble.from_arrays(arrays) if arrays else None
    if classifier and (classifier.columns, classifier.classes) != (len(layout.columns), k):
        raise DataError(
            f"{path} reads {classifier.columns} columns and predicts {classifier.classes} classes; "
            f"its policy has {len(layout.columns)} and {k}"
        )
    return CaseBundle(
        policy,
        document["member"],
        stored.header["kind"],
        layout,
        classifier,
        np.array(document["misclassification_cost"], dtype=np.float64),
        document["cost_unit"],
        Streams(document["seed"], "roll_out", document["wildcards"]),
        cases,
        holes_of(document["unsupported"], layout.columns, [p.name for p in layout.actions]),
    )


def _closed(bundle: CaseBundle, graph: Graph, visible: GraphNode) -> GraphNode:
    """As `core.regions.closed`. (m, a)"""
    each = []
    for hole in bundle.unsupported:
        panel = graph.constant(np.eye(len(bundle.layout.actions), dtype=bool)[[hole.panel]])
        each.append(panel & hole.closes(lambda column: visible.columns(column, column + 1)))
    return functools.reduce(operator.or_, each)


def _require_edition(document: Mapping[str, Any], path: Path) -> None:
    edition = document.get("bundle") if isinstance(document, Mapping) else None
    if edition != EDITION:
        raise DataError(
            f"{path} is no bundle of edition {EDITION}, which this version reads (it has "
            f"{str(edition)[:50]}); make it again"
        )


def _built(
    stored: StoredArrays, document: Mapping[str, Any], function: Path | None, folder: Path
) -> tuple[Policy, Layout]:
    """The policy, of its arrays or of the very file of one's own function, and its layout."""
    layout, header = read_header(stored.header), stored.header or {}
    name = header["kind"]
    if name not in KINDS or not KINDS[name].file:
        if function is not None:
            kinds = " or ".join(map(repr, kinds_with("runs_code")))
            raise DataError(
                f"--function {function} is given, and {folder} holds no agent of kind {kinds}"
            )
        return load_policy(stored)
    if function is None:
        raise DataError(
            f"{folder} holds an agent of kind {name!r}, whose decisions are a function in a "
            "file of your own; no code is read from a bundle, so give the file: --function "
            f"{Path(str(header['settings'].get('file'))).name}"
        )
    if source_of(function) != document["function"]:
        raise DataError(f"--function {function} is not the file that {folder} was made with")
    return kind_of(header["settings"]).build(header["settings"], layout, function), layout


@dataclass(frozen=True, eq=False)
class PolicyGraph:
    """A bundled policy as a graph.

    Attributes:
        bundle: of the policy.
        state: inputs of the graph.
        outputs: of the kind's formula.
        probability: class probabilities, by the policy or by the classifier. (m, k)
    """

    bundle: CaseBundle
    state: State
    outputs: GraphOutputs
    probability: GraphNode

    def predicted(self) -> GraphNode:
        """Place of the class that is predicted. (m, 1)"""
        verdict, threshold = self.outputs.verdict, self.bundle.policy.traits.threshold
        if self.outputs.probability is None:
            return (self.probability @ -self.bundle.misclassification_cost).argmax()
        if verdict is not None or threshold is None:
            return (self.probability if verdict is None else verdict).argmax()
        low, tau = SMALLEST_BELIEF, float(threshold[self.bundle.member])  # as `tilted_belief`
        ill = self.probability.columns(1, 2).clipped(low, 1 - low)
        return (ill / (ill * -1.0 + 1.0) * ((1 - tau) / tau) > 1.0).of_kind("l")


def graph_of_bundle(bundle: CaseBundle) -> PolicyGraph:
    """The graph of a bundled policy.

    Raises:
        DataError: its kind, or a part of it, cannot be written as a graph.
    """
    layout, graph = bundle.layout, Graph()
    formula = KINDS[bundle.kind].graph
    if formula is None:
        raise DataError(
            f"an agent of kind {bundle.kind!r} has no formulas that other systems could run; those "
            f"of kind {', '.join(kinds_with('graph'))} have"
        )
    d, a = len(layout.columns), len(layout.actions)
    values, acquired, available = (
        graph.given(name, kind, width)
        for name, kind, width in (("values", "d", d), ("acquired", "?", a), ("available", "?", a))
    )
    free = np.broadcast_to(layout.free_columns, (1, d))
    shown = (acquired.of_kind("f") @ layout.provides.astype(np.float32)) > 0
    visible = (shown | free).where(values, np.nan)
    if bundle.unsupported:
        available = available & ~_closed(bundle, graph, visible)
    state = State(graph, layout, visible, acquired, available & ~acquired)
    outputs = graph_of(formula, state, bundle.policy, bundle.member)
    probability = outputs.probability
    if probability is None:
        assert bundle.classifier is not None, "bug: a bundle without a verdict has a classifier"
        probability = graph.trees(bundle.classifier, visible)
    return PolicyGraph(bundle, state, outputs, probability)


def export_policy(bundle: CaseBundle) -> bytes:
    """The graph of a bundled policy as a file of ONNX.

    Raises:
        DataError: its kind, or a part of it, cannot be written as a graph.
    """
    layout, policy = bundle.layout, graph_of_bundle(bundle)
    a, action_probability = len(layout.actions), policy.outputs.action_probability
    choice = policy.state.open.of_kind("f").max() > 0
    shares = choice.where(action_probability / action_probability.sum(), np.eye(a + 1)[a:])
    notes = {
        "kind": bundle.kind,
        "columns": "\n".join(layout.columns),
        "panels": "\n".join(panel.name for panel in layout.actions),
        "classes": "\n".join(layout.classes),
    }
    outputs = {
        "probabilities": (shares, a + 1),
        "belief": (policy.probability, len(layout.classes)),
    }
    return policy.state.graph.written(outputs, notes)
