"""Texts said twice, empty texts, texts that do not match their tags, lengths that do not fit."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from statistics import median

from analysis.corpus.clips import Corpus, CorpusClip, Finding
from analysis.corpus.duplicate_groups import connected_groups
from analysis.corpus.scripts import expected_scripts, main_script, script_words, share_in
from listening.common.near_texts import letters_of, near_pairs
from listening.common.text_language import other_language
from listening.methods.text_units import in_characters, primary
from listening.methods.vocalisation_types import TAXONOMY, TYPES, canonical, types_marked

NEAR = 0.7  # Jaccard similarity of letter trigrams; of bigrams in languages without spaces
BAND = 3  # hashes of a band: a pair at 0.7 is missed once in 800
LEAST_LETTERS = 12  # shorter texts are alike by chance; half in languages without spaces
FEW_LETTERS = 24  # below, no language is told
IN_SCRIPT = 0.5  # share of letters in the language's script, below which the tag is doubted
NO_TYPE = frozenset(("none", "no", "-", "0", "neutral", "speech"))  # of a column of types
OUTLIER = 3.5  # modified z score of Iglewicz and Hoaglin (1993)
NORMAL = 0.6745  # the third quartile of a standard normal: MAD / 0.6745 estimates its SD
LEAST_CLIPS = 10  # of a group whose rates are compared
LEAST_RATIO = 1.5  # times as fast or slow as the median, or it is no outlier
SHOWN = 70  # characters of a text in a sentence


def check_texts(corpus: Corpus) -> Iterator[Finding]:
    """Everything that the texts and tags alone tell."""
    yield from missing_texts(corpus)
    yield from duplicate_texts(corpus.rated())
    yield from mismatched_languages(corpus)
    yield from mismatched_marks(corpus)


# --- Texts that are there twice, or not at all ----------------------------------------------------


def missing_texts(corpus: Corpus) -> Iterator[Finding]:
    """Texts that are empty while others are not, and those that normalise to nothing."""
    if not any(clip.text for clip in corpus.clips):
        return
    for clip in corpus.sentences():
        if not clip.text.strip():
            yield Finding(
                "missing_text", clip, "The text is empty.", "Fill it in, or leave the clip out."
            )
        elif not clip.normalised:
            only_marks = bool(types_marked(clip.text))
            what = "holds only marks" if only_marks else "has no letter or digit"
            yield Finding(
                "empty_text",
                clip,
                f"The text {quoted(clip.text)} {what}: normalised, it is empty, so that error "
                "rates have nothing to compare.",
                "Leave it out of error rates." if only_marks else "Write what is spoken.",
            )


def duplicate_texts(corpus: Corpus) -> Iterator[Finding]:
    """Sentences whose texts are the same once normalised, and those that nearly are."""
    same: dict[tuple[object, ...], list[CorpusClip]] = defaultdict(list)
    seen = set()
    for clip in corpus.sentences():
        key = (primary(clip.language), clip.normalised, *types_marked(clip.text))
        if clip.normalised and (*key, clip.sentence) not in seen:
            seen.add((*key, clip.sentence))
            same[key].append(clip)
    for clips in same.values():
        if len(clips) > 1:
            yield Finding(
                "same_text",
                clips[0],
                f"{len(clips):,} sentences have the text {quoted(clips[0].text)}."
                f"{_differing_columns(clips)}",
                "Keep one of them, or give them one item if they are one sentence.",
                1.0,
                tuple(clips[1:]),
            )
    yield from _near_texts([clips[0] for clips in same.values()])


def _differing_columns(clips: Sequence[CorpusClip]) -> str:
    """The columns in which all of these clips differ, which may be why a text is there again."""
    columns = sorted({c for clip in clips for c in clip.columns} - {"item", "position"})
    apart = [c for c in columns if len({clip.columns.get(c, "") for clip in clips}) == len(clips)]
    return f" They differ in {', '.join(apart)}." if apart else ""


def _near_texts(clips: Sequence[CorpusClip]) -> Iterator[Finding]:
    by_kind: dict[tuple[str, bool], dict[str, CorpusClip]] = defaultdict(dict)
    for clip in clips:
        letters, dense = letters_of(clip.spoken), in_characters(clip.language)
        if len(letters) >= (LEAST_LETTERS // 2 if dense else LEAST_LETTERS):
            by_kind[primary(clip.language), dense].setdefault(letters, clip)
    results: list[tuple[float, list[CorpusClip]]] = []
    for (_, dense), known in by_kind.items():
        owners = list(known.values())
        pairs = [
            pair
            for pair in near_pairs(list(known), NEAR, shingle=2 if dense else 3, rows=BAND)
            if owners[pair[0]].sentence != owners[pair[1]].sentence
        ]
        for members, inside in connected_groups([pair[:2] for pair in pairs], pairs):
            results.append((min(each[2] for each in inside), [owners[n] for n in members]))
    for likeness, members_of in sorted(results, key=lambda each: -each[0]):
        yield _near_finding(likeness, members_of)


def _near_finding(likeness: float, clips: Sequence[CorpusClip]) -> Finding:
    first, second = clips[:2]
    if len(clips) == 2:
        what = f"The text {quoted(first.text)} is nearly that of {second.where}"
        own, other = (each.normalised.split() for each in (first, second))
        apart = [" ".join(w for w in a if w not in b) for a, b in ((own, other), (other, own))]
        differ = all(apart) and not in_characters(first.language)
        what += (
            f": {quoted(apart[0])} stands for {quoted(apart[1])}."
            if differ
            else (f": {quoted(second.text)}.")
        )
    else:
        what = f"{len(clips):,} texts are nearly {quoted(first.text)} or nearly each other."
    remedy = "Keep one of them, or check that the difference is meant."
    return Finding("near_text", first, what, remedy, likeness, tuple(clips[1:]))


# --- Tags -----------------------------------------------------------------------------------------


def mismatched_languages(corpus: Corpus) -> Iterator[Finding]:
    """Texts in another script or language than their tag says."""
    for clip in corpus.sentences():
        if not clip.language or not clip.spoken:
            continue
        scripts = expected_scripts(clip.language)
        share = share_in(clip.spoken, scripts) if scripts else None
        if share is not None and share < IN_SCRIPT:
            script, most = main_script(clip.spoken)
            yield Finding(
                "script",
                clip,
                f"The language is “{clip.language}”, and {most:.0%} of the letters of "
                f"{quoted(clip.text)} are {script_words(script)}.",
                "Correct the language or the text.",
                share,
            )
        elif sum(map(str.isalpha, clip.spoken)) >= FEW_LETTERS and (
            likely := other_language(clip.spoken, clip.language)
        ):
            yield Finding(
                "language",
                clip,
                f"The language is “{clip.language}”, and the text {quoted(clip.text)} looks like "
                f"“{likely}”.",
                "Correct the language or the text, if it is wrong.",
            )


def mismatched_marks(corpus: Corpus) -> Iterator[Finding]:
    """Vocalisation marks that a column contradicts, and marks of no known type."""
    known = {clip.stimulus: types_marked(clip.text) for clip in corpus.clips}
    if not any(name in TYPES for names in known.values() for name in names):
        return
    columns = _columns_of_types(corpus)
    unknown: dict[str, list[CorpusClip]] = defaultdict(list)
    for clip in corpus.sentences():
        names = known[clip.stimulus]
        for name in names:
            if name not in TYPES:
                unknown[name].append(clip)
        for column in columns:
            yield from _against_column(clip, column, [name for name in names if name in TYPES])
    for name, clips in unknown.items():
        close = get_close_matches(name, TYPES, 1, 0.8)
        hint = f" Did you mean [{close[0]}]?" if close else ""
        yield Finding(
            "unknown_mark",
            clips[0],
            f"[{name}] is no known vocalisation; it stands in {len(clips):,} "
            f"{'text' if len(clips) == 1 else 'texts'}.{hint}",
            "Correct it, or ignore this if it marks something else.",
            None,
            tuple(clips[1:]),
        )


def _columns_of_types(corpus: Corpus) -> list[str]:
    """The columns that hold nothing but types or groups of vocalisations, or that there is none."""
    values: dict[str, set[str]] = defaultdict(set)
    for clip in corpus.clips:
        for column, value in clip.columns.items():
            values[column] |= set(_types_in(value))
    named = {*TYPES, *TAXONOMY}
    tagged = {column: there - NO_TYPE for column, there in values.items()}
    return [column for column, there in tagged.items() if there and there <= named]


def _types_in(value: str) -> list[str]:
    parts = (part.strip() for part in re.split(r"[,;|]", value) if part.strip())
    return [part.lower() if part.lower() in TAXONOMY else canonical(part) for part in parts]


def _against_column(clip: CorpusClip, column: str, names: Sequence[str]) -> Iterator[Finding]:
    tagged = _types_in(clip.columns.get(column, ""))
    if not tagged or (not names and set(tagged) <= NO_TYPE):
        return
    allowed = {*tagged, *(name for group in tagged for name in TAXONOMY.get(group, ()))}
    other = [name for name in names if name not in allowed]
    if not names:
        what = f"The column {column} says “{', '.join(tagged)}”, and the text has no mark."
    elif other:
        marks = ", ".join(f"[{name}]" for name in other)
        what = f"The text has {marks}, and the column {column} says “{', '.join(tagged)}”."
    else:
        return
    yield Finding("mark", clip, what, f"Correct the text or the column {column}.")


# --- Lengths --------------------------------------------------------------------------------------


def mismatched_lengths(corpus: Corpus) -> Iterator[Finding]:
    """Clips that are far too long or short for their texts, by the modified z score of log rates.

    Rates are words or characters per second, compared within a language and, where it has ten
    clips or more, within a condition.
    """
    rates = [
        (clip, math.log(clip.length / clip.duration_s))
        for clip in corpus.clips
        if clip.duration_s and clip.length
    ]
    sizes = Counter((clip.language, clip.condition) for clip, _ in rates)
    groups: dict[tuple[str, str], list[tuple[CorpusClip, float]]] = defaultdict(list)
    for clip, rate in rates:
        key = (clip.language, clip.condition)
        groups[key if sizes[key] >= LEAST_CLIPS else (clip.language, "")].append((clip, rate))
    results = []
    for members in groups.values():
        scores = modified_z([rate for _, rate in members])
        middle = median(rate for _, rate in members)
        for (clip, rate), z in zip(members, scores, strict=True):
            if abs(z) > OUTLIER and abs(rate - middle) > math.log(LEAST_RATIO):
                results.append((abs(z), _length_finding(clip, rate, middle, z)))
    yield from (each for _, each in sorted(results, key=lambda pair: -pair[0]))


def _length_finding(clip: CorpusClip, rate: float, middle: float, z: float) -> Finding:
    unit = "characters" if in_characters(clip.language) else "words"
    slow = "slow" if rate < middle else "fast"
    cause = "the clip holds more than the text" if rate < middle else "the clip is cut off"
    return Finding(
        "length",
        clip,
        f"{clip.length:,} {unit} in {clip.duration_s:.2f} s are {math.exp(rate):.2f} per second; "
        f"the median is {math.exp(middle):.2f}. That is too {slow}: perhaps {cause}, or the text "
        "is another one.",
        "Listen to it, and correct the text or the file.",
        z,
    )


def modified_z(values: Sequence[float]) -> list[float]:
    """Modified z scores, 0.6745 (x - median) / MAD; all 0 for fewer than ten values or MAD 0.

    Iglewicz and Hoaglin (1993), How to detect and handle outliers, ASQC.
    """
    if len(values) < LEAST_CLIPS:
        return [0.0] * len(values)
    middle = median(values)
    mad = median(abs(value - middle) for value in values)
    return [NORMAL * (value - middle) / mad if mad else 0.0 for value in values]


def quoted(text: str) -> str:
    """A text in quotation marks, shortened."""
    plain = " ".join(text.split())
    return f"“{plain if len(plain) <= SHOWN else plain[: SHOWN - 1] + '…'}”"
