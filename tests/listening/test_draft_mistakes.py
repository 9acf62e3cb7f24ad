"""What the pages of a draft say of mistakes and risks: in fields and files, with a link."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from listening.audio import Facts
from listening.design.draft_fields import FIELDS as CHANGED
from listening.design.studyfile.problems import Mistake, Problem
from listening.drafts.sounds import mark, offered_roles
from listening.studies.design_findings import address_findings
from listening.studies.sound_findings import MeasuredClip, sound_findings
from listening.web.researcher.draft_mistakes import FIELDS, PAGES, shown_mistakes

TEMPLATES = Path(__file__).resolve().parents[2] / "templates" / "researcher"
TOP = {"tasks": [{"key": "mos", "title": "How natural?"}, {"key": "ab"}]}
ROWS = [{"file": "audio/vits/s1.wav"}, {"file": "audio/vits/s2.wav"}]
SAID = {
    "tasks[2].block_size": ("draft-raters", "task “ab”, Screens in a block, traps apart", "b1"),
    "tasks[1].criteria[1].question": ("draft-questions", "task “How natural?”, Question", "t0-c0"),
    "tasks[1].traps.kinds[1].count": ("draft-raters", "task “How natural?”, Traps in a set", "tp0"),
    "tasks[1].options.step": (
        "draft-questions",
        "task “How natural?”, Steps of the scale",
        "t0-step",
    ),
    "study.translations.de.title": ("draft-raters", "Further languages", ""),
    "study.texts.consent": ("draft-raters", "Consent", "consent"),
    "study.loudness_lufs": ("draft", "One loudness for all, in LUFS", "loudness"),
    "study.key": ("draft-review", "Key", "key"),
    "conditions[1].key": ("draft", "Condition", "systems"),
    "of.no.page": ("draft-review", "", ""),
}


@pytest.mark.parametrize("place", SAID)
def test_a_place_of_the_folder_is_said_as_page_and_field(place: str) -> None:
    problem = Problem("study.toml", place, "It is wrong.", "Change it.")
    (shown,) = shown_mistakes([Mistake(problem, ())], TOP, ROWS)
    assert (shown.page, shown.field, shown.anchor) == SAID[place]
    assert shown.page_name == PAGES[shown.page]
    assert shown.words == "It is wrong. Change it."


def test_a_row_of_the_table_is_said_as_its_file() -> None:
    problem = Problem("stimuli.csv", "text", "It is empty.", "", 3)
    (shown,) = shown_mistakes([Mistake(problem, (3,))], TOP, ROWS)
    assert (shown.page, shown.field) == ("draft", "“audio/vits/s2.wav”")


def test_every_anchor_is_an_id_of_its_page() -> None:
    pages = "".join(path.read_text("utf-8") for path in TEMPLATES.glob("*draft*.html"))
    pages += "".join(path.read_text("utf-8") for path in TEMPLATES.glob("_sounds*.html"))
    ids = {re.sub(r"\{\{ n \}\}", "{n}", each) for each in re.findall(r'id="([^"]+)"', pages)}
    ids |= {"welcome", "consent", "contact", "end", "debrief", "comment_prompt"}  # {{ text.key }}
    ids |= {"t{n}-c0"}  # {{ criterion.place }}
    anchors = {anchor for *_, anchor in FIELDS if anchor and not anchor.startswith("code-")}
    assert anchors <= ids


def test_every_field_that_pages_change_has_its_page() -> None:
    """A name such as tasks.0.title is tasks[1].title where it is wrong."""
    for name in CHANGED:
        place = re.sub(r"^tasks\\\.\\d\+", "tasks[1]", name).replace("\\.", ".")
        place = re.sub(r"\((\w+)\|.*?\)", r"\1", place)
        if place.startswith(("tasks[", "study.")):
            pages = [page for pattern, page, *_ in FIELDS if re.fullmatch(pattern, place)]
            assert pages, name


def facts(rate_hz: int) -> Facts:
    return Facts("ab", 1000, "WAV", "PCM_16", rate_hz, 1, 2.0, -3.0, -23.0, 0.0, 0.0, 0.0)


def test_one_clip_of_a_low_rate_is_named() -> None:
    clips = [MeasuredClip(f"s{n}", facts(24_000)) for n in range(9)]
    assert not list(sound_findings(clips))
    (found,) = sound_findings([*clips, MeasuredClip("odd", facts(8_000))])
    assert "1 of 10 clips have 8,000 Hz" in found.what
    assert "“odd”" in found.what
    assert "above 4 kHz" in found.what
    assert not list(sound_findings([MeasuredClip(f"s{n}", facts(8_000)) for n in range(9)]))


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://127.0.0.1:8000", "on this machine only"),
        ("http://[::1]:8000", "on this machine only"),
        ("http://localhost:8000", "on this machine or in its network only"),
        ("http://192.168.1.20:8000", "in its own network only"),
        ("http://labserver", "in its own network only"),
        ("https://listen.example.org", ""),
        ("https://uni.example.org/earnest", ""),
    ],
)
def test_an_address_that_raters_cannot_open_is_warned_of(
    url: str, said: str, settings: Any
) -> None:
    settings.EARNEST_PUBLIC_URL = url
    found = " ".join(map(str, address_findings()))
    assert (said in found) if said else not found


@pytest.mark.parametrize("method", ["mos", "cmos", "mushra"])
def test_traps_are_offered_where_they_work(method: str) -> None:
    top: dict[str, Any] = {"tasks": [{"key": "t", "method": method}]}
    rows = [{"condition": "a", "item": "i", "file": "a/i.wav"}]
    works = method == "mos"
    assert ("trap" in offered_roles(top, rows)) == works
    mark(top, rows, "a", "trap")
    assert bool(rows[0].get("trap")) == works
