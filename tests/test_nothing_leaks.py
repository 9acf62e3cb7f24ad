"""A rater crawls a whole session: nothing in the browser betrays condition, truth or trap."""

import base64
import io
import json
import re
from collections import defaultdict
from itertools import pairwise
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
import soundfile

from tests.crawl import Crawl, crawl_of
from tests.demo_house import DemoHouse
from tests.visitor import Seen, Visitor

pytestmark = pytest.mark.slow

STREAMINFO = 0  # the block of a FLAC file that holds numbers only
HOUSE_WORDS = ("default-src", "test clip")  # of every study
NUMBERS = {  # all that the page is told
    "plays",  # how often a clip may be played: of the task, the same for all its clips
    *("index", "position", "task", "done", "total", "min_chars", "longest", "span"),
    *("attempt", "attempts", "break_every", "n", "start_s", "end_s", "low", "high"),
    "share",  # of a clip, that the task asks to be heard
}
AUDIO = {"audio/flac", "audio/wav"}


@pytest.fixture(scope="module")
def crawl(demo_house: DemoHouse) -> Crawl:
    return crawl_of(demo_house)


# --- Words ---------------------------------------------------------------------------------------


def secret_words(house: DemoHouse) -> set[str]:
    """Everything that names condition, item, stimulus, file, truth or plan of the study."""
    words: set[str] = set()
    for query in (
        "SELECT unnest(ARRAY[key, label, system, voice, role]) FROM listening_condition",
        "SELECT unnest(ARRAY[key, dimension, paragraph, speaker, split]) FROM listening_item",
        "SELECT unnest(ARRAY[key, trap, file, original, served, sha256, served_sha256])"
        " FROM listening_stimulus",
        "SELECT unnest(ARRAY[key, seed::text]) FROM listening_study",
        "SELECT unnest(ARRAY[key, method]) FROM listening_task",
        "SELECT key FROM listening_criterion",
        "SELECT unnest(ARRAY[code, prolific_id]) FROM listening_rater",
        "SELECT username FROM auth_user",
    ):
        words |= {word for word in house.column(query) if word}
    for name in [word for word in words if "/" in word]:
        words |= {name.rpartition("/")[2], name.rpartition("/")[2].partition(".")[0]}
    others = "SELECT code FROM listening_session WHERE code <> ALL(%s)"
    words |= set(house.column(others, [""]))
    return {word.lower() for word in words if len(word) > 1}


def words_for_raters(house: DemoHouse) -> list[str]:
    """What the researcher wrote for raters to read; longest first."""
    texts: list[str] = []
    for query in (
        "SELECT title FROM listening_study",
        "SELECT value FROM listening_study, jsonb_each_text(texts)",
        "SELECT unnest(ARRAY[title, instructions]) FROM listening_task",
        "SELECT justification ->> 'prompt' FROM listening_task",
        "SELECT jsonb_array_elements_text(justification -> 'good') FROM listening_task",
        "SELECT jsonb_array_elements_text(justification -> 'poor') FROM listening_task",
        "SELECT unnest(ARRAY[question, help_text]) FROM listening_criterion",
        "SELECT step ->> k FROM listening_criterion, jsonb_array_elements(scale -> 'steps') step,"
        " unnest(ARRAY['label', 'text']) k",
    ):
        for text in house.column(query):
            texts += [part.strip() for part in re.split(r"\n+", text or "")]
    return sorted({text for text in texts if text}, key=len, reverse=True)


# What is drawn at random and holds separators: parts of it may read like a short word.
TOKEN = re.compile(r"nonce-[\w-]+|(?=[\w-]*\d)(?=[\w-]*[a-z])(?=[\w-]*[A-Z])[\w-]{16,}")


def as_text(seen: Seen) -> str:
    """URL, headers and body of one answer as one text, JSON and percent escapes undone; without
    random tokens."""
    body = seen.body.decode("utf-8", "replace")
    if seen.media_type.startswith("audio/"):
        body = tags_of(seen.body)
    elif seen.media_type == "application/json":
        body = json.dumps(json.loads(body), ensure_ascii=False) if body else ""
    if seen.media_type == "text/html":
        body = re.sub(r"\\u([0-9A-Fa-f]{4})", lambda m: chr(int(m[1], 16)), body)
        for name, sign in (("quot", '"'), ("#x27", "'"), ("lt", "<"), ("gt", ">"), ("amp", "&")):
            body = body.replace(f"&{name};", sign)
    return TOKEN.sub(" ", f"{unquote(seen.url)}\n{unquote(seen.head)}\n{body}")


def test_no_name_of_a_condition_item_file_role_or_trap_reaches_the_browser(crawl: Crawl):
    secret = secret_words(crawl.house)
    assert {"flite-kal", "s0870", "flawed", "reference", "long line", "20261122"} <= secret
    allowed = allowed_sentences(crawl.house, secret)
    found: defaultdict[str, set[str]] = defaultdict(set)
    for visitor in (crawl.whole, crawl.half, crawl.gone):
        own = {visitor.code, *visitor.ids.values(), own_rater_code(visitor)}
        for seen in visitor.seen:
            text = allowed.sub(" ", as_text(seen).lower())
            for word in words_to_seek(seen, secret) - {w.lower() for w in own}:
                if stands_in(word, text):
                    found[word].add(f"{seen.method} {urlsplit(seen.url).path} {seen.status}")
    told = [f"{word}: {len(where)} times, as in {min(where)}" for word, where in found.items()]
    assert not told, "; ".join(told)


def test_a_random_token_is_no_word_and_a_name_is():
    head = [
        ("content-security-policy", "script-src 'nonce-x-ab_Zq'"),
        ("etag", "9bX-aB_kQ0-ab-Zz81"),
    ]
    assert not stands_in("ab", as_text(Seen("GET", "/s/x/", 200, head, b"")).lower())
    named = [("x-served-by", "flite-ab-16"), ("x-method", "ab")]
    assert stands_in("ab", as_text(Seen("GET", "/s/x/", 200, named, b"")).lower())


def stands_in(word: str, text: str) -> bool:
    return word in text and bool(re.search(rf"(?<![a-z0-9]){re.escape(word)}(?![a-z0-9])", text))


def allowed_sentences(house: DemoHouse, secret: set[str]) -> re.Pattern[str]:
    """What may be read although a secret word stands in it: no part of a longer name, though."""
    written = [sentence.lower() for sentence in words_for_raters(house)]
    sentences = [s for s in written if any(stands_in(word, s) for word in secret)]
    sentences += [json.dumps(s, ensure_ascii=False)[1:-1] for s in sentences]
    words = sorted({*HOUSE_WORDS, *sentences}, key=len, reverse=True)
    return re.compile("|".join(rf"(?<![a-z0-9-]){re.escape(s)}(?![a-z0-9-])" for s in words))


def words_to_seek(seen: Seen, secret: set[str]) -> set[str]:
    """Files that are there before any study may hold common words; names of this study they not."""
    if urlsplit(seen.url).path.startswith("/static/"):
        return {word for word in secret if re.search(r"[0-9-]", word)}
    return secret


def tags_of(sound: bytes) -> str:
    """What stands in a FLAC file before its first frame; samples and their hash are random."""
    if not sound.startswith(b"fLaC"):
        return sound[:44].decode("latin-1")  # the head of a WAV, or the beginning of a range
    place, last, kept = 4, False, sound[:4]
    while not last and place < len(sound):  # the beginning of a range may end before
        last, kind = bool(sound[place] & 0x80), sound[place] & 0x7F
        end = place + 4 + int.from_bytes(sound[place + 1 : place + 4], "big")
        if kind != STREAMINFO:
            kept += sound[place:end]
        place = end
    return kept.decode("latin-1")


def own_rater_code(visitor: Visitor) -> str:
    """The rater's own code stands in a signed cookie of the rater's own browser; nowhere else."""
    return str(visitor.client.cookies.get(f"rater-{visitor.link}")).partition(":")[0]


def test_the_crawl_saw_every_kind_of_answer(crawl: Crawl):
    """Else the tests of this file would look at too little."""
    statuses = {seen.status for seen in crawl.seen}
    assert {200, 201, 206, 302, 403, 404, 405, 409, 416, 422} <= statuses
    assert max(statuses) < 500
    kinds = {seen.media_type for seen in crawl.seen}
    assert {"text/html", "application/json", "text/javascript", "text/css", *AUDIO} <= kinds
    errors = {
        json.loads(s.body).get("error")
        for s in crawl.seen
        if s.media_type.endswith("json") and s.body
    }
    told = {"unknown_session", "unknown_trial", "wrong_order", "outside_scale", "criterion_missing"}
    assert told | {"justification_required", "not_heard", "malformed"} <= errors
    assert set(crawl.truth().values()) == {"", "flawed", "human"}
    assert crawl.truth().keys() == crawl.trials.keys() == crawl.answers.keys() == crawl.clips.keys()


def test_scores_reach_no_browser(crawl: Crawl):
    for seen in crawl.seen:
        if seen.media_type == "application/json" and seen.body:
            assert keys_of(json.loads(seen.body)).isdisjoint({"score", "value", "expected", "trap"})


def keys_of(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value) | {key for part in value.values() for key in keys_of(part)}
    if isinstance(value, list):
        return {key for part in value for key in keys_of(part)}
    return set()


# --- Shape, order, time --------------------------------------------------------------------------


def shape(value: Any, name: str = "") -> Any:
    """Keys, types and the lengths of codes and tokens: all of a JSON value but its content."""
    if isinstance(value, dict):
        return {key: shape(part, key) for key, part in value.items()}
    if isinstance(value, list):
        return [shape(part, name) for part in value]
    if isinstance(value, str):
        return f"{len(value)} characters of {''.join(sorted({kind(c) for c in value}))}"
    return type(value).__name__


def kind(character: str) -> str:
    return "/" if character == "/" else "word" if character.isalnum() or character in "-_" else "?"


def by_trap(crawl: Crawl, task: int) -> dict[bool, list[str]]:
    """Codes of the trials of one task: traps and others."""
    truth = crawl.truth()
    sorted_out: dict[bool, list[str]] = {True: [], False: []}
    for code, trial in crawl.trials.items():
        if trial["task"] == task:
            sorted_out[truth[code] != ""].append(code)
    return sorted_out


def test_traps_and_rated_trials_have_one_shape(crawl: Crawl):
    codes = by_trap(crawl, 0)
    assert min(map(len, codes.values())) >= 2
    shapes = {trap: {str(shape(crawl.trials[c])) for c in codes[trap]} for trap in codes}
    assert shapes[True] == shapes[False]
    assert len(shapes[True]) == 1
    answers = {
        trap: {answer_shape(crawl.answers[c]) for c in codes[trap]} - {None} for trap in codes
    }
    assert answers[True] == answers[False]
    assert len(answers[True]) == 1
    heads = {trap: {clip_shape(s) for c in codes[trap] for s in crawl.clips[c]} for trap in codes}
    assert heads[True] == heads[False]
    assert len(heads[True]) == 1


def answer_shape(seen: Seen) -> tuple[Any, ...] | None:
    """What one could count of an answer in the midst of a task: status, headers, and size."""
    upcoming = json.loads(seen.body)["state"]["trials"]
    if len(upcoming) < 3 or upcoming[2]["task"] != 0:
        return None
    size = len(re.sub(rb'"(position|done)":\d+', rb'"\1":0', seen.body))
    changing = ("date", "expires", "content-length", "x-request-id")  # the last is random
    headers = [(n, v) for n, v in seen.headers if n not in changing]
    return seen.status, size, str(sorted(headers))


def clip_shape(seen: Seen) -> str:
    """The headers of a clip without what belongs to its sound or its address."""
    values = dict(seen.headers)
    values["content-length"] = values["etag"] = values["date"] = ""
    return str(sorted(values.items()))


def test_the_files_of_clips_hold_sound_and_nothing_else(crawl: Crawl):
    for sounds in crawl.clips.values():
        for seen in sounds:
            assert seen.body.startswith(b"fLaC")
            assert seen.body[4] == 0x80 | STREAMINFO, "the only block of metadata"
            with soundfile.SoundFile(io.BytesIO(seen.body)) as sound:
                assert {k: v for k, v in sound.copy_metadata().items() if v} == {}


def test_numbers_and_codes_tell_no_order(crawl: Crawl):
    for seen in crawl.seen:
        if seen.media_type == "application/json" and seen.body:
            assert numbers_in(json.loads(seen.body)) <= NUMBERS
    assert [t["position"] for t in crawl.trials.values()] == list(range(1, len(crawl.trials) + 1))
    codes = [*crawl.trials, crawl.whole.code, crawl.half.code, crawl.gone.code]
    assert all(re.fullmatch("[2-9a-hjkmnp-z]{16}|[2-9a-hjkmnp-z]{26}", code) for code in codes)
    assert all(a[:5] != b[:5] for a, b in pairwise(codes))
    assert codes != sorted(codes)


def numbers_in(value: Any, name: str = "") -> set[str]:
    if isinstance(value, dict):
        return {found for key, part in value.items() for found in numbers_in(part, key)}
    if isinstance(value, list):
        return {found for part in value for found in numbers_in(part, name)}
    return {name} if isinstance(value, int | float) and not isinstance(value, bool) else set()


def test_a_clips_address_is_sealed_and_never_the_same_twice(crawl: Crawl):
    urls = [url for trial in crawl.trials.values() for url in trial["clips"]]
    assert len(set(urls)) == len(urls)
    same_sound: defaultdict[bytes, list[Seen]] = defaultdict(list)
    for sounds in crawl.clips.values():
        for seen in sounds:
            same_sound[seen.body].append(seen)
    etags = [dict(seen.headers)["etag"] for sounds in same_sound.values() for seen in sounds]
    assert len(set(etags)) == len(etags)
    ids = crawl.house.column(
        "SELECT id FROM listening_trial UNION SELECT id FROM listening_session"
    )
    for url in urls:
        assert re.fullmatch(r"/c/[A-Za-z0-9_-]{72}", url)
        sealed = base64.urlsafe_b64decode(url.removeprefix("/c/"))
        assert not any(pk.to_bytes(8, "big") in sealed for pk in ids)


def test_a_trap_may_stand_anywhere_in_its_set(demo_house: DemoHouse):
    """In 34 sessions every place of the first set holds a trap sometimes, and not always."""
    for _ in range(34):
        demo_house.visitor().arrive()
    rows = demo_house.rows(
        "SELECT t.position, t.trap <> '' AS trap FROM listening_trial t"
        " JOIN listening_task k ON k.id = t.task_id WHERE k.key = 'att'"
    )
    places: defaultdict[int, list[bool]] = defaultdict(list)
    for row in rows:
        places[row["position"]].append(row["trap"])
    assert all(any(traps) and not all(traps) for traps in places.values())


def test_no_sound_comes_twice_among_traps_and_rated_trials(demo_house: DemoHouse):
    """A human reader's clip is rated and a trap as well: who hears it again knows where he is."""
    visitors = [demo_house.visitor() for _ in range(6)]
    for visitor in visitors:
        visitor.arrive()
    twice = demo_house.rows(
        "SELECT s.code FROM listening_trial t JOIN listening_session s ON s.id = t.session_id"
        " JOIN listening_task k ON k.id = t.task_id JOIN listening_stimulus x"
        " ON x.id = t.stimulus_id WHERE k.key = 'att' GROUP BY s.code, x.sha256 HAVING count(*) > 1"
    )
    assert twice == []


# --- Headers -------------------------------------------------------------------------------------


def test_every_page_carries_the_headers_that_protect_it(crawl: Crawl):
    for seen in crawl.seen:
        headers = dict(seen.headers)
        path = urlsplit(seen.url).path
        if path.startswith("/static/") and seen.status in (200, 304):
            continue
        if path.startswith("/c/"):
            if seen.status in (200, 206):
                assert headers["cache-control"].startswith("private")
                assert headers["x-content-type-options"] == "nosniff"
                assert headers["cross-origin-resource-policy"] == "same-origin"
            assert headers.keys().isdisjoint({"last-modified", "content-disposition", "set-cookie"})
            continue
        assert headers["x-content-type-options"] == "nosniff", seen.url
        assert headers["x-frame-options"] == "DENY"
        assert headers["referrer-policy"] == "same-origin"
        assert "default-src 'self'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        if path.startswith(("/s/", "/api/s/", "/r/")) and seen.status not in (404, 405):
            assert "no-store" in headers.get(
                "cache-control", "no-store" if seen.status == 403 else ""
            )
