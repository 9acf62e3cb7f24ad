"""The attack on blindness finds every leak that was ever mended, in large groups and in small."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from django.test import override_settings

from listening.audio import flac
from listening.audio.appearance import sample_appearance
from listening.audio.leaks import (
    FACTS,
    MARKS,
    RecognisedClips,
    Sighting,
    Verdict,
    facts_of,
    leaks,
    mark_facts,
    verdicts,
)
from listening.sessions.line_marks import marked_lines

RATE = 16_000
ITEMS = 12


@dataclass(frozen=True)
class Sent:
    """What one browser got of a clip."""

    clip: str
    item: int
    group: str
    trial: int
    data: bytes
    said: Mapping[str, Any]

    def sighting(self) -> Sighting:
        groups = frozenset({self.group})
        return Sighting(self.clip, str(self.item), groups, facts_of(self.data, self.said))


def lines(item: int) -> list[dict[str, Any]]:
    heard = 1 + 0.37 * item
    context = {"role": "context", "start_s": 0.0, "end_s": heard}
    return [context, {"role": "rated", "start_s": heard + 0.4, "end_s": heard + 3.2}]


@pytest.fixture(scope="module")
def sent(tmp_path_factory) -> list[Sent]:
    """A reader and a synthesizer say each item; every clip is heard in two trials."""
    with override_settings(SECRET_KEY="a key of the tests of leaks"):
        return made_in(tmp_path_factory.mktemp("sent"))


def made_in(folder: Path) -> list[Sent]:
    made = []
    rng = np.random.default_rng(4)
    for item in range(ITEMS):
        for group in ("human", "synthetic"):
            t = np.arange(round((0.5 + 0.1 * rng.random()) * RATE)) / RATE
            voice = 0.3 * np.sin(2 * np.pi * rng.uniform(110, 180) * t) * np.hanning(len(t))
            voice += 1e-3 * rng.standard_normal(len(t)) * np.hanning(len(t))
            path = folder / f"{group}{item}.flac"
            soundfile.write(path, voice, RATE, subtype="PCM_24")
            for trial in range(2):
                said = mark_facts(marked_lines(lines(item), f"{group} {item} {trial}"))
                data = sample_appearance(path, 2 * len(made) + trial, place=0)
                said = {**said, "header": {"content-type": "audio/flac"}}
                made.append(Sent(f"{group}{item}", item, group, trial, data, said))
    return made


def found(sent: list[Sent]) -> set[str]:
    return {leak.fact for leak in leaks([each.sighting() for each in sent])}


@pytest.mark.medium
def test_what_is_sent_tells_nothing(sent: list[Sent]):
    assert [str(leak) for leak in leaks([each.sighting() for each in sent])] == []


# --- Leaks, planted in what the reader's clips are sent as --------------------------------------

Change = Callable[[Sent], Sent]


def with_samples(
    each: Sent, change: Callable[[np.ndarray], np.ndarray], bits: float = 12.5
) -> Sent:
    samples = soundfile.read(BytesIO(each.data), dtype="int16", always_2d=True)[0]
    changed = change(samples.astype(int)).clip(-32768, 32767).astype(np.int16)
    data = flac.head(RATE, 1, len(changed)) + flac.encoded(changed, RATE, 0, bits)
    return replace(each, data=data)


def padded(each: Sent) -> Sent:
    """As FLAC has it: a block after the first one, which is the last no more."""
    padding = bytes([0x81]) + (1000).to_bytes(3, "big") + bytes(1000)
    return replace(each, data=each.data[:4] + b"\0" + each.data[5:42] + padding + each.data[42:])


def hashed(each: Sent) -> Sent:
    return replace(each, data=each.data[:26] + bytes(range(1, 17)) + each.data[42:])


def silent_pauses(samples: np.ndarray) -> np.ndarray:
    quiet = np.arange(len(samples)) // 800 % 3 == 1
    return np.where(quiet[:, None], 0, samples)


def silent_ends(samples: np.ndarray) -> np.ndarray:
    heard = np.flatnonzero(np.abs(samples[:, 0]) > 40)[[0, -1]]
    inside = (np.arange(len(samples)) >= heard[0]) & (np.arange(len(samples)) <= heard[1])
    return np.where(inside[:, None], samples, 0)


def said(each: Sent, **more: Any) -> Sent:
    return replace(each, said={**each.said, **more})


def humming(hz: float, samples: np.ndarray) -> np.ndarray:
    t = np.arange(len(samples)) / RATE
    return samples + np.rint(60 * np.sin(2 * np.pi * hz * t))[:, None].astype(int)


PLANTED: dict[str, Change] = {
    f"{MARKS} begin": lambda each: said(each, **{MARKS: {"begin": 0.175}}),
    "page role = reference": lambda each: said(each, page={"role": "reference"}),
    "header x-cache = hit": lambda each: said(each, header={"x-cache": "hit"}),
    "padding_bytes": padded,
    "head_fields": hashed,
    "bits_per_sample": lambda each: with_samples(each, lambda samples: samples, bits=11),
    "offset": lambda each: with_samples(each, lambda samples: samples + 12),
    "rumble_db": lambda each: with_samples(each, partial(humming, 9)),
    "unheard_db": lambda each: with_samples(each, partial(humming, 33)),
    "hum_db": lambda each: with_samples(each, partial(humming, 60)),
    "start_db": lambda each: with_samples(each, silent_ends),
    "floor_db": lambda each: with_samples(each, silent_pauses),
    "onset_s": lambda each: with_samples(
        each, lambda samples: np.concatenate([np.zeros((8000, 1), int), samples])
    ),
    "clipped": lambda each: with_samples(each, lambda samples: 8 * samples),
    "empty_bits": lambda each: with_samples(each, lambda samples: samples // 4 * 4),
}


@pytest.mark.medium
@pytest.mark.parametrize("fact", PLANTED)
def test_a_leak_that_names_the_reader_is_found(sent: list[Sent], fact: str):
    changed = [PLANTED[fact](each) if each.group == "human" else each for each in sent]
    assert fact in found(changed)


@pytest.mark.medium
@pytest.mark.parametrize("fact", ["padding_bytes", "head_fields", "rumble_db", "start_db"])
def test_a_leak_that_names_a_single_trap_is_found(sent: list[Sent], fact: str):
    few = [each for each in sent if each.group == "synthetic"][:16]
    trap = [PLANTED[fact](replace(each, group="traps")) for each in few if each.item == 3]
    assert len(trap) == 2  # of one clip
    assert fact in found([*(each for each in few if each.item != 3), *trap])


def same_length(each: Sent) -> Sent:
    """In each trial, by what it is cut to."""
    return with_samples(each, lambda samples: samples[: 7000 + each.item])


KNOWN_AGAIN: dict[str, Change] = {
    "samples": same_length,
    f"{MARKS} end": lambda each: said(each, **{MARKS: {"end": 3.123456 + 0.11 * each.item}}),
    "header content-length": lambda each: said(each, header={"content-length": 9000 + each.item}),
}


@pytest.mark.medium
@pytest.mark.parametrize("fact", KNOWN_AGAIN)
def test_a_value_by_which_a_clip_is_known_again_is_found(sent: list[Sent], fact: str):
    assert fact in found([KNOWN_AGAIN[fact](each) for each in sent])


@pytest.mark.medium
def test_a_clip_may_be_known_again_by_where_its_lines_meet(sent: list[Sent]):
    """Who listens knows the place as well; the page's mark lies up to 0.2 s beside it."""
    marks = [said(each, **{MARKS: {"places": [0.5 + each.item]}}) for each in sent]
    assert not {fact for fact in found(marks) if fact.startswith(MARKS)}


def test_a_leak_says_what_it_names_and_what_it_mistakes():
    assert str(Verdict("“a”", "bits_per_sample", 9, 10, 1, 40, 1e-9)) == (
        "“a”: the size of the file per sample "
        "(identifies 9 of 10 clips, and wrongly 1 of 40 others)"
    )
    assert str(RecognisedClips("samples", 9, 10, 0.0, 1e-9)) == (
        "any clip, known again: the number of samples (in 9 of 10 pairs)"
    )


# --- Chance --------------------------------------------------------------------------------------


def by_chance(rng: np.random.Generator, clips: int, systems: int) -> list[Sighting]:
    """Facts that know nothing of systems: even, normal, whole numbers, rounded, and two values."""
    made = []
    for clip in range(clips):
        facts = {
            "offset": rng.normal(),
            "onset_s": rng.uniform(0.05, 0.3),
            "bits_per_sample": 12.4 + round(rng.normal(0, 0.004), 2),
            "rumble_db": max(rng.normal(-121, 1), -120.0),
            "head_bytes": 42.0,
            "page kind": float(rng.integers(2)),
        }
        groups = frozenset({f"s{clip % systems}"} | ({"traps"} if clip < 2 else set()))
        made.append(Sighting(str(clip), str(clip // systems), groups, facts))
    return made


@pytest.mark.medium
@pytest.mark.parametrize(("clips", "systems"), [(6, 2), (12, 3), (40, 4)])
def test_chance_is_no_leak(clips: int, systems: int):
    rng = np.random.default_rng(5)
    told = sum(bool(leaks(by_chance(rng, clips, systems))) for _ in range(25))
    assert told == 0


def test_one_step_of_rounding_is_not_far():
    """Six clips agree to four digits, and a seventh is one step away."""
    rest = [
        Sighting(str(n), str(n), frozenset({"a"}), {"bits_per_sample": 12.41}) for n in range(6)
    ]
    trap = Sighting("t", "t", frozenset({"traps"}), {"bits_per_sample": 12.42})
    assert leaks([*rest, trap]) == []
    far = replace(trap, facts={"bits_per_sample": 13.0})
    assert {leak.fact for leak in leaks([*rest, far])} == {"bits_per_sample"}


def test_a_drawn_letter_that_only_two_clips_got_is_no_leak():
    """A letter that two of 49 clips get falls on both clips of a group in one of 1,176 draws."""
    letters = "ABCDEFHIJK"
    sightings = [
        Sighting(str(n), str(n % 7), frozenset({"b"}), {f"page name = {letters[n % 10]}": 1.0})
        for n in range(47)
    ]
    sightings += [
        Sighting(f"t{n}", str(n), frozenset({"a"}), {"page name = G": 1.0}) for n in range(2)
    ]
    assert leaks(sightings) == []


@pytest.mark.medium
def test_every_fact_of_a_file_has_a_title(sent: list[Sent]):
    assert set(facts_of(sent[0].data)) == set(FACTS)
    assert {each.fact for each in verdicts([each.sighting() for each in sent])} >= {"offset"}
