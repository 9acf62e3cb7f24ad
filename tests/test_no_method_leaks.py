"""Every preset is crawled from consent to code: no page of any method betrays what it must not."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import soundfile
from django.core import signing
from django.db import connection

from listening.audio import leaks as audio_leaks
from listening.audio import served_copy_of
from listening.audio.leaks import (
    Leak,
    Sighting,
    facts_of,
    leaks,
    mark_facts,
    recognised_clips,
)
from listening.checks import check_named
from listening.design.presets import presets, write_preset
from listening.methods import Method
from listening.models import Criterion, Study
from listening.sessions.simulated_raters.knowledge import rater_knowledge
from listening.studies import create_study, open_study, prelaunch
from listening.studies.length import session_length
from listening.studies.prelaunch import groups_of, study_leaks
from tests.browser.small import cut, scale_turns
from tests.factories import make_user
from tests.test_nothing_leaks import (
    NUMBERS,
    TOKEN,
    as_text,
    keys_of,
    numbers_in,
    own_rater_code,
    secret_words,
    stands_in,
    words_to_seek,
)
from tests.visitor import Seen, Visitor

pytestmark = pytest.mark.slow
DEMO = Path(__file__).resolve().parents[1] / "demo"
PRESETS = presets(DEMO)
SHARE = 0.4  # of a clip of the demo
# Long clips: joined lines are crawled in long_form_preference, screens of many clips in mushra,
# pairs in cmos.
LONG = {"long_form", "long_form_mushra", "lfs"}
# Words of every page, of CSP and of FLAC, which also are roles or names; roles are checked apart.
PLAIN = {
    *("test", "reference", "anchor", "trap", "prompt", "training"),
    "default",
    "example",
    "examples",
    "mushra",
    "数字",
}
SEALED = re.compile("/[ck]/[A-Za-z0-9_-]+")  # random letters, looked at in test_nothing_leaks


class Facts:
    """The truth of a study's tables, as the crawls of the whole house read it."""

    def column(self, query: str, *values: Any) -> list[Any]:
        with connection.cursor() as cursor:
            cursor.execute(query.replace("%", "%%") if not values else query, values)
            return [row[0] for row in cursor.fetchall()]


@pytest.fixture(scope="module")
def web(web):
    return web.url


def studied(tmp_path: Path, preset: str) -> Study:
    """A preset; most have clips that are shorter than the demo's, and differ in length as those."""
    folder = tmp_path / preset
    write_preset(PRESETS[preset], DEMO, folder)
    if preset not in LONG:
        for sound in (folder / "audio").iterdir():
            cut(sound, SHARE * soundfile.info(sound).duration)
        scale_turns(folder / "stimuli.csv", SHARE)
    study = create_study(folder, make_user())
    open_study(study)
    return study


def crawled(web: str, study: Study) -> list[Visitor]:
    """Raters until each task was taken to its end once: pages, states, clips, sounds, answers."""
    token, known = signing.dumps(study.key, salt="simulate"), rater_knowledge(study)
    visitors: list[Visitor] = []
    tasks = set(study.tasks.values_list("pk", flat=True))
    while not visitors or (tasks - taken(study) and len(visitors) < 12):
        visitor = Visitor(web, study.link, token, truths=known.truths, shunned=known.avoided)
        visitors.append(visitor)
        state = visitor.pass_checks(visitor.arrive())
        while state["stage"] == "trial":
            for url in state["trials"][0]["clips"]:
                assert visitor.get(url).status_code == 200
            response = visitor.answer(state)
            assert response.status_code == 201, response.text
            state = visitor.pass_checks(response.json()["state"])
        assert state["end"]["outcome"] == "complete"
        visitor.post("comments", {"text": "All went well."})
        visitor.reload()
        visitor.client.close()
    return visitors


def taken(study: Study) -> set[int]:
    answered = study.sessions.filter(status="finished")
    return set(answered.values_list("trials__task", flat=True))


def test_every_method_with_a_preset_is_crawled():
    used = {
        method
        for preset in PRESETS.values()
        for method in re.findall(r'^method = "(\w+)"', preset.toml, re.MULTILINE)
    }
    assert used <= set(Method.registry)
    assert {
        "mos",
        "context_mos",
        "att",
        "cmos",
        "preference",
        "ccr",
        "dcr",
        "smos",
        "speaker_similarity",
        "mushra",
        "ab",
        "abx",
    } <= used


def asked_for(study: Study) -> set[str]:
    """What a question names of the clip that it is about, such as a type of vocalisation."""
    questions = Criterion.objects.filter(task__study=study).values_list("question", flat=True)
    if not any("{dimension}" in question for question in questions):
        return set()
    return {name.lower() for name in study.items.values_list("dimension", flat=True)}


@pytest.mark.parametrize(
    "preset",
    [pytest.param(name, marks=[pytest.mark.soak] * (name in LONG)) for name in PRESETS],
)
@pytest.mark.django_db(transaction=True)
def test_no_page_of_a_preset_names_a_condition_an_item_a_file_a_role_or_a_trap(
    web, tmp_path, preset, monkeypatch
):
    looked_at: list[list[Leak]] = []  # before it opened: the look is dear, and not taken again

    def remembered(study: Study) -> list[Leak]:
        looked_at.append(study_leaks(study))
        return looked_at[-1]

    monkeypatch.setattr(prelaunch, "study_leaks", remembered)
    # Two looks at each of a dozen presets: by chance none of a hundred runs may find a leak.
    monkeypatch.setattr(audio_leaks, "SIGNIFICANCE", 1e-4)
    study = studied(tmp_path, preset)
    visitors = crawled(web, study)
    secret = secret_words(Facts()) - PLAIN - asked_for(study)  # type: ignore[arg-type]
    own = {v.code for v in visitors} | {own_rater_code(v) for v in visitors}
    allowed = sentences_of(written_for_raters(study))
    found: defaultdict[str, set[str]] = defaultdict(set)
    looked: set[tuple[frozenset[str], str]] = set()  # most of an answer was in an earlier one
    for visitor in visitors:
        for seen in visitor.seen:
            words = frozenset(words_to_seek(seen, secret) - own)
            if seen.media_type.startswith("audio/"):
                words = frozenset(word for word in words if len(word) > 3)  # others: in checksums
            texts = {text for text in told_by(seen, allowed) if (words, text) not in looked}
            looked |= {(words, text) for text in texts}
            for text in texts:
                for word in words:
                    if stands_in(word, text):
                        found[word].add(f"{seen.method} {urlsplit(seen.url).path}: {text[:80]}")
            if seen.media_type == "application/json" and seen.body:
                told = json.loads(seen.body)
                assert keys_of(told).isdisjoint(
                    {"score", "expected", "trap", "truth", "gain_db", "correct_answer"}
                )
                assert numbers_in(told) <= NUMBERS
                check_roles(told)
    assert told_by_bytes(study, visitors) == []
    (at_opening,) = looked_at
    # Its noise is heard to stop, which in some of the drawn copies tells as much as the noise.
    heard = {"tail_s"} if preset == "rhyme_test" else set()
    told = [leak for leak in at_opening if not leak.is_of_sound]
    assert [str(leak) for leak in told if getattr(leak, "fact", "") not in heard] == []
    assert not found, {word: sorted(where)[:2] for word, where in found.items()}


UNLIKE = {"date", "etag", "x-request-id"}  # in each response, whatever it holds


def told_by_bytes(study: Study, visitors: list[Visitor]) -> list[str]:
    """What an attack on all that these visitors were sent says of clips: page, headers, files."""
    found = leaks([seen for seen in sightings_of(study, visitors) if not is_open_reference(seen)])
    found += recognised_clips(sightings_of(study, visitors))
    return sorted({str(leak) for leak in found if not leak.is_of_sound})


def is_open_reference(seen: Sighting) -> bool:
    """Raters are told that it is the reference or a prompt: its name gives nothing away."""
    return bool({"page name = Reference", "page name = Prompt"} & seen.facts.keys())


def sightings_of(study: Study, visitors: list[Visitor]) -> list[Sighting]:
    """Every clip that was sent whole, once for each of its addresses."""
    stimuli = {s.served: s for s in study.stimuli.select_related("condition")}
    seen: dict[str, Sighting] = {}
    bodies: set[bytes] = set()
    for visitor in visitors:
        parts = parts_of_pages(visitor)
        for each in visitor.seen:
            path = urlsplit(each.url).path
            if not path.startswith("/c/") or each.status != 200 or path in seen:
                continue
            bodies.add(each.body)
            stimulus, part = stimuli[served_copy_of(path, visitor.code)], parts.get(path, {})
            groups = groups_of(stimulus) if part.get("role") in ("rated", "versus") else frozenset()
            headers = {name: value for name, value in each.headers if name not in UNLIKE}
            del headers["content-length"]  # the size of the file
            part.pop("role", None)  # the place in a pair, which is drawn; see `check_roles`
            said = {"header": headers, **mark_facts(part.pop("lines", [])), "page": part}
            facts = facts_of(each.body, said)
            seen[path] = Sighting(str(stimulus.pk), str(stimulus.item_id), groups, facts)
    assert len(bodies) == len(seen), "each address has bytes of its own"
    return list(seen.values())


def parts_of_pages(visitor: Visitor) -> dict[str, dict[str, Any]]:
    """What the page was told beside each clip, by its address; names are letters that are drawn."""
    told: dict[str, dict[str, Any]] = {}
    for each in visitor.seen:
        if each.media_type == "application/json" and each.body:
            state = json.loads(each.body)
            for trial in (state.get("state") or state).get("trials") or []:
                for url, part in zip(trial["clips"], trial["parts"], strict=True):
                    told[url] = dict(part)
    return told


def written_for_raters(study: Study) -> Iterator[str]:
    """Every text of study.toml that is meant to be read, and the words of our own scales."""
    length = session_length(study)
    yield from (study.title, *(length.fill(text) for text in study.texts.values()))
    yield from strings_of(study.questionnaires)
    for task in study.tasks.all():
        yield from (task.title, task.instructions, *strings_of(task.justification))
        yield from strings_of([{**e, "stimulus": ""} for e in task.examples])
        yield from strings_of([{**e, "stimulus": "", "expected": ""} for e in task.training])
        for criterion in task.criteria.all():
            yield from (criterion.question, criterion.help_text)
            yield from (step["text"] or step["label"] for step in criterion.scale["steps"])
        if task.show_text or any(kind.get("text") for kind in task.traps.get("kinds", ())):
            yield from study.items.values_list("text", flat=True)
        if task.show_caption:
            yield from (str(s.attributes.get("caption", "")) for s in study.stimuli.all())
    yield from (line["text"] for s in study.stimuli.all() for line in s.lines if line.get("text"))
    for check in study.checks:
        asked = check_named(check["key"]).settings(check)
        yield from (asked.title, asked.text)


def strings_of(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for part in value.values():
            yield from strings_of(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from strings_of(part)
    elif isinstance(value, str):
        yield value


def sentences_of(texts: Iterable[str]) -> tuple[str, ...]:
    """What raters may read, as it stands and as HTML has it; longest first."""
    parts = {part.strip().lower() for text in texts for part in (text, *text.split("\n"))}
    longest = sorted((part for part in parts if len(part) > 1), key=len, reverse=True)
    return tuple(dict.fromkeys(each for part in longest for each in (part, escape(part))))


@cache
def beyond(text: str, allowed: tuple[str, ...]) -> str:
    """What is left of a text without the sentences that may be read."""
    told = TOKEN.sub(" ", SEALED.sub(" ", text)).lower()
    for sentence in allowed:
        told = told.replace(sentence, " ")
    return told.strip()


def told_by(seen: Seen, allowed: tuple[str, ...]) -> Iterator[str]:
    """What one answer says beyond the texts written for raters and the page's own vocabulary."""
    if seen.media_type == "application/json" and seen.body:
        texts = list(strings_of(without_roles(json.loads(seen.body))))
    elif urlsplit(seen.url).path.startswith("/s/"):
        texts = [re.sub(r'<script id="state".*?</script>', "", as_text(seen), flags=re.DOTALL)]
    else:
        texts = [as_text(seen)]
    head = f"{urlsplit(seen.url).path.rpartition('/')[2]} {seen.head}"
    for text in (head, *texts):
        if told := beyond(text, allowed):
            yield told


OURS = {"role", "stage", "screen", "widget", "kind", "key", "name", "outcome", "error", "language"}


def without_roles(value: Any) -> Any:
    """Without the words that the page itself is written in; roles are checked on their own."""
    if isinstance(value, dict):
        return {k: without_roles(v) for k, v in value.items() if k not in OURS or k == "name"}
    return [without_roles(v) for v in value] if isinstance(value, list) else value


def check_roles(told: Any) -> None:
    """An open reference comes first and is one; of the others nobody can say which is what."""
    for trial in (told.get("state") or told).get("trials") or []:
        roles = [part["role"] for part in trial["parts"]]
        assert set(roles) <= {"rated", "versus", "reference"}
        abx = [part["name"] for part in trial["parts"]] == ["A", "B", "X"]
        of_pair = roles[:2] if abx else roles  # X comes last, and is openly one of the two
        assert "reference" not in of_pair[1:]
        assert "versus" not in roles or of_pair == ["versus", "rated"]


def test_the_name_of_a_condition_on_a_page_would_be_found():
    answer = Seen("GET", "http://x/api/s/abc/", 200, [("content-type", "application/json")], b"")
    answer.body = json.dumps({"trials": [{"parts": [{"name": "flite-slt"}]}]}).encode()
    assert any(stands_in("flite-slt", text) for text in told_by(answer, ("how natural is it?",)))
