"""Groups of rows, the best and the second best of a column: the same in every writer."""

from typing import Any

import pytest

from analysis.report.content import Column, Content, Table, content_from
from analysis.report.emphasis import BEST, SECOND, UNRANKED, marks_of, with_best
from analysis.report.html.brief import brief_part
from analysis.report.html.part_html import table_html
from analysis.report.pipeline import plain_of
from analysis.report.writers.latex import latex_table
from analysis.report.writers.markdown import table_markdown
from analysis.report.writers.paper_tables import NamedTable

ROWS = [
    {"system": "Real <1>", "voice": "human", "mos": 4.9, "wer": 0.0, UNRANKED: True},
    {"system": "One", "voice": "a", "mos": 4.1, "wer": 12.5},
    {"system": "One", "voice": "b", "mos": 4.2, "wer": None},
    {"system": "Two", "voice": "c", "mos": 4.2004, "wer": 3.0},
]
COLUMNS = (Column("voice", "Voice"), Column("mos", "MOS", "number"), Column("wer", "WER", "number"))
MARKED = with_best(ROWS, ["mos", "wer"], lowest=["wer"])
TABLE = Table("t", "Means", COLUMNS, MARKED, group="system")


def test_numbers_that_are_equal_as_printed_share_a_mark_and_what_is_beside_has_none() -> None:
    assert [row.get("mos_mark") for row in MARKED] == [None, SECOND, BEST, BEST]
    assert [row.get("wer_mark") for row in MARKED] == [None, SECOND, None, BEST]
    assert "mos_mark" not in with_best(ROWS[:2], ["mos"])[1]  # the best of one
    assert marks_of({"a": 1.0, "b": 3.0, "c": 2.0, "d": 3.0}) == {"b": BEST, "d": BEST, "c": SECOND}


@pytest.mark.parametrize("most", [None, 4])
def test_html_has_groups_as_headings_and_marks_as_elements(most: int | None) -> None:
    shown = TABLE
    if most:  # as a page stores it
        part: Any = {"key": "t", "version": "1", "title": "T", "problem": ""}
        part |= plain_of(Content(tables=[TABLE]).plain())
        shown = content_from(brief_part(part, most)).tables[0]
    made = table_html(shown)
    assert made.count('<th scope="rowgroup" colspan="3">') == 3
    assert '<th scope="rowgroup" colspan="3">Real &lt;1&gt;</th>' in made
    assert "<strong>4.200</strong>" in made
    assert "<u>4.100</u>" in made
    assert '<td class="number">4.900</td>' in made


def test_latex_has_groups_as_headings_and_marks_as_commands() -> None:
    made = latex_table(NamedTable("t", TABLE))
    assert "\\multicolumn{3}" in made
    assert "{\\itshape One}" in made
    assert "\\textbf{4.200}" in made
    assert "\\underline{12.500}" in made


def test_markdown_has_groups_and_marks() -> None:
    made = table_markdown(TABLE)
    assert "| **One** |   |   |" in made
    assert "**4.200**" in made
    assert "<u>4.100</u>" in made


def test_reports_of_before_have_no_groups() -> None:
    plain = Content(tables=[TABLE]).plain()
    assert content_from(plain).tables[0].group == "system"
    del plain["tables"][0]["group"]
    assert content_from(plain).tables[0].group == ""
    assert content_from(plain).tables[0].grouped()[0][0] == ""
