"""`python -m frugal export FOLDER FILE`: a policy as a file that other systems run.

Needs the folder of a policy or an answer, nothing else. Knows no study.
"""

import argparse
from pathlib import Path

from frugal.acquire.bundles import policy_folder, read_bundle
from frugal.acquire.exports import ENDINGS, exported
from frugal.core.arguments import command_parser
from frugal.core.errors import say
from frugal.core.schema_check import as_item
from frugal.results.manifests import write_apart

_EXPORT = """A policy as a file that other systems run; the ending of its name says which.

.sql: one SELECT, from a table with the columns of the cases, NULL where nothing is acquired. .json:
rules, docs/reference/rules.md. .csv: a data dictionary of REDCap, of policies without models.
.onnx: a graph. Its inputs: `values` (encoded columns, float64, NaN where unknown), `acquired` and
`available` (panels, truth), a row for each state. Outputs: `probabilities` of each panel and, last,
of stopping, and `belief`, the class probabilities. Names of columns, panels and classes are in it.
"""


def export_command(words: list[str]) -> int:
    """Write the file; returns the exit status.

    Raises:
        DataError: the folder holds no bundle, or its policy cannot be written so.
    """
    parser = command_parser("export", _EXPORT, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", type=Path, metavar="FOLDER", help="of a policy, or an answer")
    endings = ", ".join(ENDINGS)
    parser.add_argument("file", type=Path, metavar="FILE", help=f"ends in one of {endings}")
    parser.add_argument("--table", metavar="NAME", help="of the cases, in SQL (default: cases)")
    parser.add_argument("--id", metavar="COLUMN", help="names the cases, in SQL")
    args = parser.parse_args(words)
    bundle = read_bundle(policy_folder(args.bundle))
    content = exported(bundle, args.file, table=args.table, id_column=args.id)
    write_apart(args.file, content)
    columns, panels, classes = (
        ", ".join(map(as_item, names))
        for names in (
            bundle.layout.columns,
            [panel.name for panel in bundle.layout.actions],
            bundle.layout.classes,
        )
    )
    say(
        f"{args.file}: an agent of kind {bundle.kind!r}, {len(content):,} bytes; columns "
        f"{columns}; panels {panels}; classes {classes}"
    )
    return 0
