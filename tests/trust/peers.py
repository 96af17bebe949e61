"""AFA-Benchmark's own code on the synthetic table, and its decisions judged under missing data.

  python -m tests.trust.peers FOLDER write
  PYTHONPATH=AFA-Benchmark python3.12 tests/trust/peers.py FOLDER act [gdfs|dime|aaco…]
  python -m tests.trust.peers FOLDER judge

`write` draws complete rows: 10,000 to learn from, and 20,000 others to judge on. `act` runs in the
other project's environment (Python 3.12, torch, torchrl): it trains three methods by its classes
and writes what they do with each of the others, a log of steps. `judge` takes the logs as agents of
kind `table`, draws missing panels (MNAR, as in the default run), and prints the lines that
`docs/how-to/policies.md` has. Settings of training are those of its files for CUBE; the parameter
that stops is the best of a grid by cost on validation rows. Has no code of the other project.
"""

import csv
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

COLUMNS = ("X3", "X4", "X1", "X2")  # the panel of two columns first: "context" of its unmasker
PANELS = ("superX3", "X1", "X2")  # its selections 1, 2 and 3; X1 is free
PRICE = {"superX3": 0.86, "X2": 0.84}
ERROR, FREE, CONTEXT = 6.6, 1, 2  # cost; selection that is known at first; columns of selection 0
LEARN, VALIDATION, JUDGED = 8_000, 2_000, 20_000
TRAINING = {"lr": 1e-3, "patience": 5}
HIDDEN, DROPOUT, BATCH, SEED = [128, 128], 0.3, 128, 42
STOPS = {  # entropy; nats per unit of price; price of a unit in nats
    "gdfs": np.linspace(0.0, 0.68, 18),
    "dime": np.linspace(0.0, 0.4, 21),
    "aaco": np.geomspace(0.02, 0.4, 8),
}
OWN = ("cascade",)
FIXED = {"never": "none", "always": "all"}
PARTS = {"train": 2_000, "agent": 4_000, "nuisance": 10_000, "test": 4_000}


def write(folder: Path) -> None:
    """Rows of the synthetic world, and the description of those that are judged."""
    import yaml
    from frugal.config.dataset import MakeClassification
    from frugal.data.description import load_description
    from frugal.data.simulators import two_class_clusters

    from tests.defaults import ROOT, shipped

    name = "config/datasets/synthetic_mnar.yaml"
    generator = load_description(ROOT / name).source.generator
    assert isinstance(generator, MakeClassification)
    rows = LEARN + VALIDATION
    frame = two_class_clusters(generator, rows=rows + JUDGED, features=len(COLUMNS), classes=2)
    frame[:rows].to_csv(folder / "learn.csv", index=False)
    frame[rows:].to_csv(folder / "judged.csv", index=False)
    described = shipped(name) | {"name": "judged", "sensitive": None, "missing_values": "induced"}
    described["source"] = {
        "kind": "path",
        "files": [{"name": "judged.csv"}],
        "format": shipped("docs/examples/clinic.yaml")["source"]["format"],
    }
    described["split"] = {"scheme": "counts", "seed": 0, "parts": PARTS}
    (folder / "judged.yaml").write_text(yaml.safe_dump(described), encoding="utf-8")


class Rows:
    """Complete rows as its methods take them: features and labels by class."""

    feature_shape, label_shape = (len(COLUMNS),), (2,)

    def __init__(self, path: Path, part: slice) -> None:
        """Some rows of a CSV."""
        import torch

        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))[part]
        values = [[float(row[name]) for name in COLUMNS] for row in rows]
        self.features = torch.tensor(values, dtype=torch.float32)
        self.labels = torch.eye(2)[[int(row["Y"]) for row in rows]]

    def __len__(self) -> int:
        """How many."""
        return len(self.features)

    def get_all_data(self) -> tuple[Any, Any]:
        """All of them."""
        return self.features, self.labels


class Peer:
    """A method of the other project, trained; acts until it stops."""

    def __init__(self, kind: str, learn: Rows, validation: Rows) -> None:
        """Train it as the other project's scripts do."""
        import torch
        from torch import nn

        afa_methods, datasets, models, utils = (
            import_module(f"afabench.afa_discriminative.{name}")
            for name in ("afa_methods", "datasets", "models", "utils")
        )
        aaco = import_module("afabench.afa_oracle.afa_methods")
        common = import_module("afabench.common.utils")
        initializers = import_module("afabench.common.initializers.manual_initializer")
        context: Any = import_module("afabench.common.unmaskers").AFAContextUnmasker
        common.set_seed(SEED)
        torch.set_num_threads(1)
        columns, self.shape = len(COLUMNS), torch.Size(Rows.feature_shape)
        self.initializer = initializers.ManualInitializer([COLUMNS.index("X1")])

        class Unmasker(context):
            """The same in one step for all rows."""

            def unmask(self, feature_mask: Any, afa_selection: Any, **_: Any) -> Any:
                """Columns that are known once the selections are."""
                shows = torch.zeros(self.get_n_selections(feature_mask.shape[1:]), columns)
                shows[0, :CONTEXT] = 1
                shows[1:, CONTEXT:] = torch.eye(columns - CONTEXT)
                return feature_mask | (shows[afa_selection[:, 0]] > 0)

        self.unmasker = Unmasker(CONTEXT)
        price = torch.tensor([PRICE["superX3"] / 2, PRICE["superX3"] / 2, 1.0, PRICE["X2"]])
        costs = self.unmasker.get_selection_costs(price)  # the free selection costs 1, never paid
        self.selections = len(costs)
        weights = 1 / common.get_class_frequencies(learn.labels)

        def network(inputs: int, outputs: int) -> Any:
            how = {"num_cells": HIDDEN, "activation_class": nn.ReLU, "dropout": DROPOUT}
            return import_module("torchrl.modules").MLP(
                in_features=inputs, out_features=outputs, **how
            )

        masked = [torch.zeros_like(rows.features, dtype=torch.bool) for rows in (learn, validation)]
        loaders = datasets.prepare_datasets(learn, validation, BATCH, *masked)[:2]
        predictor, layer = network(2 * columns, 2), utils.MaskLayer(append=True)
        models.MaskingPretrainer(predictor, layer).fit(
            *loaders,
            nepochs=100,
            loss_fn=nn.CrossEntropyLoss(weight=weights),
            min_mask=0.0,
            max_mask=0.9,
            verbose=False,
            **TRAINING,
        )
        if kind == "aaco":
            predictor.eval()
            oracle = aaco.AACOOracle()
            oracle.fit(*learn.get_all_data())
            oracle.set_classifier(lambda x, m, **_: predictor(torch.cat([x, m], dim=1)))
            self.method = aaco.AACOAFAMethod(
                oracle,
                "synthetic",
                unmasker_class_name="AFAContextUnmasker",
                unmasker_kwargs={"n_contexts": CONTEXT},
                _selection_costs=costs,
                _device=torch.device("cpu"),
            )
            return
        loaders = datasets.prepare_datasets(learn, validation, BATCH)[:2]
        chooser, weights = network(2 * columns, self.selections), weights / weights.sum()
        asked = {"nepochs": 250, "max_features": len(PRICE), "feature_costs": price} | TRAINING
        parts = (predictor, layer, self.initializer, self.unmasker)
        if kind == "gdfs":
            model = afa_methods.GreedyDynamicSelection(chooser, *parts)
            loss = nn.CrossEntropyLoss(weight=weights)
            model.fit(*loaders, loss_fn=loss, verbose=False, **asked)
            built = afa_methods.Covert2023AFAMethod
        else:
            utils.tie_first_k_linears_by_module(predictor, chooser, k=2)
            model = afa_methods.CMIEstimator(chooser, *parts)
            loss = nn.CrossEntropyLoss(reduction="none", weight=weights)
            how = {"eps": 0.05, "eps_decay": 0.2, "eps_steps": 10}
            how |= {"val_loss_fn": None, "val_loss_mode": None, "verbose": False}
            model.fit(*loaders, loss_fn=loss, **how, **asked)
            built = afa_methods.Gadgil2023AFAMethod
        device = torch.device("cpu")
        self.method = built(chooser.eval(), predictor.eval(), device, selection_costs=costs)

    def follow(self, features: Any) -> tuple[np.ndarray, Any]:
        """Selections of each row from 1 on, 0 from where it stops, and its class at the end."""
        import torch

        known = self.initializer.initialize(features, feature_shape=self.shape).clone()
        done = torch.zeros(len(features), self.selections, dtype=torch.bool)
        done[:, FREE] = True
        going, actions = torch.ones(len(features), dtype=torch.bool), []
        with torch.no_grad():
            for _ in range(self.selections):
                rows = torch.nonzero(going)[:, 0]
                shown, mask = (features * known)[rows], known[rows]
                action = torch.zeros(len(features), dtype=torch.long)
                action[rows] = self.method.act(
                    shown, mask, selection_mask=done[rows], feature_shape=self.shape
                )[:, 0]
                actions.append(action.numpy())
                going = action > 0
                rows = torch.nonzero(going)[:, 0]
                choice = action[rows, None] - 1
                done[rows, choice[:, 0]] = True
                known[rows] = self.unmasker.unmask(feature_mask=known[rows], afa_selection=choice)
            verdict = self.method.predict(features * known, known, feature_shape=self.shape)
        return np.stack(actions), verdict.argmax(dim=1)

    def cost(self, rows: Rows) -> float:
        """Mean price of panels and errors, by the method's own predictions."""
        actions, verdict = self.follow(rows.features)
        paid = sum(PRICE[name] * (actions == k + 1).sum(0) for k, name in named())
        wrong = (verdict != rows.labels.argmax(dim=1)).numpy()
        return float((paid + ERROR * wrong).mean())


def named() -> list[tuple[int, str]]:
    """Selections that have a price."""
    return [(k, name) for k, name in enumerate(PANELS) if name in PRICE]


def act(folder: Path, kinds: list[str]) -> None:
    """Train each, choose what stops it, and write its log."""
    learn = Rows(folder / "learn.csv", slice(0, LEARN))
    validation = Rows(folder / "learn.csv", slice(LEARN, None))
    judged = Rows(folder / "judged.csv", slice(None))
    for kind in kinds or STOPS:
        peer = Peer(kind, learn, validation)
        costs = []
        for stop in STOPS[kind]:
            peer.method.set_cost_param(float(stop))
            costs.append(peer.cost(validation))
        best = int(np.argmin(costs))
        peer.method.set_cost_param(float(STOPS[kind][best]))
        print(kind, f"stops at {STOPS[kind][best]:.3g}, validation {costs[best]:.3f}", flush=True)
        actions, _ = peer.follow(judged.features)
        with (folder / f"{kind}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["row", "step", "action"])
            for row, chosen in enumerate(actions.T):
                steps = [PANELS[k - 1] for k in chosen[chosen > 0]]
                writer.writerows((row, step, name) for step, name in enumerate([*steps, "stop"]))


def judge(folder: Path) -> None:
    """Logs and kinds of this project on the rows with missing panels."""
    import frugal
    import pandas as pd

    from tests.defaults import DEFAULT

    agents: dict[str, Any] = {}
    for kind in STOPS:
        path = folder / f"{kind}.parquet"
        pd.read_csv(folder / f"{kind}.csv").to_parquet(path)
        agents[f"peer_{kind}"] = {"kind": "table", "file": str(path), "dataset": "judged"}
    agents |= {kind: {"kind": kind} for kind in OWN}
    agents |= {name: {"kind": "fixed", "panels": of} for name, of in FIXED.items()}
    table = frugal.load(folder / "judged.yaml")
    masks = frugal.missingness(table, DEFAULT["afape"]["scenarios"][0]["missingness"])
    answer = frugal.evaluate(
        [frugal.train(masks, settings, name=name) for name, settings in agents.items()]
    )
    print(frugal.verdict(answer))
    answer.estimates.to_csv(folder / "estimates.csv", index=False)


if __name__ == "__main__":
    where = Path(sys.argv[1])
    where.mkdir(parents=True, exist_ok=True)
    {"write": write, "judge": judge}.get(sys.argv[2], lambda of: act(of, sys.argv[3:]))(where)
