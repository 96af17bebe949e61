"""The verbs: each takes the result of the one before."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

from frugal.config.declared import declared_kinds, is_filed
from frugal.config.parts import part_files
from frugal.core.errors import ConfigError, FrugalError, argument
from frugal.core.schema_check import did_you_mean, listed
from frugal.library.chain import one_bar, payloads_of
from frugal.library.frames import ask_frame, describe, is_frame
from frugal.library.kept_answers import KeptAnswer
from frugal.library.objects import Answer, Masks, Policy, StoredPolicy, Table
from frugal.library.part_options import PartOptions
from frugal.library.question import ask, door, require, require_known, with_options, without_others
from frugal.run.own_table import MECHANISM

if TYPE_CHECKING:
    import pandas as pd


class TableOptions(PartOptions, total=False):
    """Arguments that describe a table and the question; see `load`."""

    prices: Mapping[Any, Any] | None
    errors: Mapping[Any, Any] | None
    panels: Mapping[Any, Sequence[Any]] | None
    free: Iterable[Any] | None
    positive: Any
    unit: str | None
    leave_out: Iterable[Any] | None
    unlabelled: str | None
    predict: Mapping[str, Any] | None
    name: str | None
    sheet: str | None
    format: Literal["fhir", "jsonl", "meds", "omop"] | None
    folder: str | Path | None
    config: Mapping[str, Any] | str | Path | None
    objective: Literal["cost", "f1"] | None
    budget: float | None
    margin: float | None
    sensitive: str | None
    causes: str | Path | None
    recorded: str | Path | None
    most_missed: float | Mapping[str, float] | None
    cores: int | None


OF_CELLS = (  # what the YAML of a table states itself
    "prices",
    "errors",
    "panels",
    "free",
    "positive",
    "unit",
    "leave_out",
    "unlabelled",
    "predict",
    "name",
    "sheet",
    "format",
)


@door
@with_options(TableOptions)
def load(table: Any, label: Any = None, **options: Unpack[TableOptions]) -> Table:
    """A table of one's own, read and encoded.

    A table with a YAML takes none of the arguments from `label` to `format`. The columns of a
    data frame or another file are guessed as by `frugal init`; `remarks` of the table list the
    assumptions, and `table.description(path)` writes the YAML, which gives the same numbers.

    Args:
        table: a data frame (pandas, Polars, Arrow), a row for each case, NaN or None for values
            not acquired; the path of a file that `frugal init` reads, with `label`; or of its YAML,
            as `frugal init TABLE --label COLUMN` writes it.
        label: name of the column to predict.
        prices: panel → price: a number, two ends such as `(20, 35)`, or as the YAML has it, such as
            `{"column": "fee"}`; a panel of one column has its name.
        errors: cost of `missed` and `false alarm`, in the unit of prices; with more than two
            classes of each `TRUE as PREDICTED`.
        panels: name → columns that are acquired together; columns that are always missing together
            are one panel, others are one each.
        free: columns that are known at the start.
        positive: value of the label that is the positive class; by default as its name implies
            (yes, true, 1, …), else the rarer one.
        unit: of prices; by default EUR.
        leave_out: columns that are no feature, such as one that is known only afterwards.
        unlabelled: rows without a label: `drop`, the default, or `weigh`: `decide` keeps them and
            weights the others by the probability of having a label.
        predict: of a label that is a number, in place of `errors`: `loss` (absolute or squared),
            `price` (of a unit of loss), `values` (numbers that may be predicted, or how many, by
            default 4) and `unit`, as under `label.predict` of the YAML.
        name: of the table, small letters and digits; random streams depend on it. Default: table.
        sheet: of a spreadsheet; by default the first that is shown and holds the label.
        format: of a long file, a row for each value (docs/how-to/long_files.md): `fhir`, `jsonl`,
            `meds` or `omop`; by default the file is a table.
        folder: where the workflow is run by Snakemake, which keeps everything below
            `results/decide/NAME/`, as `snakemake decide` does; None: the same stages run here, and
            everything stays in memory.
        config: keys laid over config.yaml and config/decide.yaml, or a YAML of them, as with
            `--configfile`; for example `{"seed": 1, "budget": 20}`.
        objective: `cost`, the default, or `f1`, the best F1 of the second of two classes.
        budget: most that panels may cost a case on average, in the unit of prices.
        margin: share of the cost, or of F1, that counts as nothing; by default 0.05.
        sensitive: column of the file whose values are groups that are judged apart.
        causes: YAML of the causes of each panel's missing values; by default the columns that
            all rows have.
        recorded: YAML of the protocol by which the last rows were recorded
            (docs/reference/answer.md), or an answer.json with a design; its probabilities take the
            place of fitted ones.
        most_missed: of two classes, most of the positive cases that the named policy may miss, as
            a share; or group of `sensitive` → share.
        PARTS
        cores: stages at a time, where a folder is given.

    Returns:
        The table; its `remarks` list the assumptions about missing values.

    Raises:
        ConfigError, DataError: a sentence with the key or file, the value found and allowed values.
    """
    stated: dict[str, Any] = {"label": label} | {key: options.get(key) for key in OF_CELLS}
    keys: dict[str, Any] = {k: v for k, v in options.items() if k not in OF_CELLS}
    folder, config = keys.pop("folder", None), keys.pop("config", None)
    for key in ("causes", "recorded", *part_files(keys)):
        keys[key] = None if keys.get(key) is None else str(keys[key])
    keys["cores"] = 1 if keys.get("cores") is None else keys["cores"]
    is_yaml = isinstance(table, str | Path) and Path(table).suffix.lower() in (".yaml", ".yml")
    is_file = isinstance(table, str | Path) and label is not None and not is_yaml
    if is_frame(table) or is_file:
        described = describe(table, stated)
        with _groups_named(keys.get("sensitive")), described.rows_named():
            question = ask_frame(described, folder, config, **keys)
            payloads_of(question, "prepare_data", again=True)
    else:
        if named := [key for key, value in stated.items() if value is not None]:
            require("the table", table, (str, Path), "a data frame, or the path of a YAML")
            does = "states them itself" if is_yaml else "needs 'label', too"
            raise ConfigError(
                f"{listed(named)}: arguments for a data frame or a table's file; {table} {does}"
            )
        with _groups_named(keys.get("sensitive")):
            question = ask(table, folder, config, **keys)
            payloads_of(question, "prepare_data", again=True)
    return Table(question)


@contextmanager
def _groups_named(sensitive: str | None) -> Iterator[None]:
    """Refusals of the groups that `sensitive` makes name this argument, not the YAML's key."""
    try:
        yield
    except FrugalError as error:
        sentence = str(error).replace(
            "which 'groups' names", f"which {argument('sensitive')} names"
        )
        raise error if sensitive is None else type(error)(sentence) from error


@door
def missingness(
    table: Table, law: Mapping[str, Any] | None = None, *, name: str = "drawn"
) -> Masks:
    """Which panels are missing where: as recorded, or masks drawn into a complete table.

    Args:
        table: from `load`.
        law: None: the table's own missing values; else `missingness` of a scenario,
            docs/reference/afape.md.
        name: of the mechanism, if a missingness model is given.

    Raises:
        ConfigError: the law is none, or names an unknown column or panel.
        FrugalError: the law does not fit the table.
    """
    require("table", table, Table, "the result of load")
    if law is not None and name == MECHANISM:
        raise ConfigError(
            f"name is {name!r}, which is the table's own missing values; choose another"
        )
    question = table.question if law is None else table.question.with_law(law, name)
    payloads_of(question, "draw_missingness", again=True)
    return Masks(question)


@door
def train(
    masks: Masks, agent: str | Mapping[str, Any], *, name: str | None = None, **changes: Any
) -> Policy:
    """A policy; trained on the records with their missing values, if it is of a kind that learns.

    Args:
        masks: from `missingness`.
        agent: name of one of `table.policies`, or settings with `kind`, docs/reference/agents.md.
        name: under which it is evaluated; by default the agent's, or its kind.
        changes: settings that replace the agent's, for example `transitions=50000`.

    Raises:
        ConfigError: there is no such agent, or a setting is not allowed.
        FrugalError: training refuses the table.
    """
    require("masks", masks, Masks, "the result of missingness")
    policies_of_study = masks.question.study.agents
    if isinstance(agent, str) and agent not in policies_of_study:
        raise ConfigError(
            f"agent is {agent!r}; allowed are {listed(policies_of_study)}, or settings with their "
            f"kind{did_you_mean(agent, policies_of_study)}"
        )
    settings = {**(policies_of_study[agent] if isinstance(agent, str) else agent), **changes}
    called = name or (agent if isinstance(agent, str) else str(agent.get("kind", "agent")))
    question = masks.question.with_agents({called: settings})
    policy = Policy(question, called)
    if called in question.study.trained_agents:
        payloads_of(question, "train_agent", again=True, agent=called)
    return policy


@door
def load_policy(folder: str | Path, *, function: str | Path | None = None) -> StoredPolicy:
    """A policy from a folder that `save`, or the workflow under results/bundles, left.

    Args:
        folder: with policy.safetensors and cases.json, or that of an answer.
        function: file of one's own function, for a policy of kind `python`.

    Raises:
        DataError: the folder holds no policy, or the function is another one.
    """
    from frugal.acquire.bundles import policy_folder  # pandas

    policy = StoredPolicy(policy_folder(Path(folder)), None if function is None else Path(function))
    policy.kind  # noqa: B018  reads the folder, so that a mistake shows here
    return policy


@door
def load_answer(folder: str | Path) -> KeptAnswer:
    """An answer from a folder that `Answer.save` or `frugal decide` left.

    Raises:
        DataError: the folder holds no answer, or one that was edited.
    """
    return KeptAnswer(Path(folder))


@door
def advise(
    policy: Policy | StoredPolicy | str | Path, cases: Any, **options: Any
) -> "pd.DataFrame":
    """The next panel for each new case.

    Args:
        policy: from `train`, `answer.policy`, `load_policy`, or a folder of one.
        cases: columns of the table by their names in its file, or such a CSV, Excel or Parquet
            file.
        options: those of `Policy.advise`.

    Returns:
        A row for each decision.

    Raises:
        DataError: the cases are not cases of the policy's table.
    """
    kinds = (Policy, StoredPolicy, str, Path)
    require("policy", policy, kinds, "a result of train or load_policy, or the path of a folder")
    loaded = load_policy(policy) if isinstance(policy, str | Path) else policy
    return loaded.advise(cases, **options)


@door
@with_options(TableOptions)
def decide(
    table: Any,
    label: Any = None,
    *,
    agents: Sequence[str] | Mapping[str, Mapping[str, Any] | None] | None = None,
    **options: Unpack[TableOptions],
) -> Answer:
    """Which policy to use for a table, its cost and saving, and how sure that is.

    The same as `snakemake decide --config table=my.yaml`, bundles and page included.

    Args:
        table: from `load`, or as `load` takes it: a data frame, a file, or a YAML.
        label: name of the column to predict, of a data frame or a file.
        agents: names of the policies that are tried, of those of `table.policies`; or settings by
            name, as under `afape.agents`; None: all of config/decide.yaml. `always` is tried, too,
            as its models decide on the panels that were recorded in practice.
        options: those of `load`, such as `prices`, `errors`, `objective`, `budget` and `margin`.

    Raises:
        ConfigError, DataError: a sentence with the key or file, the value found and allowed values.
    """
    stated = {"label": label, **options}
    if isinstance(table, Table) and (named := [k for k, v in stated.items() if v is not None]):
        raise ConfigError(f"{listed(named)}: options of load; give them there")
    question = (
        table.question if isinstance(table, Table) else load(table, label, **options).question
    )
    if isinstance(agents, Mapping):
        _require_no_files(agents)
        question = question.with_agents({**agents, **without_others(question, agents)})
    elif agents is not None:
        require_known(question, agents)
        question = question.with_agents(without_others(question, agents))
    with one_bar(len(question.study.folds(question.dataset)) + 4):
        payloads_of(question, "write_answer", again=True)
    return Answer(question)


def _require_no_files(agents: Mapping[str, Mapping[str, Any] | None]) -> None:
    """Refuse policies that act by a file, which an answer does not choose from."""
    for name, settings in agents.items():
        kind = str(settings.get("kind")) if isinstance(settings, Mapping) else ""
        if kind in declared_kinds() and is_filed(kind):
            raise ConfigError(
                f"agents has {name!r} of kind {kind!r}, which acts by a file of your own; decide "
                "chooses from policies without one: judge yours by "
                f"frugal.evaluate([frugal.train(masks, {{'kind': {kind!r}, …}})]), masks from "
                "frugal.missingness(table)"
            )
