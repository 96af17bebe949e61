"""A whole config: the keys at top level, and the blocks of the studies."""

import re
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Literal

from pydantic import create_model

from frugal.config.afape import Afape
from frugal.config.blocks import Amount, Block, Count, Name, Whole, required, setting
from frugal.config.parts import part_fields
from frugal.core.errors import ConfigError, argument
from frugal.core.studies import of_studies


class Report(Block):
    """Of results/report.html."""

    units: Count = setting(24, "of each data set, that are shown step by step")


class Core(Block):
    """Keys that neither a study nor a part of an answer adds."""

    seed: Whole = setting(20230501, "root of every random stream")
    scale: Literal["default", "paper"] = setting(
        "default", "paper: config/paper*.yaml replace values of config.yaml"
    )
    data_mirror: str | None = setting(
        None,
        "folder that holds the publishers' files under the names in the data sets' YAML; null "
        "downloads them",
    )
    environment: Literal["tell", "strict"] = setting(
        "tell",
        "treatment of results of another requirements.lock; tell: one line at the start; "
        "strict: their steps run again",
    )
    arithmetic: Literal["portable", "fast"] = setting(
        "portable",
        "how numbers are rounded; portable: the same bytes on any x86-64 CPU with AVX2; fast: as "
        "each CPU is fastest",
    )
    table: str | None = setting(None, "YAML of one's own table, for `snakemake decide`")
    objective: Literal["cost", "f1"] = setting("cost", "of decide: criterion of policies")
    sensitive: str | None = setting(
        None, "of decide: column of the file whose values are groups to be judged apart"
    )
    margin: Amount = setting(
        0.05,
        "share of the cost by which another policy may be cheaper: it counts as nothing; a text "
        "where it comes from --config",
    )
    budget: Amount | None = setting(
        None,
        "of decide: most that panels may cost a case on average, in the table's unit; a text "
        "where it comes from --config",
    )
    most_missed: Amount | dict[str, Amount] | None = setting(
        None,
        "of decide, of two classes: most of the cases of the positive class that the named policy "
        "may miss, as a share, or group of `sensitive` → share; a text where it comes from "
        "--config",
    )
    recorded: str | None = setting(
        None,
        "of decide: YAML of the protocol by which the last rows were recorded, or an answer.json "
        "with a design; its known probabilities take the place of a fitted missingness model",
    )
    records: str | None = setting(
        None,
        "YAML of one's own records: of searches, for `snakemake search`, or over time, for "
        "`snakemake over_time`",
    )
    causes: str | None = setting(None, "of decide: YAML with the causes of each panel's gaps")
    report: Report = setting(Report(), "results/report.html")
    datasets: dict[Name, str] = required("name of a data set → path of its YAML")
    afape: Afape


def _blocks() -> dict[str, Any]:
    """Study → its block: the class in its `config.py` that bears the study's name, as a title.

    One whose keys all have defaults may be left out.
    """
    blocks = {}
    for study, module in of_studies("config").items():
        if block := getattr(import_module(module), study.title(), None):
            needed = any(key.is_required() for key in block.model_fields.values())
            blocks[study] = block, ... if needed else block()
    return blocks


Config: type[Core] = create_model(
    "Config", __base__=Core, __doc__="A whole config.", **part_fields(), **_blocks()
)


def effective(config: Mapping[str, Any]) -> dict[str, Any]:
    """The whole config with every default written out.

    Args:
        config: the written config; Snakemake's ordered mappings are allowed.

    Raises:
        ConfigError: one sentence with the key, the value found and the values allowed.
    """
    try:
        return Config.read(config, where="config").plain()
    except ConfigError as error:
        sentence = re.sub(r"^config: '(\w+)'", lambda key: argument(key[1]), str(error))
        raise ConfigError(sentence) from None


def most_missed_of(config: Mapping[str, Any]) -> dict[str, float]:
    """Group, or "" for all cases → most of the positive cases that may be missed there."""
    most = config["most_missed"]
    by_group = most if isinstance(most, Mapping) else {} if most is None else {"": most}
    return {name: float(share) for name, share in by_group.items()}
