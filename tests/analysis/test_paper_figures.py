"""Figures for papers: vector with embedded fonts, sized for a column, the same bytes again."""

import io
import re
import struct
import zlib
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from fontTools.ttLib import TTFont
from matplotlib.font_manager import findfont, get_font

from analysis.report import second_process
from analysis.report.content import Figure
from analysis.report.figures import drawing, scene
from analysis.report.figures.draw import DRAWINGS
from analysis.report.figures.paper import (
    DOUBLE,
    SINGLE,
    missing_letters,
    panel_files,
    paper_files,
    sheet_for,
    width_for,
)
from tests.analysis.drawn import EVERY, HEATMAP, INTERVALS, LINES, NAUGHTY, SCRIPTS

ROOT = Path(__file__).resolve().parents[2]
SPACE = 3  # the glyph of DejaVu Sans, which marks of direction have too, without a width
HARD = [
    pytest.param(f, marks=[] if f.key in ("weird", "none") else pytest.mark.soak)
    for f in NAUGHTY
    if f.key in ("one", "weird", "holes", "none")
]


def png_size(content):
    """Pixels across and down, and pixels per metre."""
    width, height = struct.unpack(">II", content[16:24])
    place = content.index(b"pHYs") + 4
    return width, height, struct.unpack(">I", content[place : place + 4])[0]


def streams(content):
    """The streams of a PDF, unpacked."""
    found = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", content, re.DOTALL)
    return [zlib.decompress(s) if s[:1] == b"x" else s for s in found]


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
    made = panel_files([figure], ("pdf",))
    assert made["pdf"].startswith(b"%PDF")
    assert size_of(made)[1] < 20 * 72


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
    root = ElementTree.fromstring(paper_files(INTERVALS, 2.0)["svg"])
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
    many = size_of(panel_files([INTERVALS] * 8, ("pdf",)))
    assert many[0] == pytest.approx(DOUBLE * 72, abs=0.1)
    assert many[1] == pytest.approx(4 * two[1] / 2, abs=0.2)


@pytest.mark.medium
def test_letters_that_no_font_has_are_named():
    private = "\U0010fffd"
    assert missing_letters([INTERVALS]) == ""
    assert missing_letters([replace(INTERVALS, title=f"é {private}")]) == private
    assert missing_letters([named(*SCRIPTS.values())]) == ""


def named(*names):
    """A figure with a row for each name."""
    return replace(INTERVALS, rows=[{**INTERVALS.rows[0], "name": name} for name in names])


def glyphs(figure):
    """Font and number of each glyph but spaces, from left to right, by the text that is drawn."""
    svg = panel_files([figure], ("svg",))["svg"].decode()
    found = {}
    for words, drawn in re.findall(r"<!-- (.*?) -->(.*?)</g>\s*</g>", svg, re.DOTALL):
        used = re.findall(r'href="#(\S+)-(\w+)"(?: transform="translate\(([-\d.]+))?', drawn)
        placed = sorted((float(x or 0), font, int(number, 16)) for font, number, x in used)
        shown = [(font, number) for _, font, number in placed if number != SPACE]
        found[re.sub("[\u2068\u2069]", "", words)] = shown
    return found


def glyph_numbers(words, family="DejaVu Sans"):
    """The glyphs of the letters on their own, from the first to the last."""
    font = get_font(findfont(family))
    return [font.get_char_index(ord(letter)) for letter in words]


@pytest.mark.medium
def test_names_in_every_script_are_drawn_with_glyphs_of_a_font():
    drawn = glyphs(named(*SCRIPTS.values()))
    for script, name in SCRIPTS.items():
        assert drawn[name], script
        assert 0 not in [number for _, number in drawn[name]], script  # 0 is the box, .notdef
        assert drawn[name] != drawn["HLS"]
    assert {font for font, _ in drawn[SCRIPTS["Korean"]]} >= {"NotoSansCJKsc-Regular"}


@pytest.mark.medium
def test_hebrew_and_arabic_names_run_from_right_to_left():
    hebrew, arabic = "אנושי", "بشري"
    drawn = glyphs(named(hebrew, arabic))
    assert [number for _, number in drawn[hebrew]] == glyph_numbers(hebrew)[::-1]
    joined = "\ufe91\ufeb8\ufeae\u064a"  # beh and sheen open a word, reh ends one, yeh alone
    assert [number for _, number in drawn[arabic]] == glyph_numbers(joined)[::-1]


@pytest.mark.medium
def test_a_right_to_left_name_moves_nothing_that_stands_beside_it():
    hebrew = "אנושי"
    rows = [{"name": hebrew, "value": 0.5, "role": "reference"}]
    drawn = glyphs(replace(INTERVALS, rows=rows))
    (shown,) = [numbers for words, numbers in drawn.items() if hebrew in words]
    seen = [number for _, number in shown if number in glyph_numbers(f"{hebrew}(ref.)")]
    assert seen == [*glyph_numbers(hebrew)[::-1], *glyph_numbers("(ref.)")]
    rows = [{"name": hebrew, "x": 0, "y": 0}, {"name": "B", "x": 1, "y": 1}]
    drawn = glyphs(Figure("k", "t", "scatter", rows, x="x", y="y"))
    (shown,) = [numbers for words, numbers in drawn.items() if hebrew in words]
    assert shown[0][1] == glyph_numbers("1")[0]


@pytest.mark.medium
def test_the_first_name_of_a_difference_stays_on_the_left_of_the_minus():
    for first, second in (("אב", "B"), ("אב", "גד"), ("B", "אב")):
        difference = f"{first} − {second}"
        shown = [number for _, number in glyphs(named(difference))[difference]]
        left, right = (
            glyph_numbers(each[::-1] if each > "a" else each) for each in (first, second)
        )
        assert shown == [*left, *glyph_numbers("−"), *right]


@pytest.mark.slow
def test_a_pdf_embeds_the_outlines_of_every_script_and_no_box():
    shapes = paper_files(named(*SCRIPTS.values()))["pdf"]
    outlines = re.findall(rb"<< ((?:/\S+ \d+ 0 R\s*)+)>>", shapes)
    assert b"CJK" in shapes
    assert any(b"/uni0E17 " in names for names in outlines)
    assert not any(b"/.notdef" in names for names in outlines)
    kept = paper_files(named(SCRIPTS["Thai"], SCRIPTS["Hindi"]))["pdf"]
    assert b"/Type3" not in kept  # TrueType, as publishers want
    fonts = [TTFont(io.BytesIO(s)) for s in streams(kept) if s.startswith(b"\0\1\0\0")]
    letters = set().union(*(font.getBestCmap() or () for font in fonts))
    tone = "\u0e48"  # has other outlines above a vowel
    assert {ord(letter) for letter in SCRIPTS["Thai"] if letter not in (" ", tone)} <= letters


@pytest.mark.medium
def test_words_are_as_wide_as_their_shaped_glyphs():
    sheet = sheet_for(named(*SCRIPTS.values()))
    assert sheet.columns("系统甲") == pytest.approx(6, abs=0.2)  # an em each
    assert sheet.columns("ที่") == pytest.approx(sheet.columns("ท"), abs=0.1)  # marks above it
    assert sheet.shortened("ที่" * 9, 6)[-2:] != "ท…"  # no letter loses its marks


@pytest.mark.slow
@pytest.mark.parametrize("fails", [False, True])
def test_a_second_process_draws_the_same_files_and_its_failure_costs_only_time(
    fails: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drawing, "FEWEST", 2)
    monkeypatch.setattr(drawing, "has_two_cores", lambda: True)
    monkeypatch.setenv("PYTHONHASHSEED", "12345")  # of the other process: not that of this one
    titles = {"One": INTERVALS, "Two": LINES, "Three": INTERVALS}
    figures = [replace(figure, title=title) for title, figure in titles.items()]
    here: list[str] = []

    def draw(figure: Figure, width_in: float | None) -> dict[str, bytes]:
        here.append(figure.title)
        return paper_files(figure, width_in)

    monkeypatch.setattr(drawing, "paper_files", draw)
    if fails:
        monkeypatch.setattr(second_process.sys, "executable", "/bin/false")
    with drawing.drawing(figures, SINGLE) as files_at:
        made = [files_at(place) for place in range(3)]
    assert here == (["One", "Two", "Three"] if fails else ["One"])
    assert made == [paper_files(figure, SINGLE) for figure in figures]
