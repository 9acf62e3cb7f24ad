"""Figures are valid SVG, say everything in words, and need neither styles nor scripts."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from analysis.report.content import Figure
from analysis.report.figures import figure_svg, nice_ticks
from analysis.report.figures.palette import DARK, LIGHT, contrast, ink_on, shade
from analysis.report.figures.scene import PAGE
from tests.analysis.drawn import EVERY, NAUGHTY, interval_rows

ROOT = Path(__file__).resolve().parents[2]
SVG = "{http://www.w3.org/2000/svg}"
LINES = interval_rows(
    ("Human <reader> & co", 0.9, 0.8, 1.0, 0.85, 0.95),
    ("系统甲" * 12, 0.4, None, None, 0.3, 0.5),
    ("alone", 0.2),
)


def intervals_of(rows, **fields):
    figure = Figure("k", "HLS", "intervals", rows, x="HLS", **fields)
    return ElementTree.fromstring(figure_svg(figure, "a"))


def texts(root, name=None):
    found = root.iter(f"{SVG}text")
    return ["".join(t.itertext()) for t in found if name is None or t.get("class") == name]


def test_an_interval_plot_draws_thick_and_thin_intervals_where_there_are_some():
    root = intervals_of(LINES)
    drawn = {
        name: [p for p in root.iter(f"{SVG}path") if p.get("class") == name][1:]  # first: legend
        for name in ("interval-clustered", "interval-naive")
    }
    assert len(drawn["interval-clustered"]) == 1
    assert len(drawn["interval-naive"]) == 2
    assert len([c for c in root.iter(f"{SVG}circle") if c.get("class") == "plot-dot"][1:]) == 3
    thick, thin = (float(drawn[name][0].get("stroke-width")) for name in drawn)
    assert thick > 2 * thin


def test_positions_follow_the_values():
    dots = [float(c.get("cx")) for c in intervals_of(LINES).iter(f"{SVG}circle")][1:]
    low, high = 14, 366
    expected = [low + (high - low) * (v - 0.2) / 0.8 for v in (0.9, 0.4, 0.2)]
    assert dots == pytest.approx(expected, abs=0.01)


def test_on_a_bounded_scale_the_axis_is_the_scale_and_what_runs_past_gets_an_arrow():
    rows = interval_rows(("top", 0.9, 0.7, 1.2, 0.8, 0.99), ("low", 0.1, -0.1, 0.3))
    root = intervals_of(rows, ends=(0, 1))
    ticks = texts(root, "plot-tick")
    assert (ticks[0], ticks[-1]) == ("0", "1")
    thick = [p.get("d") for p in root.iter(f"{SVG}path") if p.get("class") == "interval-clustered"]
    assert ["L" in d for d in thick] == [False, True, True]  # the legend, and two arrows
    assert "H366" in thick[1]
    assert thick[2].startswith("M14 ")
    told = texts(root)
    assert "0.900 [0.700, 1.000▸]" in told
    assert "0.100 [◂0.000, 0.300]" in told
    assert any("runs past the scale: few" in words for words in told)
    assert "top: 0.900, from 0.700 to 1.200 (runs past the scale)" in root.find(f"{SVG}desc").text
    free = "".join(texts(intervals_of(rows)))
    assert "▸" not in free
    assert "1.200" in free


def test_groups_stand_together_under_their_heading_with_their_tiers():
    rows = [
        {"name": name, "value": value, "low": None, "high": None, "group": group, "mark": mark}
        for name, value, group, mark in (
            ("A", 1, "en", "a"),
            ("B", 2, "zh", ""),
            ("C", 3, "en", "b"),
        )
    ]
    root = intervals_of(rows)
    assert texts(root, "plot-group") == ["en", "zh"]
    assert texts(root, "plot-name") == ["A a", "C b", "B"]
    assert "en, A (a): 1.000, no interval" in root.find(f"{SVG}desc").text


@pytest.mark.parametrize("figure", EVERY, ids=lambda figure: figure.drawing)
def test_every_drawing_has_title_description_and_ids_of_its_own(figure):
    for key in ("a", "b"):
        root = ElementTree.fromstring(figure_svg(figure, key))
        assert root.get("role") == "img"
        title, told = (root.find(f"{SVG}{name}") for name in ("title", "desc"))
        assert root.get("aria-labelledby") == f"{title.get('id')} {told.get('id')}"
        assert title.get("id").startswith(key)
        assert title.text == figure.title
        assert len(told.text) > 20
        ids = [part.get("id") for part in root.iter() if part.get("id")]
        assert all(each.startswith(f"{key}-") for each in ids)


@pytest.mark.slow
@pytest.mark.parametrize("figure", NAUGHTY, ids=lambda figure: f"{figure.drawing}-{figure.key}")
@pytest.mark.parametrize("standalone", [False, True])
def test_hostile_names_holes_and_single_values_make_a_figure(figure, standalone):
    svg = figure_svg(figure, "k", standalone=standalone)
    ElementTree.fromstring(svg)
    assert not re.search(r"<[^>]*\sstyle=", svg)
    assert "<script" not in svg
    assert not re.search(r"<[^>]*\son\w+=", svg)
    assert ("<style>" in svg) is standalone
    assert not re.search(r"\bnan\b|\binf\b|None", svg)
    assert svg == figure_svg(figure, "k", standalone=standalone)


def test_a_scatter_plot_numbers_its_points_and_lists_them():
    rows = [{"name": f"condition {n}", "x": n, "y": n**2} for n in range(1, 6)]
    figure = Figure("k", "t", "scatter", rows, x="SRMR", y="MOS")
    root = ElementTree.fromstring(figure_svg(figure, "k"))
    assert texts(root, "plot-number") == ["1", "2", "3", "4", "5"]
    assert "3  condition 3  (3, 9)" in texts(root)
    moved = [p.get("transform") for p in root.iter(f"{SVG}path") if p.get("class") == "plot-sign"]
    places = [tuple(map(float, re.findall(r"translate\(([\d.]+) ([\d.]+)\)", m)[0])) for m in moved]
    assert places == sorted(places, key=lambda place: (place[0], -place[1]))


def test_lines_differ_in_sign_and_dashes_not_only_in_colour():
    rows = [
        {"group": f"g{n}", "x": x, "y": n + x, "low": n + x - 1, "high": n + x + 1}
        for n in range(12)
        for x in range(3)
    ]
    root = ElementTree.fromstring(figure_svg(Figure("k", "t", "lines", rows), "k"))
    groups = [g for g in root.iter(f"{SVG}g") if g.find(f"{SVG}title") is not None]
    looks = set()
    for group in groups:
        path = next(p for p in group.iter(f"{SVG}path") if p.get("class") == "plot-path")
        mark = next(p for p in group.iter(f"{SVG}path") if p.get("class") == "plot-sign")
        looks.add((path.get("stroke-dasharray"), mark.get("d")))
    assert len(looks) == 12


def test_a_line_breaks_where_a_value_is_missing():
    rows = [{"group": "a", "x": x, "y": None if x == 2 else x} for x in range(5)]
    root = ElementTree.fromstring(figure_svg(Figure("k", "t", "lines", rows), "k"))
    paths = [p for p in root.iter(f"{SVG}path") if p.get("class") == "plot-path"]
    assert len(paths) == 2


def test_a_cell_of_a_heatmap_is_read_on_its_colour_and_a_hole_stays_blank():
    rows = [
        {"row": str(r), "column": str(c), "value": None if r == c else r - c}
        for r in range(6)
        for c in range(6)
    ]
    root = ElementTree.fromstring(figure_svg(Figure("k", "t", "heatmap", rows), "k"))
    cells = [g for g in root.iter(f"{SVG}g") if g.get("class") == "plot-cell"]
    assert len(cells) == 36
    for cell in cells:
        rect, told = cell.find(f"{SVG}rect"), cell.find(f"{SVG}text")
        if rect.get("fill") == "none":
            assert told.text is None
        else:
            assert contrast(rect.get("fill"), told.get("fill")) >= 4.5
    fills = {c.find(f"{SVG}text").text: c.find(f"{SVG}rect").get("fill") for c in cells}
    assert fills["−1.000"[:5]] != fills["1.00"]


@pytest.mark.parametrize("signed", [False, True])
def test_text_on_every_shade_has_contrast(signed):
    for step in range(101):
        ground = shade(step / 100, signed)
        assert contrast(ink_on(ground), ground) >= 4.5


def test_colours_of_series_stand_out_from_both_grounds():
    assert min(contrast(colour, "#ffffff") for colour in LIGHT) >= 3
    assert min(contrast(colour, "#1c1f22") for colour in DARK) >= 3


def test_the_site_has_the_colours_of_the_palette():
    text = (ROOT / "static/css/base.css").read_text()
    found = re.findall(r"--series-(\d): (#\w+);", text)
    assert found == [(str(n), c) for colours in (LIGHT, DARK) for n, c in enumerate(colours, 1)]


def test_shares_fill_the_bar_and_say_their_percentages():
    rows = [
        {"name": "A", "label": label, "value": value}
        for label, value in (("Human", 0.5), ("Unclear", 0.3), ("Machine", 0.2))
    ]
    root = ElementTree.fromstring(figure_svg(Figure("k", "t", "shares", rows), "k"))
    bars = [g.find(f"{SVG}rect") for g in root.iter(f"{SVG}g") if g.get("class") == "plot-share"]
    widths = [float(bar.get("width")) + 1 for bar in bars]
    assert widths == pytest.approx([0.5 * 352, 0.3 * 352, 0.2 * 352], abs=0.1)
    assert {"50 %", "30 %", "20 %"} <= set(texts(root))


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (1.2, 4.7, [1, 2, 3, 4, 5]),
        (-2.6, 2.9, [-4, -2, 0, 2, 4]),
        (0.3, 0.3 + 1e-16, [0.2, 0.25, 0.3, 0.35, 0.4]),
        (0, 1e-17, [-0.1, -0.05, 0, 0.05, 0.1]),
        (2e-6, 5e-6, [2e-6, 3e-6, 4e-6, 5e-6]),
        (0.121, 0.139, [0.12, 0.125, 0.13, 0.135, 0.14]),
    ],
)
def test_ticks_are_round_and_span_the_data(low, high, ticks):
    assert nice_ticks(low, high) == pytest.approx(ticks)


def test_long_names_are_shortened_by_their_width():
    assert PAGE.shortened("short", 10) == "short"
    assert PAGE.shortened("x" * 30, 10) == "x" * 9 + "…"
    assert PAGE.shortened("汉" * 30, 10) == "汉" * 4 + "…"
    assert PAGE.columns("ที่นี่") == 2  # vowels and tones stand above the letters
    assert PAGE.shortened("ที่" * 9, 4) == "ที่" * 3 + "…"


def test_a_right_to_left_name_is_isolated_from_what_stands_beside_it():
    hebrew = "אנושי (2)"
    root = intervals_of(interval_rows((hebrew, 0.9)))
    assert texts(root, "plot-name") == [f"\u2068{hebrew}\u2069"]
    root = intervals_of(interval_rows((f"{hebrew} − B", 0.9)))
    assert texts(root, "plot-name") == [f"\u2068{hebrew}\u2069 − \u2068B\u2069"]
    rows = [{"name": name, "x": 1, "y": 2} for name in (hebrew, "plain")]
    root = ElementTree.fromstring(figure_svg(Figure("k", "t", "scatter", rows), "k"))
    assert f"1  \u2068{hebrew}\u2069  (1, 2)" in "".join(texts(root, "plot-key"))
    assert "2  plain  (1, 2)" in texts(root, "plot-key")
