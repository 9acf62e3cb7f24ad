"""What the pages of a draft say of mistakes and risks: in fields and files, with a link."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from listening.audio import Facts
from listening.checks.check import check_named, names_of
from listening.design.draft_context import rated_rows
from listening.design.draft_fields import fields_of_table, put
from listening.design.draft_questionnaires import (
    add_form,
    add_question,
    choose_kind,
    choose_rule,
    move,
    remove,
)
from listening.design.draft_toml import KINDS, Table, begun, fit_to
from listening.design.presets import presets
from listening.design.studyfile import CSV, TOML, mistakes, read_folder
from listening.design.studyfile.problems import Mistake, Problem
from listening.design.studyfile.writer import rows_text
from listening.drafts.sounds import mark, offered_roles
from listening.studies.design_findings import address_findings
from listening.studies.sound_findings import MeasuredClip, sound_findings
from listening.web.researcher.draft_mistakes import ShownMistake, shown_mistakes
from listening.web.researcher.draft_places import (
    CONTROLS,
    NEAR,
    PAGES,
    further_fields,
    has_control,
)
from tests.listening.test_findings_words import of_a_folder

TEMPLATES = Path(__file__).resolve().parents[2] / "templates" / "researcher"
TOP = {
    "tasks": [
        {"key": "mos", "title": "How natural?"},
        {"key": "ab", "criteria": [{"key": "a"}, {"key": "b"}]},
    ]
}
ROWS = [{"file": "audio/vits/s1.wav"}, {"file": "audio/vits/s2.wav"}]
SAID = {
    "tasks[2].block_size": ("draft-raters", "task “ab”, Screens in a block, traps apart", "b1"),
    "tasks[1].criteria[1].question": ("draft-questions", "task “How natural?”, Question", "t0-c0"),
    "tasks[2].criteria[2].options.names": (
        "draft-questions",
        "task “ab”, question 2, Words at answers",
        "t1-c1-names",
    ),
    "tasks[1].traps.kinds[1].count": ("draft-raters", "task “How natural?”, Traps in a set", "tp0"),
    "tasks[1].options.step": (
        "draft-questions",
        "task “How natural?”, Steps of the scale",
        "t0-step",
    ),
    "study.seed": ("draft-raters", "Seed", "study-seed"),
    "study.payment.per_clip": ("draft-raters", "Pay per clip", "study-payment-per_clip"),
    "study.translations.de.title": ("draft-raters", "Further languages", ""),
    "study.texts.consent": ("draft-raters", "Consent", "consent"),
    "study.loudness_lufs": ("draft", "One loudness for all, in LUFS", "loudness"),
    "study.key": ("draft-review", "Key", "key"),
    "conditions[1].key": ("draft", "Condition", "systems"),
}


@pytest.mark.parametrize("place", SAID)
def test_a_place_of_the_folder_is_said_as_page_and_field(place: str) -> None:
    problem = Problem("study.toml", place, "It is wrong.", "Change it.")
    (shown,) = shown_mistakes([Mistake(problem, ())], TOP, ROWS)
    assert (shown.page, shown.field, shown.anchor) == SAID[place]
    assert shown.page_name == PAGES[shown.page]
    assert shown.words == "It is wrong. Change it."


def test_what_no_page_changes_is_said_as_its_place_in_the_file_to_upload_again() -> None:
    problem = Problem("study.toml", "of.no[2].page", "It is wrong.", "Change it.")
    (shown,) = shown_mistakes([Mistake(problem, ())], TOP, ROWS)
    assert (shown.page, shown.anchor) == ("draft", "add")
    assert shown.field == "study.toml, of.no[2].page"
    assert shown.words == (
        "It is wrong. Change it. No page changes this. Correct it in your study.toml and upload "
        "that here again."
    )


def test_a_row_of_the_table_is_said_as_its_file() -> None:
    problem = Problem("stimuli.csv", "text", "It is empty.", "", 3)
    (shown,) = shown_mistakes([Mistake(problem, (3,))], TOP, ROWS)
    assert (shown.page, shown.field) == ("draft", "“audio/vits/s2.wav”")


def test_every_anchor_is_an_id_of_its_page() -> None:
    pages = "".join(path.read_text("utf-8") for path in TEMPLATES.glob("*draft*.html"))
    pages += "".join(path.read_text("utf-8") for path in TEMPLATES.glob("_sounds*.html"))
    ids = {re.sub(r"\{\{ n \}\}", "{n}", each) for each in re.findall(r'id="([^"]+)"', pages)}
    ids = {each.replace("{{ criterion.place }}", "{c}") for each in ids} | {"t{n}-c0"}
    ids = {each.replace("q{{ each.id }}", "q{n}-{q}") for each in ids}
    ids |= {"q{n}-{q}-{key}", "q{n}-{key}"}  # each of their fields has one
    ids |= {
        "consent",
        "{key}",
        "e-{key}",
        "code-{key}",
        "stop-{key}",
    }  # {{ text.key }}, {{ field.name }}, {{ code.key }}, {{ field.anchor }}
    assert {anchor for *_, anchor in (*CONTROLS, *NEAR) if anchor} <= ids


BY_SOUNDS = {"tasks.0.conditions", "tasks.0.dimensions", "tasks.0.allow_missing"}


def test_every_field_has_one_control_in_a_template_or_among_further_settings() -> None:
    """A name in a template such as study.texts.{{ text.key }} stands for every key there."""
    pages = "".join(path.read_text("utf-8") for path in TEMPLATES.glob("*.html"))
    named = {
        "[^.]+".join(map(re.escape, re.split(r"\{\{.*?\}\}", name)))
        for name in re.findall(r'data-field="([^"{][^"]*)"', pages)
    }
    further = {field.name for field in (*further_fields(), *further_fields(0))}
    assert {"study.seed", "study.publication.audio_licence"} <= further
    tables = ("texts", "completion_codes", "publication", "ethics", "payment")
    paths = {"study": "study", "tasks": "tasks.0"} | {f"study.{t}": f"study.{t}" for t in tables}
    for path, prefix in paths.items():
        for field in fields_of_table(path, prefix):
            in_template = any(re.fullmatch(pattern, field.name) for pattern in named)
            assert has_control(field.name) != (field.name in further), field.name
            assert in_template == has_control(field.name) or field.name in BY_SOUNDS, field.name


def facts(rate_hz: int) -> Facts:
    return Facts("ab", 1000, "WAV", "PCM_16", rate_hz, 1, 2.0, -3.0, -23.0, 0.0, 0.0, 0.0)


def test_one_clip_of_a_low_rate_is_named() -> None:
    clips = [MeasuredClip(f"s{n}", facts(24_000)) for n in range(9)]
    assert not list(sound_findings(clips))
    (found,) = sound_findings([*clips, MeasuredClip("odd", facts(8_000))])
    assert "1 of 10 clips have 8,000 Hz" in found.what
    assert "“odd”" in found.what
    assert "above 4 kHz" in found.what
    low = [MeasuredClip(f"low{rate}", facts(rate)) for rate in (8_000, 11_025)]
    (found,) = sound_findings([*clips, *low])
    assert "2 of 11 clips have 8,000 or 11,025 Hz" in found.what
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


@pytest.mark.parametrize("method", ["mos", "dcr", "smos", "speaker_similarity"])
def test_prompts_are_offered_where_they_are_heard(method: str) -> None:
    top: dict[str, Any] = {"tasks": [{"key": "t", "method": method}]}
    rows = [{"condition": "voice", "item": "i", "file": "voice/i.wav"}]
    heard = method in ("smos", "speaker_similarity")
    assert ("prompt" in offered_roles(top, rows)) == heard
    mark(top, rows, "voice", "prompt")
    assert (top["conditions"][0].get("role") == "prompt") == heard


# --- Wrong values, typed into the fields of the editor --------------------------------------------

TYPED = ("", "many", "0", "99999", "two\x07words", "x" * 20_001)
TABLES = {  # of the schema -> the first of them on the pages of the drafts below
    "study": "study",
    "study.texts": "study.texts",
    "study.completion_codes": "study.completion_codes",
    "study.publication": "study.publication",
    "study.ethics": "study.ethics",
    "study.payment": "study.payment",
    "study.translations.*": "study.translations.de",
    "study.translations.*.texts": "study.translations.de.texts",
    "study.checks": "checks.huggins",
    "sources": "sources.link",
    "questionnaires": "questionnaires.0",
    "questionnaires.questions": "questionnaires.0.questions.0",
    "tasks": "tasks.0",
    "tasks.criteria": "tasks.0.criteria.0",
    "tasks.options": "tasks.0.options",
    "tasks.justification": "tasks.0.justification",
    "tasks.traps": "tasks.0.traps",
    "tasks.traps.kinds": "tasks.0.traps.kinds.0",
    "tasks.translations.*": "tasks.0.translations.de",
    "tasks.translations.*.justification": "tasks.0.translations.de.justification",
    "tasks.translations.*.criteria.*": "tasks.0.translations.de.criteria.naturalness",
}
SHOWN = {  # of tables whose pages do not show every field
    "sources": {"quota", "title"},
    "study.checks": set(names_of(check_named("huggins"))),
    "questionnaires.questions": {"question", "help", "low", "high"},
    "tasks.options": {"points", "step", "reach", "versus", "reference"},
    "tasks.traps.kinds": {"count", "pass_at_least", "expected"},
    "tasks.translations.*.justification": {"prompt"},
}


def typed_fields() -> Iterator[str]:
    """Each field that a page lets people type into, in the first task, check and source."""
    for path, prefix in TABLES.items():
        for field in fields_of_table(path, prefix):
            shown = path not in SHOWN or field.name.removeprefix(f"{prefix}.") in SHOWN[path]
            if shown and field.control in ("typed", "lines") and field.name not in BY_SOUNDS:
                yield field.name
    yield from (f"tasks.0.{at}names.many" for at in ("options.", "translations.de.criteria.n."))


def test_the_fields_that_people_type_into_are_all_found() -> None:
    names = list(typed_fields())
    assert len(names) > 60
    assert {"study.title", "tasks.0.block_size", "checks.huggins.pass_at_least"} <= set(names)
    assert {"study.translations.de.texts.end", "tasks.0.options.names.many"} <= set(names)


class Editor:
    """The folder of a draft with three systems, a trap and a check, as the pages have made it."""

    def __init__(self, folder: Path, kind: str) -> None:
        self.folder = folder
        self.rows = [
            {"stimulus": f"{system}-{n}", "condition": system, "item": f"i{n}"}
            | {"text": f"Line {n}.", "file": f"{system}-{n}.wav", "trap": "", "expected": ""}
            for system in ("human", "vits", "tacotron")
            for n in range(6)
        ]
        for row in self.rows:
            (folder / row["file"]).write_bytes(b"sound")
        preset = presets(Path("demo"))[KINDS[kind].preset].toml
        self.top = begun(preset, KINDS[kind], "a-draft")
        roles = {"human": "reference", "vits": "test", "tacotron": "test"}
        self.top["conditions"] = [{"key": key, "role": role} for key, role in roles.items()]
        if kind == "mos":
            mark(self.top, self.rows, "tacotron", "trap")
        fit_to(self.top, self.rows, {}, rated_rows(self.top, self.rows))
        self.top["sources"] = [{"key": "link", "kind": "link"}]
        put(self.top, "checks.huggins", True)
        self.top["questionnaires"] = []
        add_form(self.top, "before")
        choose_kind(self.top, "0.0", "number")
        for each in ("one", "scale", "short"):
            add_question(self.top, "0", each)
        choose_rule(self.top, "0.3", "question-2")
        put(self.top, "study.translations.de.title", "Wie natürlich?")

    def shown(self, change: Callable[[Table, list[dict[str, str]]], object]) -> list[ShownMistake]:
        top, rows = deepcopy(self.top), deepcopy(self.rows)
        change(top, rows)
        (self.folder / TOML).write_text(tomli_w.dumps(top), "utf-8")
        (self.folder / CSV).write_text(rows_text(rows), "utf-8")
        return shown_mistakes(mistakes(read_folder(self.folder).problems), top, rows)

    def typed(self, changes: dict[str, str]) -> list[ShownMistake]:
        def type_all(top: Table, _: object) -> None:
            for name, value in changes.items():
                if name.startswith("tasks.0.traps") and "traps" not in top["tasks"][0]:
                    continue  # no page has this field
                put(top, name, value)

        return self.shown(type_all)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["mos", "cmos", "mushra"])
def test_no_mistake_says_a_key_of_the_folder_on_a_page(kind: str, tmp_path: Path) -> None:
    editor = Editor(tmp_path, kind)
    assert [each.words for each in editor.shown(lambda top, rows: None)] == []
    names = [n for n in typed_fields() if ".criteria." not in n or ".translations." not in n]
    fitted = [n for n in names if re.match(r"tasks\.0\.(block|rep|rat|traps|options)", n)]
    together = [dict.fromkeys(names[n::3], typed) for typed in TYPED for n in range(3)]
    alone = [{name: typed} for name in fitted for typed in ("0", "7")]
    seen = [shown for changes in (*together, *alone) for shown in editor.typed(changes)]
    assert len({shown.words for shown in seen}) > 12
    for shown in seen:
        assert not of_a_folder(shown.words), shown
        assert not re.search(r"\b(true|false|rows?|column)\b", shown.words), shown


def two_references(top: Table, rows: object) -> None:
    top["conditions"][1]["role"] = "reference"


def no_reference(top: Table, rows: object) -> None:
    top["conditions"][0]["role"] = "test"


def no_repeated_items(top: Table, rows: object) -> None:
    top["tasks"][0] |= {"repeat_items": False, "block_size": 9}


def one_sound_less(top: Table, rows: list[dict[str, str]]) -> None:
    del rows[0]
    for task in top["tasks"]:
        task.pop("allow_missing", None)


def two_amounts(top: Table, rows: object) -> None:
    top["study"]["payment"] = {"per_session": 3, "per_hour": 9, "by": "prolific"}


def two_dates(top: Table, rows: object) -> None:
    top["study"] |= {"erase_on": "2031-01-01", "erase_after_days": 30}


def no_consent(top: Table, rows: object) -> None:
    put(top, "study.texts.consent", "")
    top["study"]["publication"] = {"consent_covers_ratings": True}


def no_answer_leads(top: Table, rows: object) -> None:
    put(top, "questionnaires.0.questions.3.leads.0", False)


def decided_later(top: Table, rows: object) -> None:
    move(top, "0.3", "up")
    move(top, "0.2", "up")


def one_answer(top: Table, rows: object) -> None:
    put(top, "questionnaires.0.questions.1.options", "Yes")


def words_of_no_point(top: Table, rows: object) -> None:
    put(top, "questionnaires.0.questions.2.options", "9 = always")


def own_other(top: Table, rows: object) -> None:
    put(top, "questionnaires.0.questions.1.options", "yes\nother = Something else")
    put(top, "questionnaires.0.questions.1.other", True)


def nothing_asked(top: Table, rows: object) -> None:
    for _ in range(4):
        remove(top, "0.0")


def between_no_blocks(top: Table, rows: object) -> None:
    put(top, "questionnaires.0.when", "between_blocks")


def own_language(top: Table, rows: object) -> None:
    put(top, f"study.translations.{top['study']['language']}.title", "How natural?")


@pytest.mark.parametrize(
    ("kind", "change", "said"),
    [
        ("mushra", two_references, "Keep the role Reference for one system only."),
        ("mushra", no_reference, "Choose the role Reference for a system that has every sentence."),
        ("cmos", no_repeated_items, "or let a rater hear the same sentence from several systems."),
        ("att", one_sound_less, "Upload the sounds that it lacks."),
        ("mos", two_amounts, "It has an amount per hour and one per session."),
        ("mos", two_dates, "The study has a number of days, too"),
        ("mos", no_consent, "Write it under Raters: Consent."),
        ("mos", no_answer_leads, "Name at least one answer."),
        ("mos", decided_later, "Put the question that decides first."),
        ("mos", one_answer, "Write at least two."),
        ("mos", words_of_no_point, "Begin each line with one of its points."),
        ("mos", own_other, "Remove this answer, or give it another value."),
        ("mos", nothing_asked, "Add a question, or remove the questionnaire."),
        ("mos", between_no_blocks, "Raise the blocks per session under Raters"),
        ("mos", own_language, "Remove this one of the further languages."),
    ],
)
def test_what_buttons_can_bring_about_is_said_in_buttons(
    kind: str, change: Any, said: str, tmp_path: Path
) -> None:
    words = [each.words for each in Editor(tmp_path, kind).shown(change)]
    assert said in " ".join(words)
    assert not [each for each in words if of_a_folder(each)]
