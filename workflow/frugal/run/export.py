"""`python -m frugal export BUNDLE MODEL.onnx`: a policy as an ONNX graph, for other programs.

Inputs: `values` (encoded columns, float64, NaN where unknown), `acquired` and `available` (panels,
truth), a row for each state. Outputs: `probabilities` of each panel and, last, of stopping, and
`belief`, the class probabilities. Names of columns, panels and classes stand in the model.
"""

from pathlib import Path

from frugal.acquire.bundles import read_bundle
from frugal.acquire.onnx_export import export_policy
from frugal.core.errors import DataError, say
from frugal.results.sidecars import write_apart
from frugal.run.arguments import command_parser


def export_command(words: list[str]) -> int:
    """Write the graph; returns the exit status.

    Raises:
        DataError: the folder holds no bundle, or its policy cannot be written as a graph.
    """
    parser = command_parser("export", __doc__)
    parser.add_argument("bundle", type=Path, metavar="BUNDLE", help="folder of a policy")
    parser.add_argument("model", type=Path, metavar="MODEL.onnx")
    given = parser.parse_args(words)
    if given.model.suffix != ".onnx":
        raise DataError(f"{given.model} is to hold an ONNX graph; let its name end in .onnx")
    bundle = read_bundle(given.bundle)
    content = export_policy(bundle)
    write_apart(given.model, content)
    panels = ", ".join(panel.name for panel in bundle.layout.actions)
    say(
        f"{given.model}: an agent of kind {bundle.kind!r}, {len(content):,} bytes; columns "
        f"{', '.join(bundle.layout.columns)}; panels {panels}; classes "
        f"{', '.join(bundle.layout.classes)}"
    )
    return 0
