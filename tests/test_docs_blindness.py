"""The page on blindness names code and tests that there are."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs/blindness.md").read_text()


def test_every_place_that_the_page_names_is_there():
    places = re.findall(r"`((?:listening|config|tests)/[\w./]+)`", PAGE)
    assert len(places) > 20
    assert [place for place in places if not (ROOT / place).exists()] == []


def test_every_name_stands_in_the_file_beside_it():
    named = re.findall(r"`(\w+)` in `([\w/.]+)`", PAGE)
    assert len(named) > 3
    assert [each for each in named if each[0] not in (ROOT / each[1]).read_text()] == []
