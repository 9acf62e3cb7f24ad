"""Figures are valid SVG, say everything in words, and need neither styles nor scripts."""

import re
from xml.etree import ElementTree

import pytest

from analysis.figures import (
    IntervalLine,
    Point,
    interval_plot,
    nice_ticks,
    scatter_plot,
    shortened,
)

SVG = "{http://www.w3.org/2000/svg}"
LINES = [
    IntervalLine("Human <reader> & co", 0.9, 0.8, 1.0, 0.85, 0.95),
    IntervalLine("系统甲" * 12, 0.4, None, None, 0.3, 0.5),
    IntervalLine("alone", 0.2),
]


def test_an_interval_plot_draws_thick_and_thin_intervals_where_there_are_some():
    root = ElementTree.fromstring(interval_plot("HLS", LINES, axis="HLS", key="a"))
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
    root = ElementTree.fromstring(interval_plot("HLS", LINES, axis="HLS", key="a"))
    dots = [float(c.get("cx")) for c in root.iter(f"{SVG}circle")][1:]
    low, high = 14, 366
    assert dots == pytest.approx([low + (high - low) * (v - 0.2) / 0.8 for v in (0.9, 0.4, 0.2)])


def test_on_a_bounded_scale_the_axis_is_the_scale_and_what_runs_past_gets_an_arrow():
    lines = [IntervalLine("top", 0.9, 0.7, 1.2, 0.8, 0.99), IntervalLine("low", 0.1, -0.1, 0.3)]
    root = ElementTree.fromstring(interval_plot("HLS", lines, axis="a", key="k", ends=(0, 1)))
    ticks = [t.text for t in root.iter(f"{SVG}text") if t.get("class") == "plot-tick"]
    assert (ticks[0], ticks[-1]) == ("0", "1")
    thick = [p.get("d") for p in root.iter(f"{SVG}path") if p.get("class") == "interval-clustered"]
    assert ["L" in d for d in thick] == [False, True, True]  # the legend, and two arrows
    assert "H366" in thick[1]
    assert thick[2].startswith("M14.0 ")
    told = [t.text for t in root.iter(f"{SVG}text")]
    assert "0.900 [0.700, 1.000▸]" in told
    assert "0.100 [◂0.000, 0.300]" in told
    assert "top: 0.900, from 0.700 to 1.200 (runs past the scale)" in root.find(f"{SVG}desc").text
    alone = interval_plot("HLS", lines, axis="a", key="k", ends=(0, 1), standalone=True)
    assert "runs past the scale: few" in alone
    free = interval_plot("HLS", lines, axis="a", key="k", standalone=True)
    assert "▸" not in free
    assert "1.200" in free


def test_a_figure_has_title_description_and_unique_ids():
    for key in ("a", "b"):
        root = ElementTree.fromstring(interval_plot("HLS", LINES, axis="HLS axis", key=key))
        assert root.get("role") == "img"
        title, told = (root.find(f"{SVG}{name}") for name in ("title", "desc"))
        assert root.get("aria-labelledby") == f"{title.get('id')} {told.get('id')}"
        assert title.get("id").startswith(key)
        assert "Human <reader> & co: 0.900, from 0.800 to 1.000" in told.text
        assert "no clustered interval" in told.text


@pytest.mark.parametrize("standalone", [False, True])
def test_no_style_attribute_no_script_and_no_event_handler(standalone):
    points = [Point("x onload=1", 1, 2), Point("<script>", 2, 3)]
    for svg in (
        interval_plot("t", LINES, axis="a", key="k", standalone=standalone),
        scatter_plot("t", points, x="x", y="y", key="k", standalone=standalone),
    ):
        assert not re.search(r"<[^>]*\sstyle=", svg)
        assert "<script" not in svg
        assert not re.search(r"<[^>]*\son\w+=", svg)
        assert ("<style>" in svg) is standalone


def test_a_scatter_plot_numbers_its_points_and_lists_them():
    points = [Point(f"condition {n}", n, n**2) for n in range(1, 6)]
    root = ElementTree.fromstring(scatter_plot("t", points, x="SRMR", y="MOS", key="k"))
    told = [text.text for text in root.iter(f"{SVG}text")]
    in_points = [group.find(f"{SVG}text").text for group in root.iter(f"{SVG}g")]
    assert in_points == ["1", "2", "3", "4", "5"]
    assert "3  condition 3  (3, 9)" in told
    centres = [(float(c.get("cx")), float(c.get("cy"))) for c in root.iter(f"{SVG}circle")]
    assert centres == sorted(centres, key=lambda c: (c[0], -c[1]))


def test_plots_of_nothing_and_of_one_value_are_still_figures():
    for svg in (
        interval_plot("t", [], axis="a", key="k"),
        interval_plot("t", [IntervalLine("A", 3, 3, 3, 3, 3)], axis="a", key="k"),
        scatter_plot("t", [], x="x", y="y", key="k"),
        scatter_plot("t", [Point("A", 1, 1)], x="x", y="y", key="k"),
    ):
        ElementTree.fromstring(svg)
        assert "nan" not in svg.lower()


def test_control_characters_in_names_do_not_break_the_figure():
    ElementTree.fromstring(interval_plot("t", [IntervalLine("a\x00b\x1f", 1)], axis="a", key="k"))


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (1.2, 4.7, [1, 2, 3, 4, 5]),
        (-2.6, 2.9, [-4, -2, 0, 2, 4]),
        (0.121, 0.139, [0.12, 0.125, 0.13, 0.135, 0.14]),
    ],
)
def test_ticks_are_round_and_span_the_data(low, high, ticks):
    assert nice_ticks(low, high) == pytest.approx(ticks)


def test_long_names_are_shortened_by_their_width():
    assert shortened("short", 10) == "short"
    assert shortened("x" * 30, 10) == "x" * 9 + "…"
    assert shortened("汉" * 30, 10) == "汉" * 4 + "…"
