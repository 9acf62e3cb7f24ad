"""Patterns of file names: read as regular expressions would, and in time that never explodes."""

import random
import re
import time
from itertools import pairwise

import pytest

from listening.design.scanning import PLACE, NamePattern, PatternError

STARS = "{system}" + "{*}" * 9 + "{sentence}X.wav"


def expression_of(pattern: str) -> re.Pattern[str]:
    """The regular expression that a pattern means; it takes exponential time where it fails."""
    places = list(PLACE.finditer(pattern))
    between = [pattern[a.end() : b.start()] for a, b in pairwise(places)]
    pieces, seen = [re.escape(pattern[: places[0].start()])], set()
    for n, place in enumerate(places):
        name, count = place[1], int(place[2] or 0)
        gap = re.escape([*between[n : n + 1], *between[n - 1 : n]][0])
        matched = "[^/]*" if name == "*" else "[^/]+?"
        if count:
            word = f"(?:(?!{gap})[^/])+"
            matched = f"{word}(?:{gap}{word}){{{count - 1}}}"
        again = f"(?P={name})" if name in seen else f"(?P<{name}>{matched})"
        pieces.append(f"({matched})" if name == "*" else again)
        seen |= {name} - {"*"}
        pieces.append(re.escape(between[n] if n < len(between) else pattern[place.end() :]))
    return re.compile("(?:.*/)?" + "".join(pieces))


def random_pattern(pick: random.Random) -> str:
    kinds = ["{*}"] * pick.randint(0, 2) + ["{sentence}"]
    kinds.append(pick.choice(["{system}", "{system}", "{system:1}", "{system:2}", "{system:3}"]))
    pick.shuffle(kinds)
    gaps = [pick.choice(["_", "_", "a", "__", "/", "_a", "", "/a_"]) for _ in kinds[1:]]
    text = pick.choice(["", "", "a", "b/"])
    for n, kind in enumerate(kinds):
        text += kind + (gaps[n] if n < len(gaps) else pick.choice(["", "", "a", "_b"]))
    return text if pick.random() < 0.7 else "{system}/" + text


def random_path(pick: random.Random, pattern: str) -> str:
    """One that fits the pattern, or nearly, or not at all."""
    if pick.random() < 0.2:
        return "".join(pick.choice("ab_/") for _ in range(pick.randint(1, 12)))
    texts = {name: pick.choice(["a", "b", "a_b", "b_a_a"]) for name in ("system", "sentence")}
    path = PLACE.sub(lambda place: texts.get(place[1]) or pick.choice(["", "b", "a_"]), pattern)
    return pick.choice(["", "", "x/"]) + path + pick.choice(["", "", "a"])


def names(pattern, path):
    found = pattern.match(path)
    return found and (found.system, found.sentence)


@pytest.mark.medium
def test_patterns_match_as_the_regular_expressions_do_that_they_mean():
    pick = random.Random(7)
    compared = matched = 0
    while compared < 2000:
        pattern = random_pattern(pick)
        try:
            ours = NamePattern(pattern)
        except PatternError:
            continue
        path = random_path(pick, pattern)
        found = expression_of(pattern).fullmatch(path)
        expected = (found["system"], found["sentence"]) if found else None
        assert names(ours, path) == expected, (pattern, path)
        compared += 1
        matched += found is not None
    assert matched > 400


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("{system}/{sentence}.wav", "top/vits/s1.wav", ("vits", "s1")),
        ("{system}/{system}_{sentence}.wav", "a_b/a_b_s1.wav", ("a_b", "s1")),
        ("{system}/{system}_{sentence}.wav", "a_b/a_c_s1.wav", None),
        ("{system}_{sentence}/{system}.wav", "a_b_s1/a_b.wav", ("a_b", "s1")),
        ("{*}_{system}_{sentence}", "x_y_vits_s1", ("vits", "s1")),
        ("{system:2}_{sentence}", "my_tts_s_1", ("my_tts", "s_1")),
        ("{system}/{*}/{sentence}", "vits/s1", None),
    ],
)
def test_examples(pattern, path, expected):
    assert names(NamePattern(pattern), path) == expected


def test_what_names_neither_is_kept_apart_and_a_pattern_may_be_of_one_system():
    found = NamePattern("{*}/{system}_{*}_{sentence}").match("en/vits_happy_s1")
    assert found == ("vits", "s1", ("en", "happy"))
    assert NamePattern("{*}/{sentence}").match("en/s1") == ("", "s1", ("en",))


def seconds(pattern: str, path: str, rounds: int = 20) -> float:
    matcher, began = NamePattern(pattern), time.process_time()
    for _ in range(rounds):
        matcher.match(path)
    return time.process_time() - began


@pytest.mark.medium
@pytest.mark.parametrize(
    ("pattern", "letters"),
    [
        (STARS, "a"),
        ("{system}" + "a{*}" * 12 + "{sentence}X", "a"),
        ("{system:9}_{sentence:9}", "_"),
        ("{system:9}a{sentence}X", "ba"),
        ("{system}/{system}{*}{system}{*}{sentence}X", "a"),
    ],
)
def test_no_pattern_takes_long_to_fail(pattern, letters):
    """A name of 60 letters took a regular expression years; one of 1,000 is done at once here."""
    folder = "a/" if "/" in pattern else ""
    assert NamePattern(pattern).match(f"{folder}{letters * 60}.wav") is None
    short = seconds(pattern, folder + letters * 500)
    long = seconds(pattern, folder + letters * 1_000)
    assert long < 12 * short + 0.5  # squared would be 4, cubed 8, and an exponential has no end


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("{system}/*.wav", "must hold {sentence}, and {system} where"),
        ("{system}{sentence}" + "{*}" * 15, "17 places; 16 are allowed"),
        ("x" * 400, "400 characters; 300 are allowed"),
        ("{system}_{sentence}_{system}", "{system} stands twice"),
        ("{system:2}/{sentence}", "no sign follows {system:2}"),
    ],
)
def test_a_pattern_that_cannot_be_used_is_refused_with_the_remedy(pattern, said):
    with pytest.raises(PatternError) as refused:
        NamePattern(pattern)
    assert said in str(refused.value)
