"""Costs of errors without a person, pattern by pattern, on 12,000 patients of PhysioNet 2012.

`python -m tests.trust.referred_cases FOLDER` prints them; FOLDER has the publishers' files. Ten of
the columns, in panels as they are ordered, with the real missing values. Two minutes.
"""

import sys
import tempfile
from pathlib import Path

import frugal
import yaml

from tests.workflow.runs import ROOT

PANELS = {
    "coma scale": (["coma_scale"], 5),
    "chemistry": (["urea_nitrogen", "creatinine"], 36),
    "blood gas": (["ph"], 73),
    "lactate": (["lactate"], 52),
    "liver": (["bilirubin"], 37),
    "troponin": (["troponin_t"], 56),
}
FREE = ["age", "unit", "ventilated"]

if __name__ == "__main__":
    described = yaml.safe_load((ROOT / "config/datasets/physionet2012_death.yaml").read_text())
    columns = [*FREE, *(name for names, _ in PANELS.values() for name in names)]
    described["columns"] = [one for one in described["columns"] if one["name"] in columns]
    described["panels"] = [{"name": "admission", "columns": FREE, "free": True}]
    described["panels"] += [{"name": n, "columns": c, "cost": p} for n, (c, p) in PANELS.items()]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "death.yaml"
        path.write_text(yaml.safe_dump({**described, "name": "death", "missing_values": "own"}))
        config = {"data_mirror": sys.argv[1]}
        table = frugal.load(path, refer=200.0, refer_risk=60.0, config=config)
        answer = frugal.decide(table, agents=["never", "always", "permutation"])
    print(answer.summary())
    for entry in answer.document["referral"]["patterns"]:
        print({k: round(v, 2) if isinstance(v, float) else v for k, v in entry.items()})
