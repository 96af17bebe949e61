"""Stages of the grid: verdicts in worlds whose truth is known."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from frugal.acquire.kinds import kind_of
from frugal.answer.stages.agents import roll_out, train_agent
from frugal.answer.stages.records import draw_missingness
from frugal.core.context import Context
from frugal.core.errors import DataError
from frugal.core.layout import Bundle
from frugal.core.rows import FrameRows, Partitions
from frugal.core.stored import StoredArrays
from frugal.core.streams import Streams
from frugal.data.tables import table_from_frames
from frugal.judge.registry import READ
from frugal.judge.verdicts import readable
from frugal.missing.graphs import parse_graph
from frugal.missing.identification import identify
from frugal.missing.law import grid_law
from frugal.results.replacing import collected
from frugal.studies.afape.spec import CLEAR
from frugal.studies.afape.stages.estimates import estimate_costs, fit_nuisances
from frugal.studies.afape.stages.records import check_graph, impute_features
from frugal.studies.afape.stages.tables import give_verdicts

_NO_COPY = pd.DataFrame({"row_id": [], "seed": [], "method": [], "draw": []})
_WHERE = {"dataset": "drawn", "mechanism": "drawn"}


@dataclass(frozen=True, eq=False)
class Drawn:
    """Incomplete rows, and every policy's episodes on them.

    Attributes:
        stored: inputs `table`, `catalogue`, `masks`, `graph`, `identification` of the stages.
        blocked: agent → its episodes on the records.
        worlds: agent → its episodes elsewhere.
    """

    stored: Mapping[str, Any]
    blocked: Mapping[str, pd.DataFrame]
    worlds: Mapping[str, pd.DataFrame]


@dataclass(frozen=True, eq=False)
class Judges:
    """Inputs common to all draws.

    Attributes:
        classifier: its arrays.
        agents: name → settings.
        policies: files of those that learn, by name.
        nuisance: settings of `fit_nuisances`, without its agents.
        evaluation: settings of `estimate_costs`.
        root: of all streams.
    """

    classifier: Mapping[str, np.ndarray]
    agents: Mapping[str, Mapping[str, Any]]
    policies: Mapping[str, StoredArrays]
    nuisance: Mapping[str, Any]
    evaluation: Mapping[str, Any]
    root: int

    def play(
        self, stored: Mapping[str, Any], draw: int, imputation: Mapping[str, Any] | None = None
    ) -> Drawn:
        """Every policy on one draw, and on imputed copies of it where settings define them."""
        blocked, worlds = {}, {}
        copies = {"imputed": _NO_COPY, "rounds": _NO_COPY}
        if imputation is not None:
            of_rows = {name: stored[name] for name in ("table", "catalogue", "masks")}
            copies = collected(
                impute_features(
                    **of_rows, context=self._context(imputation, "impute_features", draw)
                )
            )
        for name, settings in self.agents.items():
            filed: dict[str, Any] = {"policy": self.policies[name]} if name in self.policies else {}
            blocked_and_worlds = collected(
                roll_out(
                    **stored,
                    **copies,
                    classifier=self.classifier,
                    context=self._context(settings, "roll_out", draw, agent=name),
                    **filed,
                )
            )
            blocked[name], worlds[name] = (
                blocked_and_worlds["blocked"],
                blocked_and_worlds["worlds"],
            )
        return Drawn(stored, blocked, worlds)

    def judge(self, drawn: Drawn, draw: int) -> dict[str, pd.DataFrame]:
        """Estimates, comparisons, the check of the graph, and a verdict.

        Returns:
            `estimates`, `comparisons`, `graph_check` and `verdicts` as the stages make them.
        """
        filed: dict[str, Any] = {
            f"policy_{k}": policy for k, policy in enumerate(self.policies.values())
        }
        nuisances = collected(
            fit_nuisances(
                **drawn.stored,
                blocked=_by_agent(drawn.blocked),
                context=self._context(
                    {**self.nuisance, "agents": self.agents, "filed": list(self.policies)},
                    "fit_nuisances",
                    draw,
                ),
                **filed,
            )
        )
        estimated = estimate_costs(
            **drawn.stored,
            blocked=_by_agent(drawn.blocked),
            worlds=_by_agent(drawn.worlds),
            propensities=nuisances["propensities"],
            agents=nuisances["agents"],
            context=self._context(self.evaluation, "estimate_costs", draw),
        )
        stored = {k: v for k, v in drawn.stored.items() if k != "graph"}
        checked = check_graph(
            **stored,
            propensities=nuisances["propensities"],
            context=self._context({}, "check_graph", draw),
        )["graph_check"]
        names = ("estimates", "comparisons", "groups", "sensitivity", "tipping")
        results = {name: estimated[name].assign(**_WHERE) for name in names}
        settings = {
            "cost_units": {"drawn": ""},
            "gammas": self.evaluation["hidden_causes"]["gammas"],
            "margin": 0.0,  # which of these verdicts are the best does not depend on it
        }
        verdict = give_verdicts(
            summary=results["estimates"],
            comparisons=results["comparisons"],
            groups=results["groups"],
            sensitivity=results["sensitivity"],
            tipping=results["tipping"],
            graph_check=checked.assign(**_WHERE),
            context=self._context(settings, "give_verdicts", draw),
        )
        return results | {"graph_check": checked, "verdicts": verdict["verdicts"]}

    def _context(self, settings: Mapping[str, Any], stage: str, draw: int, **more: str) -> Context:
        wildcards = {**_WHERE, "draw": str(draw), **more}
        return Context(settings, Streams(self.root, stage, wildcards))


def _by_agent(frames: Mapping[str, pd.DataFrame]) -> Partitions:
    each = list(frames.values())
    return Partitions([{"agent": name} for name in frames], lambda k: FrameRows(each[k]))


TRUE, NONE = "true", "mcar"  # graphs under which a world is evaluated


def judge_world(
    *,
    table: pd.DataFrame,
    catalogue: Mapping[str, Any],
    classifier: Mapping[str, np.ndarray],
    context: Context,
) -> dict[str, pd.DataFrame]:
    """Train, draw and judge.

    The test part of a table is the population. Agents learn once, on records with missing values;
    each draw takes rows of the population with replacement, draws their missingness, and evaluates
    every policy under the true graph and under the one without causes of missingness (MCAR).

    Settings: `mechanism`, `missing_share`, `panels`, `draws`, `rows` (at most, of a draw), `agents`
    (name → settings), `nuisance`, `evaluation`, `imputation`, `imputed_draws` (the first ones, in
    which policies also act on imputed copies).

    Returns:
        `estimates`: one row for each draw, graph, agent and estimator; `draws`: the verdict of each
        draw and graph and the truth.

    Raises:
        DataError: the table has no test rows.
    """
    settings = context.settings
    completed = _completed(table, catalogue, context.streams.generator("gaps"))
    data, part = table_from_frames(completed, catalogue)
    if not (part == "test").any():
        raise DataError("the grid evaluates the rows of the part 'test', and the table has none")
    missingness = grid_law(
        data,
        settings["mechanism"],
        missing_share=settings["missing_share"],
        panels=settings["panels"],
    )
    judges = _judges(completed, catalogue, classifier, missingness, settings, context.streams)
    population = completed[part == "test"].reset_index(drop=True)
    truth = _truth(judges, population, catalogue)
    estimates, draws = [], []
    for draw in context.progress(range(settings["draws"]), desc="draws"):
        rng = context.streams.generator("rows", draw)
        count = min(len(population), settings["rows"])
        rows = population.iloc[rng.integers(0, len(population), count)]
        rows = rows.assign(row_id=np.arange(count)).reset_index(drop=True)
        imputation = settings["imputation"] if draw < settings["imputed_draws"] else None
        drawn = judges.play(_with_gaps(rows, catalogue, missingness, draw), draw, imputation)
        for graph, judged in _under_each_graph(drawn, missingness, catalogue):
            results = judges.judge(judged, draw)
            mine = {"draw": draw, "graph": graph}
            estimated = results["estimates"].assign(
                truth=results["estimates"]["agent"].map(truth), **mine
            )
            estimates.append(estimated)
            draws.append(_answer(results, truth) | mine)
    columns = [
        "agent",
        "estimator",
        "estimate",
        "std_error",
        "ci_low",
        "ci_high",
        "ess",
        "status",
        "largest_weight_share",
        "truth",
        "draw",
        "graph",
    ]
    return {
        "estimates": pd.concat(estimates, ignore_index=True)[columns],
        "draws": pd.DataFrame(draws),
    }


def _completed(
    table: pd.DataFrame, catalogue: Mapping[str, Any], rng: np.random.Generator
) -> pd.DataFrame:
    """The table with each missing value filled from the same column, so a truth is known."""
    completed = table.copy()
    for column in catalogue["columns"]:
        values = completed[column["name"]].to_numpy(dtype=np.float64, copy=True)
        missing = np.isnan(values)
        if missing.all():
            raise DataError(f"column {column['name']!r} has no value, so no world can be made")
        values[missing] = rng.choice(values[~missing], missing.sum())
        completed[column["name"]] = values
    return completed


def _with_gaps(
    rows: pd.DataFrame, catalogue: Mapping[str, Any], missingness: Mapping[str, Any], draw: int
) -> dict[str, Any]:
    """The rows, with the masks of one draw."""
    stored = {"table": rows, "catalogue": catalogue}
    settings = {"name": "grid", "seeds": [draw], "missingness": missingness, "s": None}
    return stored | collected(
        draw_missingness(**stored, context=Context(settings, Streams(draw, "draw_missingness", {})))
    )


def _judges(
    completed: pd.DataFrame,
    catalogue: Mapping[str, Any],
    classifier: Mapping[str, np.ndarray],
    missingness: Mapping[str, Any],
    settings: Mapping[str, Any],
    streams: Streams,
) -> Judges:
    """Agents that learnt on the records of one draw of the missingness of all rows."""
    stored = _with_gaps(completed, catalogue, missingness, 0)
    policies = {}
    for name, agent_settings in settings["agents"].items():
        if kind_of(agent_settings).fit is None:
            continue
        bundle: Bundle = train_agent(
            table=completed,
            catalogue=catalogue,
            classifier=classifier,
            masks=stored["masks"],
            context=Context(agent_settings, Streams(streams.root, "train_agent", {"agent": name})),
        )["policy"]
        policies[name] = bundle.stored(f"the policy {name}")
    return Judges(
        classifier,
        settings["agents"],
        policies,
        settings["nuisance"],
        settings["evaluation"],
        streams.root,
    )


def _truth(
    judges: Judges, population: pd.DataFrame, catalogue: Mapping[str, Any]
) -> dict[str, float]:
    """Cost of every policy in the population, none of whose values is missing."""
    rows = population.assign(row_id=np.arange(len(population)))
    none = {"source": "induced", "standardise": False, "complete_share": None, "panels": {}}
    drawn = judges.play(_with_gaps(rows, catalogue, none, 0), 0)
    return {
        name: float(frame.loc[frame["world"] == "full", "cost"].mean())
        for name, frame in drawn.worlds.items()
    }


def _under_each_graph(
    drawn: Drawn, missingness: Mapping[str, Any], catalogue: Mapping[str, Any]
) -> Iterator[tuple[str, Drawn]]:
    """The draw as it is, and with a graph without causes of missingness."""
    yield TRUE, drawn
    if not any(panel["values"] for panel in missingness["panels"].values()):
        return
    data, _ = table_from_frames(drawn.stored["table"], catalogue)
    panels = {name: {"intercept": 0.0} for name in missingness["panels"]}
    graph = parse_graph("mcar", {**missingness, "panels": panels}, data)
    unknown = [name for name in drawn.stored["masks"] if str(name).endswith("_probability")]
    changed = {
        "masks": drawn.stored["masks"].drop(columns=unknown),
        "graph": graph.to_dict() | {"source": "own", "unsupported": [], "fewest_recorded": []},
        "identification": identify(graph, data, s=None).to_dict(),
    }
    yield NONE, Drawn({**drawn.stored, **changed}, drawn.blocked, drawn.worlds)


def _answer(results: Mapping[str, pd.DataFrame], truth: Mapping[str, float]) -> dict[str, Any]:
    """The verdict of one draw, and its cost."""
    verdict = results["verdicts"].iloc[0]
    cheapest = min(truth, key=lambda name: (truth[name], name))
    named = str(verdict["agent"])
    others = sorted(truth.values())
    rows = results["estimates"]
    mine = rows[
        (rows["agent"] == cheapest) & (rows["estimator"] == (verdict["estimator"] or READ[0]))
    ]
    error = float(mine["std_error"].iloc[0]) if len(mine) else np.nan
    may_be_best = str(verdict["not_worse"]).split(",")
    judged = set(truth) - set(str(verdict["left_out"]).split(","))
    costlier = [a for a in judged if truth[a] - truth[cheapest] > CLEAR * error]
    return {
        "named": named,
        "estimator": verdict["estimator"],
        "sure": bool(verdict["sure"]),
        "graph_refuted": bool(results["graph_check"]["graph_refuted"].iloc[0]),
        "best": cheapest,
        "best_cost": truth[cheapest],
        "regret": truth[named] - truth[cheapest] if named else np.nan,
        "gap": others[1] - others[0] if len(others) > 1 else np.nan,
        "std_error": error,
        "costlier": len(costlier),
        "costlier_excluded": sum(agent not in may_be_best for agent in costlier),
        "best_excluded": cheapest in judged and cheapest not in may_be_best,
    }


WORLD = ["dataset", "mechanism", "missing_share", "graph"]


def summarise_grid(
    *, draws: pd.DataFrame, estimates: pd.DataFrame, context: Context
) -> dict[str, pd.DataFrame]:
    """One row for each world and graph, and one for each of its estimators."""
    draws, estimates = (_without_categories(frame) for frame in (draws, estimates))
    worlds = [_world(key, rows, estimates) for key, rows in draws.groupby(WORLD, sort=False)]
    estimator_rows = [
        _estimator(key, rows)
        for key, rows in estimates[estimates["estimator"] != "ground_truth"].groupby(
            [*WORLD, "estimator"], sort=False
        )
    ]
    return {"grid": pd.DataFrame(worlds), "grid_estimators": pd.DataFrame(estimator_rows)}


def _without_categories(frame: pd.DataFrame) -> pd.DataFrame:
    texts = frame.astype({name: str for name in WORLD if name != "missing_share"})
    return texts.assign(missing_share=frame["missing_share"].astype(float))


def _world(key: tuple, rows: pd.DataFrame, estimates: pd.DataFrame) -> dict[str, Any]:
    """Verdicts of one world under one graph."""
    decided = rows[rows["named"] != ""]
    sure = decided[decided["sure"]]
    clear = rows[rows["gap"] > CLEAR * rows["std_error"]]
    mine = np.logical_and.reduce([estimates[n] == v for n, v in zip(WORLD, key, strict=True)])
    read = estimates[mine & (estimates["estimator"] == READ[0])]
    read = read[readable(read)]
    covered = read["truth"].between(read["ci_low"], read["ci_high"])
    return dict(zip(WORLD, key, strict=True)) | {
        "draws": len(rows),
        "decided": len(decided),
        "sure_draws": len(sure),
        "sure_and_wrong": int((sure["regret"] > 0).sum()),
        "clear": len(clear),
        "clear_and_sure": int(clear["sure"].sum()),
        **{n: int(decided[n].sum()) for n in ("costlier", "costlier_excluded", "best_excluded")},
        "refuted_draws": int(rows["graph_refuted"].sum()),
        "regret": float(decided["regret"].mean()),
        "best_cost": float(rows["best_cost"].iloc[0]),
        "intervals": len(read),
        "covered": int(covered.sum()),
        "bias": float((read["estimate"] - read["truth"]).mean()),
        "width": float((read["ci_high"] - read["ci_low"]).mean()),
    }


def _estimator(key: tuple, rows: pd.DataFrame) -> dict[str, Any]:
    """Errors of one estimator in one world, and how often its lowest estimate is not the best."""
    done = rows[rows["status"] == "ok"]
    error = done["estimate"] - done["truth"]
    covered = done["truth"].between(done["ci_low"], done["ci_high"])
    every = rows["agent"].nunique()
    picks = [draw_rows for _, draw_rows in done.groupby("draw") if len(draw_rows) == every]
    wrong = [_extra(draw_rows) for draw_rows in picks]
    return dict(zip([*WORLD, "estimator"], key, strict=True)) | {
        "draws": int(rows["draw"].nunique()),
        "intervals": len(done),
        "covered": int(covered.sum()),
        "bias": float(error.mean()),
        "std_error": float(done["std_error"].replace(np.inf, np.nan).mean()),
        "width": float((done["ci_high"] - done["ci_low"]).replace(np.inf, np.nan).mean()),
        "picks": len(picks),
        "wrong_picks": int(sum(extra > 0 for extra in wrong)),
        "regret": float(np.mean(wrong)) if wrong else np.nan,
    }


def _extra(rows: pd.DataFrame) -> float:
    """Regret of the policy of the lowest estimate: its true cost minus that of the best."""
    picked = rows.sort_values(["estimate", "agent"], kind="stable").iloc[0]
    return float(picked["truth"] - rows["truth"].min())
