"""The pages on security have a line for every requirement, count them, and name real files."""

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TEXT = "".join((ROOT / "docs" / name).read_text() for name in ("security.md", "asvs.md"))
ROW = re.compile(r"^\| (\d+\.\d+\.\d+) \| ([12]) \| ([a-z ]+) \| (.+?) \| (.+) \|$", re.M)
ROWS = ROW.findall(TEXT)
STATES = ("met", "not met", "operator", "not applicable")
# How many requirements of levels 1 and 2 each section of ASVS 5.0.0 has, and which of its numbers
# are of level 3 and left out.
SECTIONS = """1.1:2 1.2:9 1.3:11 1.4:3 1.5:2 2.1:3 2.2:3 2.3:4 2.4:1 3.2:2 3.3:4 3.4:6 3.5:5 3.7:2
4.1:3 4.2:1 4.3:2 4.4:4 5.1:1 5.2:3 5.3:2 5.4:3 6.1:3 6.2:12 6.3:4 6.4:4 6.5:5 6.6:3 6.8:4 7.1:3
7.2:4 7.3:2 7.4:5 7.5:2 7.6:2 8.1:2 8.2:3 8.3:1 8.4:1 9.1:3 9.2:4 10.1:2 10.2:2 10.3:4 10.4:11
10.5:5 10.6:2 10.7:3 11.1:2 11.2:3 11.3:3 11.4:4 11.5:1 11.6:1 12.1:3 12.2:2 12.3:4 13.1:1 13.2:5
13.3:2 13.4:5 14.1:2 14.2:4 14.3:3 15.1:3 15.2:3 15.3:7 16.1:1 16.2:5 16.3:4 16.4:3 16.5:3 17.1:1
17.2:4 17.3:2"""


def test_every_requirement_has_one_line():
    asked = [each.split(":") for each in SECTIONS.split()]
    expected = [f"{section}.{n}" for section, most in asked for n in range(1, int(most) + 1)]
    assert [row[0] for row in ROWS] == expected
    assert Counter(row[1] for row in ROWS) == {"1": 70, "2": 183}
    assert {row[2] for row in ROWS} == set(STATES)


def test_the_summary_counts_right_and_names_what_is_not_met():
    for state in STATES:
        of_level = [sum((row[1], row[2]) == (level, state) for row in ROWS) for level in "12"]
        assert f"| {state} | {of_level[0]} | {of_level[1]} | {sum(of_level)} |" in TEXT
    listed = re.findall(r"^- \*\*([\d.]+)\*\* \(level (\d)\)", TEXT, re.M)
    not_met = [(row[0], row[1]) for row in ROWS if row[2] == "not met"]
    assert sorted(listed) == sorted(not_met)


def test_every_place_is_there():
    places = re.findall(r"`((?:\w+/)+[\w.]*|[\w-]+\.(?:txt|json|md))`", TEXT)
    named = [place for place in places if not place.startswith(("EARNEST", "researcher-login"))]
    assert len(named) > 120
    assert [place for place in named if not (ROOT / place).exists()] == []


def test_every_name_stands_in_the_file_beside_it():
    named = re.findall(r"`(\w+)` in `([\w/.]+\.py)`", TEXT)
    assert len(named) > 5
    assert [each for each in named if each[0] not in (ROOT / each[1]).read_text()] == []


def test_every_link_is_there():
    for page, anchor in re.findall(r"\]\(([\w./-]+\.md)(?:#([\w-]+))?\)", TEXT):
        text = (ROOT / "docs" / page).read_text()
        titles = re.findall(r"^#+ (.+)$", text, re.M)
        anchors = {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}
        assert not anchor or anchor in anchors, (page, anchor)
