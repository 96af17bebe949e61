"""The page of an answer: its pictures as SVG, legible on a telephone, and one tree of decisions."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest
from frugal.answer.pictures import costs_figure, net_benefit_figure
from frugal.draw.answers import COLOURS, AnswerText, Drawing, drawn, flow
from frugal.draw.style import COLOURS as OF_FIGURES
from frugal.draw.style import in_column
from frugal.judge.policy_tree import ends_of, flows_of, tree_of
from frugal.judge.semi_offline import Paths

TELEPHONE, LEGIBLE = 390 - 2 * 16, 11  # pixels: between the margins; height of a text
OUTCOMES = pd.DataFrame(
    {
        "agent": ["a policy with a name that needs two lines", "practice"],
        "cost": [2.0, 3.0],
        "ci_low": [1.0, 2.5],
        "ci_high": [3.0, 3.5],
        "acquisition_cost": [0.5, 1.0],
    }
)


def random_paths(n: int, a: int, k: int, seed: int) -> Paths:
    """Requests in any order, some of which the record does not hold."""
    rng = np.random.default_rng(seed)
    rank = rng.random((n, a)).argsort(axis=1)
    count = rng.integers(0, a + 1, n)
    order = np.where(np.arange(a) < count[:, None], rank, -1)
    complete = (rng.random(n) < 0.8) | (count == 0)
    acquired = np.zeros((n, a), dtype=bool)
    row, at = np.nonzero(order >= 0)
    acquired[row, order[row, at]] = True
    belief = rng.dirichlet(np.ones(k), (n, a + 1))
    return Paths(
        order, np.where(complete, count, 0), complete, acquired, belief, rng.integers(0, k, n)
    )


def flows(a: int, k: int) -> tuple[dict, np.ndarray, list]:
    paths = random_paths(300, a, k, seed=a)
    shares = np.clip(paths.acquired.mean(axis=0) + 0.05, 0, 1)
    tree = tree_of(paths, np.ones((300, a + 1)), shares)
    return flows_of(tree, [f"panel <{j}> & more" for j in range(a)]), shares, [*ends_of(tree)]


@pytest.mark.parametrize(("a", "k"), [(1, 2), (4, 3), (12, 7)])
def test_shares_of_the_flows_are_those_of_the_panels(a, k):
    drawn_flows, shares, ends = flows(a, k)
    weight = np.array([node.stops or node.share for _, node in ends])
    holds = np.array([[j in turn for j in range(a)] for turn, _ in ends])
    np.testing.assert_allclose(weight @ holds, shares, atol=1e-9)
    assert sum(share for *_, share in drawn_flows["ends"]) == pytest.approx(1)
    for row, (name, share) in enumerate(drawn_flows["panels"], 1):
        into = sum(part for _, to, part in drawn_flows["flows"] if to == row)
        out = [part for key in ("flows", "ends") for at, _, part in drawn_flows[key] if at == row]
        assert into == pytest.approx(share)
        assert sum(out) == pytest.approx(share)
        if "other" not in name:
            assert share == pytest.approx(shares[int(name[7 : name.index(">")])])


def page() -> str:
    """A page with a flow and figures."""
    first = [flow(flows(12, 3)[0], ["no", "mild <1>", "severe"], 0, "Who gets which panel")]
    curves = pd.DataFrame({"agent": ["p", "p"], "threshold": [0.1, 0.9], "net_benefit": [0.2, 0.1]})
    with in_column():
        figures = [
            costs_figure(OUTCOMES, "practice", cost_unit="EUR"),
            net_benefit_figure(curves.assign(ci_low=0.0, ci_high=0.3), "p", 0.2),
        ]
    first += [Drawing(f"n{k}", drawn(f, k, f"n{k}", "a < b")) for k, f in enumerate(figures, 1)]
    table = OUTCOMES.assign(**{"": "note"})
    text = AnswerText("T", "Costs", "Use it.", table, ["Assumed."], {}, facts={"Rows": "800"})
    return text.page(first)


def test_each_picture_is_an_svg_with_its_finding_and_legible_on_a_telephone():
    text = page()
    pictures = [
        ET.fromstring(svg) for svg in re.findall(r"<svg .*?</svg>", text.replace("xlink:", ""))
    ]
    assert len(pictures) == 3
    for picture in pictures:
        assert picture.get("role") == "img"
        names = {child.get("id"): child.text for child in picture if child.tag in ("title", "desc")}
        assert all(names[picture.get(f"aria-{key}by")] for key in ("labelled", "described"))
        left, top, wide, high = map(float, str(picture.get("viewBox")).split())
        words = [*picture.iter("text")]
        assert words
        for word in words:
            style = re.search(r"font-size: ([\d.]+)px", word.get("style", "font-size: 12px"))
            assert style
            assert float(style[1]) * TELEPHONE / wide >= LEGIBLE
            assert left <= float(word.get("x", 0)) <= wide
            assert top <= float(word.get("y", 0)) <= high
    ids = re.findall(r" id=['\"]([^'\"]*)", text)
    assert len(ids) == len(set(ids))
    drawn_colours = set(
        re.findall(
            r"(?:fill|stroke): ?(#\w+|\w+\(.*?\))", "".join(re.findall("<svg.*?</svg>", text))
        )
    )
    assert drawn_colours <= {f"var(--{name})" for name in COLOURS}


def test_a_page_has_landmarks_headings_and_tables_that_are_read_aloud():
    text = page()
    assert text == page()
    assert [text.count(f"<{tag}") for tag in ("main", "h1", "table", "caption")] == [1, 1, 1, 1]
    assert "<th scope='col'>" in text
    assert "<th scope='row'>" in text
    assert "<dt>Rows</dt><dd>800</dd>" in text
    assert "<a class='skip' href='#answer'>" in text


def luminance(colour: str) -> float:
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


@pytest.mark.parametrize("when", [0, 1])
@pytest.mark.parametrize(("front", "back"), [("ink", "page"), ("grey", "page"), ("ink", "pale")])
def test_text_stands_out_by_day_and_by_night(when, front, back):
    light = sorted(luminance(COLOURS[name][when]) for name in (front, back))
    assert (light[1] + 0.05) / (light[0] + 0.05) >= 4.5


def test_the_page_knows_the_colours_of_figures():
    named = {name: by_day.upper() for name, (by_day, _) in COLOURS.items() if name in OF_FIGURES}
    assert named == {name: OF_FIGURES[name].upper() for name in named}
    assert len(named) == len(OF_FIGURES)
