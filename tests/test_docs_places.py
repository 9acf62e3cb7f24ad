"""The pages on architecture and blindness name files that there are."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
WITHIN = (
    "",
    "analysis/",
    "listening/",
    "metrics/",
)  # a page that speaks of a room leaves its name out


@pytest.mark.parametrize(("page", "least"), [("blindness.md", 20), ("architecture.md", 30)])
def test_every_place_that_a_page_names_is_there(page, least):
    text = (ROOT / "docs" / page).read_text()
    places = re.findall(r"`((?:\w+/)+[\w.]*)`", text)
    assert len(places) > least
    missing = [p for p in places if not any((ROOT / room / p).exists() for room in WITHIN)]
    assert missing == []


def test_every_name_on_blindness_stands_in_the_file_beside_it():
    text = (ROOT / "docs" / "blindness.md").read_text()
    named = re.findall(r"`(\w+)` in `([\w/.]+)`", text)
    assert len(named) > 3
    assert [each for each in named if each[0] not in (ROOT / each[1]).read_text()] == []


def test_no_page_says_a_heading_or_a_row_of_a_table_twice():
    """Merges of lists that grew on both sides leave such pairs; a heading stands after a blank."""
    for page in (ROOT / "docs").glob("*.md"):
        text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
        headings = re.findall(r"^## .+$", text, flags=re.MULTILINE)
        assert len(headings) == len(set(headings)), page.name
        assert not re.search(r"\S\n## ", text), page.name
        for table in re.findall(r"(?:^\|.+\n)+", text, flags=re.MULTILINE):
            links = re.findall(r"^\| (\[.+?\]\(.+?\)) \|", table, flags=re.MULTILINE)
            assert len(links) == len(set(links)), page.name
