"""Error bars and bands of shares never leave [0, 1], nor those of trials the numbers above 0."""

import matplotlib as mpl
import numpy as np
import pytest
from frugal.draw import style
from frugal.studies.afape.figures.estimates import frequency_figure
from frugal.studies.recourse.figures import confidence_figure
from frugal.studies.treatment.figures import data_size_figure, profile_figure, tradeoff_figure
from matplotlib.collections import LineCollection, PolyCollection

from tests.studies.afape import afape_frames
from tests.studies.recourse import recourse_frames
from tests.studies.treatment.search_means import means_frame

mpl.use("Agg")
MEANS = means_frame(["smoothed"], ["cdp", "cg"], [0.0, 0.2, 0.9]).assign(
    efficacy_se=0.4, efficacy_variance=0.16, mean_trials_se=9.0, mean_trials_variance=81.0
)
FREQUENCIES = afape_frames.frequency_frame().assign(std_error=0.8)


def bars(figure, *, axis: int) -> np.ndarray:
    """All ends of bars and bands along x (0) or y (1)."""
    ends = [
        np.asarray(path.vertices)[:, axis]
        for axes in figure.axes
        for collection in axes.collections
        if isinstance(collection, PolyCollection | LineCollection)
        for path in collection.get_paths()
    ]
    return np.concatenate(ends)


@pytest.mark.parametrize(
    ("draw", "axis"),
    [
        (lambda: frequency_figure(FREQUENCIES), 0),
        (lambda: tradeoff_figure(MEANS, title="World"), 1),
        (lambda: data_size_figure(MEANS, title="World"), 1),
    ],
)
def test_bars_of_shares_end_at_0_and_1(draw, axis):
    found = bars(draw(), axis=axis)
    assert found.min() >= 0
    assert found.max() == pytest.approx(1)


def test_bars_of_trials_end_at_0():
    for draw in (tradeoff_figure, data_size_figure):
        found = bars(draw(MEANS, title="World"), axis=0)
        assert found.min() == pytest.approx(0)
        assert found.max() > 9


def test_bands_end_where_efficacy_and_trials_can_be():
    figure = profile_figure(MEANS, x="threshold", title="World")
    above, below = figure.axes
    for axes, most in ((above, 1.0), (below, np.inf)):
        bands = [
            np.asarray(path.vertices)[:, 1]
            for band in axes.collections
            for path in band.get_paths()
        ]
        assert np.concatenate(bands).min() >= 0
        assert np.concatenate(bands).max() <= most + 1e-12


def test_accuracy_by_frequency_shows_the_interval_of_the_share():
    rows = recourse_frames.frequency_frame()
    figure = confidence_figure(recourse_frames.confidence_frame(), rows)
    (right,) = [a for a in figure.axes if "seen often" in a.get_title(loc="left")]
    drawn = [c for c in right.collections if isinstance(c, LineCollection)]
    ends = [np.asarray(segment)[:, 1] for c in drawn for segment in c.get_segments()]
    ends = np.sort(np.array(ends), axis=0)
    wanted = np.sort(rows[["accuracy_low", "accuracy_high"]].to_numpy(), axis=0)
    np.testing.assert_allclose(ends, wanted, atol=1e-12)


def test_whiskers_by_hand():
    found = style.whiskers(np.array([0.9, 0.05, 0.5, 1.2]), np.array([0.2, 0.2, np.nan, 0.1]))
    np.testing.assert_allclose(found, [[0.7, 0, 0.5, 1.1], [1, 0.25, 0.5, 1.2]], atol=1e-12)
