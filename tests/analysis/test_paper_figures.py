"""Figures for papers: vector with embedded fonts, sized for a column, the same bytes again."""

import hashlib
import os
import re
import struct
import subprocess
import sys
import zlib
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from matplotlib.font_manager import FontProperties, findfont, get_font

from analysis.report.content import Figure
from analysis.report.figures import scene
from analysis.report.figures.draw import DRAWINGS
from analysis.report.figures.paper import (
    DOUBLE,
    SINGLE,
    fonts,
    missing_letters,
    panel_files,
    paper_files,
    sheet_for,
    width_for,
)
from tests.analysis.drawn import CHINESE, EVERY, HEATMAP, INTERVALS, NAUGHTY

ROOT = Path(__file__).resolve().parents[2]
WIDE = frozenset(CHINESE) - {" "}
HARD = [f for f in NAUGHTY if f.key in ("one", "weird", "holes", "none")]


def png_size(content):
    """Pixels across and down, and pixels per metre."""
    width, height = struct.unpack(">II", content[16:24])
    place = content.index(b"pHYs") + 4
    return width, height, struct.unpack(">I", content[place : place + 4])[0]


def pdf_streams(content):
    found = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", content, re.DOTALL)
    return b"".join(zlib.decompress(s) if s[:1] == b"x" else s for s in found)


@pytest.mark.slow
@pytest.mark.parametrize("figure", EVERY, ids=lambda figure: figure.drawing)
def test_every_drawing_is_a_vector_figure_of_one_column_and_a_sharp_picture(figure):
    figure = replace(figure, rows=[row for row in figure.rows if row.get("column") != "多音字"])
    made = paper_files(figure)
    assert set(made) == {"pdf", "svg", "png"}
    box = re.search(rb"/MediaBox ?\[ ?0 0 ([\d.]+) ([\d.]+)", made["pdf"])
    assert float(box[1]) == pytest.approx(SINGLE * 72, abs=0.1)
    assert b"/FontFile2" in made["pdf"]  # the outlines of a TrueType font are in the file
    assert b"/CIDFontType2" in made["pdf"]  # fonttype 42, none of type 3
    assert b"/Type3" not in made["pdf"]
    assert b"/Subtype /Image" not in made["pdf"]
    root = ElementTree.fromstring(made["svg"])
    assert root.get("width") == f"{SINGLE * 72:g}pt"
    assert not list(root.iter("{http://www.w3.org/2000/svg}image"))
    width, _, per_metre = png_size(made["png"])
    assert width == pytest.approx(SINGLE * 300, abs=1)
    assert per_metre == pytest.approx(300 / 0.0254, abs=1)
    for content in made.values():
        assert not re.search(rb"CreationDate|dc:date|tIME", content)


@pytest.mark.slow
@pytest.mark.parametrize("figure", HARD, ids=lambda figure: f"{figure.drawing}-{figure.key}")
def test_hostile_names_holes_and_single_values_make_a_figure(figure):
    made = paper_files(figure)
    assert made["pdf"].startswith(b"%PDF")
    assert png_size(made["png"])[1] < 20 * 300


@pytest.mark.slow
def test_what_does_not_fit_one_column_takes_two():
    rows = [{"row": "a", "column": str(n), "value": n} for n in range(12)]
    many = Figure("k", "t", "heatmap", rows)
    assert (width_for(many), width_for(HEATMAP)) == (DOUBLE, SINGLE)
    wide = paper_files(INTERVALS, DOUBLE)["pdf"]
    assert f"/MediaBox [ 0 0 {DOUBLE * 72:g} ".encode() in wide


def texts(marks):
    for mark in marks:
        if isinstance(mark, scene.Group):
            yield from texts(mark.marks)
        elif isinstance(mark, scene.Text) and mark.words.strip():
            yield mark


@pytest.mark.parametrize("width", [SINGLE, DOUBLE])
@pytest.mark.parametrize("figure", NAUGHTY, ids=lambda figure: f"{figure.drawing}-{figure.key}")
@pytest.mark.medium
def test_words_fit_the_sheet_and_stand_clear_of_each_other(figure, width):
    sheet = sheet_for(figure, width)
    laid_out = DRAWINGS[figure.drawing](figure, sheet)
    assert laid_out.width == sheet.width
    boxes = []
    for text in texts(laid_out.marks):
        wide = sheet.columns(text.words) * text.size / 2
        assert 0 < text.y < laid_out.height
        if text.turn:
            assert text.x + wide / 2 <= sheet.width
            assert text.y >= 0.86 * wide
        elif text.name != "plot-number":  # a number is as near as its point is to others
            left = text.x - {"middle": wide / 2, "end": wide}.get(text.anchor, 0)
            left = max(min(left, sheet.width - wide), 0)  # the rendering keeps it on the sheet
            assert left + wide <= sheet.width + 0.01
            boxes.append((left, text.y - 0.7 * text.size, left + wide, text.y))
    clear = [
        one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
        for at, one in enumerate(boxes)
        for other in boxes[at + 1 :]
    ]
    assert all(clear)


@pytest.mark.slow
def test_a_figure_of_any_width_is_as_wide_as_wanted():
    for figure in EVERY:
        root = ElementTree.fromstring(paper_files(figure, 2.0)["svg"])
        assert root.get("width") == "144pt"


def size_of(made):
    box = re.search(rb"/MediaBox ?\[ ?0 0 ([\d.]+) ([\d.]+)", made["pdf"])
    return float(box[1]), float(box[2])


@pytest.mark.slow
def test_several_figures_are_one_below_the_other_and_in_two_columns_where_a_page_ends():
    width, height = size_of(panel_files([INTERVALS], ("pdf",)))
    assert (width, height) == size_of(paper_files(INTERVALS, SINGLE))
    two = size_of(panel_files([INTERVALS] * 2, ("pdf",)))
    assert two[0] == pytest.approx(width)
    assert two[1] > 2 * height + 20  # their titles
    many = size_of(panel_files([INTERVALS] * 12, ("pdf",)))
    assert many[0] == pytest.approx(DOUBLE * 72, abs=0.1)
    assert many[1] == pytest.approx(6 * two[1] / 2, abs=0.2)


@pytest.mark.slow
def test_letters_that_no_font_has_are_named():
    tamil = "\u0b95"
    assert missing_letters([INTERVALS]) == ""
    assert missing_letters([replace(INTERVALS, title=f"é {tamil}")]) == tamil
    assert (missing_letters([replace(INTERVALS, x=CHINESE)]) == "") is (len(fonts(WIDE)) > 1)


@pytest.mark.slow
def test_names_in_chinese_are_letters_where_there_is_a_font_for_them():
    figure = replace(INTERVALS, rows=[{**INTERVALS.rows[0], "name": CHINESE}])
    made = paper_files(figure)
    if len(fonts(WIDE)) > 1:
        assert b"/Type3" in made["pdf"]  # outlines of the letters, as shapes
        assert sheet_for(figure).columns(CHINESE) >= 2 * len(CHINESE) - 1  # an em each, measured
        assert b"CJK" in made["pdf"]


@pytest.mark.slow
def test_names_that_are_read_from_right_to_left_are_drawn_so():
    first, second = "\u05d0\u05d1"  # alef and bet of Hebrew, in the order of reading
    figure = replace(INTERVALS, rows=[{**INTERVALS.rows[0], "name": first + second}])
    drawn = paper_files(figure)["svg"].decode().partition(f"<!-- {first}{second} -->")[2]
    glyphs = re.findall(r'<use xlink:href="#DejaVuSans-(\w+)"', drawn.partition("</g>")[0])
    font = get_font(findfont(FontProperties(family=["DejaVu Sans"])))
    from_the_left = [font.get_char_index(ord(letter)) for letter in (second, first)]
    assert [int(glyph, 16) for glyph in glyphs] == from_the_left


@pytest.mark.slow
def test_a_figure_has_the_same_bytes_in_another_process():
    code = (
        "import hashlib; from tests.analysis.drawn import LINES as f;"
        "from analysis.report.figures.paper import paper_files;"
        "print(hashlib.sha256(b''.join(paper_files(f).values())).hexdigest())"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "12345"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, env=environment
    )
    assert done.returncode == 0, done.stderr
    here = hashlib.sha256(b"".join(paper_files(EVERY[2]).values())).hexdigest()
    assert done.stdout.strip() == here
