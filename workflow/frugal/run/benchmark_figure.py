"""CPU time and memory of every stage, so a run can be planned. Draws a table of totals."""

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from frugal.draw.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    VERMILLION,
    add_legend,
    new_figure,
    printed,
)

STUDY_COLOURS = {
    "afape": BLUE,
    "dadi": ORANGE,
    "treatment": GREEN,
    "diagnosis": VERMILLION,
    "recourse": PURPLE,
    "over_time": PURPLE,
    "shared": SKY,
    "engine": BLACK,
}
_ROW_IN = 0.19


@printed
def benchmark_figure(totals: pd.DataFrame) -> Figure:
    """Bars of CPU seconds and of peak memory, one line per stage, coloured by study.

    Args:
        totals: columns study, stage, jobs, cpu_s (s, sum), memory_mb (MB, peak), largest first.
    """
    figure = new_figure(height_in=0.9 + _ROW_IN * len(totals))
    times, memories = figure.subplots(1, 2, sharey=True, width_ratios=[3, 2])
    places = range(len(totals))
    rows = totals.assign(place=list(places), study=totals["study"].astype(str))
    palette = {study: STUDY_COLOURS.get(study, GREY) for study in rows["study"]}
    for axes, amount in ((times, "cpu_s"), (memories, "memory_mb")):
        sns.barplot(
            rows,
            x=amount,
            y="place",
            hue="study",
            palette=palette,
            orient="y",
            dodge=False,
            native_scale=True,
            estimator="sum",
            errorbar=None,
            saturation=1,
            legend=False,
            ax=axes,
        )
        axes.set(ylabel="")
    for place, jobs, cpu_s in zip(places, totals["jobs"], totals["cpu_s"], strict=True):
        times.text(cpu_s, place, f"  {jobs} jobs" if jobs > 1 else "  1 job", va="center")
    times.set_yticks(places, [str(stage) for stage in totals["stage"]])
    times.set_ylim(len(totals) - 0.4, -0.6)
    times.set_xlim(0, 1.25 * max(float(totals["cpu_s"].max()), 1e-9))
    times.set_xlabel("CPU seconds, all jobs")
    memories.set_xlabel("memory of the largest job, MB")
    shown = [study for study in STUDY_COLOURS if study in set(totals["study"])]
    add_legend(figure, [Patch(color=STUDY_COLOURS[s], label=s) for s in shown])
    return figure
