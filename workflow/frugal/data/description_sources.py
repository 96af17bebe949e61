"""Where the records of a data set come from: files and their format, a library, or a simulator.

The part of a description under `source`. Reads no file, and imports no table library.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class RawFile:
    """One file of the source: its name in a data mirror, its address, digests, group and size."""

    name: str
    url: str | None
    sha256: str | None
    content_sha256: str | None
    group: str | None
    published_bytes: int | None = None


@dataclass(frozen=True)
class StaySummary:
    """A column that summarises one measurement of a stay over hours [from_hour, to_hour)."""

    name: str
    measurement: str
    statistic: str
    from_hour: float
    to_hour: float


@dataclass(frozen=True)
class Format:
    """How the files are written; `header` is None where the first record names the columns.

    `personal` are columns that name people: they are dropped as soon as a line is read. The first
    `skip_lines` lines of a csv are no part of the table. `decimal` and `thousands` are the marks in
    numbers that are written as text.
    """

    kind: str
    missing: tuple[str, ...]
    separator: str
    header: tuple[str, ...] | None
    comment: str | None
    strip: bool
    encoding: str
    hours: float | None = None
    summaries: tuple[StaySummary, ...] = ()
    personal: tuple[str, ...] = ()
    skip_lines: int = 0
    decimal: str = "."
    thousands: str | None = None


@dataclass(frozen=True)
class Generator:
    """Parameters of the simulator (see `simulators`, `loans`); those that it lacks are None."""

    name: str
    population: int | None
    clusters_per_class: int | None
    class_separation: float | None
    seed: int
    divisor: float | None = None


@dataclass(frozen=True)
class ClinicalGroup:
    """Patients of one group: their share, and the share of ill ones among them."""

    name: str
    share: float
    prevalence: float


@dataclass(frozen=True)
class ClinicalFeature:
    """A feature of the clinical simulator: shift of its mean by group, and weights of factors."""

    name: str
    effect: tuple[float, ...]
    loadings: tuple[float, ...]


@dataclass(frozen=True)
class ClinicalGenerator:
    """Parameters of the clinical simulator (see `clinical_simulator`)."""

    name: str
    groups: tuple[ClinicalGroup, ...]
    features: tuple[ClinicalFeature, ...]
    seed: int


@dataclass(frozen=True)
class Source:
    """Where the rows come from; only the fields of the kind are filled.

    With `join`, records of all files with one value of that column are one record.
    """

    kind: str
    generator: Generator | ClinicalGenerator | None
    loader: str | None
    files: tuple[RawFile, ...]
    format: Format | None
    join: str | None


def source_from(source: Mapping[str, Any]) -> Source:
    """The source that the checked mapping under `source` tells."""
    generator, form = source.get("generator"), source.get("format")
    return Source(
        kind=source["kind"],
        generator=None if generator is None else _generator(generator),
        loader=source.get("loader"),
        files=tuple(
            RawFile(
                f["name"],
                f.get("url"),
                f.get("sha256"),
                f.get("content_sha256"),
                f.get("group"),
                f.get("bytes"),
            )
            for f in source.get("files", ())
        ),
        format=None if form is None else _format(form),
        join=source.get("join"),
    )


def _generator(generator: Mapping[str, Any]) -> Generator | ClinicalGenerator:
    if generator["name"] == "clinical_simulator":
        return ClinicalGenerator(
            name=generator["name"],
            groups=tuple(
                ClinicalGroup(g["name"], float(g["share"]), float(g["prevalence"]))
                for g in generator["groups"]
            ),
            features=tuple(
                ClinicalFeature(
                    f["name"], tuple(map(float, f["effect"])), tuple(map(float, f["loadings"]))
                )
                for f in generator["features"]
            ),
            seed=generator["seed"],
        )
    separation = generator.get("class_separation")
    return Generator(
        name=generator["name"],
        population=generator.get("population"),
        clusters_per_class=generator.get("clusters_per_class"),
        class_separation=None if separation is None else float(separation),
        seed=generator["seed"],
        divisor=float(generator["divisor"]) if "divisor" in generator else None,
    )


def _format(form: Mapping[str, Any]) -> Format:
    missing = tuple(form["missing"])
    marks = {key: form[key] for key in ("decimal", "thousands") if key in form}
    if form["kind"] == "arff":  # the format itself fixes these
        return Format("arff", missing, ",", None, "%", True, "utf-8", **marks)
    if form["kind"] != "csv":
        summaries = tuple(
            StaySummary(
                s["name"],
                s["measurement"],
                s["statistic"],
                float(s["from_hour"]),
                float(s["to_hour"]),
            )
            for s in form.get("summaries", ())
        )
        hours = form.get("hours")
        return Format(
            form["kind"], missing, ",", None, None, False, "utf-8",
            None if hours is None else float(hours), summaries, **marks,
        )  # fmt: skip
    header = form["header"]
    return Format(
        kind="csv",
        missing=missing,
        separator=form["separator"],
        header=None if header is True else tuple(header),
        comment=form["comment"],
        strip=form["strip"],
        encoding=form["encoding"],
        personal=tuple(form.get("personal", ())),
        skip_lines=form.get("skip_lines", 0),
        **marks,
    )
