"""Which system says which sentence, guessed from the names of sound files; never in silence.

Nothing but names is looked at. A reading of the names is a rule that splits each of them into a
system and a sentence; the reading is right where systems and sentences then make a full table.
Patterns such as ``{system}/{sentence}.wav`` are matched without backtracking.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, takewhile
from typing import NamedTuple
from unicodedata import normalize

from listening.common.counted import counted
from listening.common.input_limits import LONGEST_PATTERN, MOST_PLACES
from listening.common.sound_files import EXTENSIONS, is_system_file

PLACE = re.compile(r"\{(system|sentence|\*)(?::([1-9]))?\}")
NAMES = ("system", "sentence")
ANYTHING = "*"
OF_THE_SYSTEM = "was put there by macOS or Windows, and is no sound"
SEPARATORS = ("__", "--", "_", "-", ".", " ")
MOST_SPLITS = 4  # places in a name, counted from either end
COVERED = 0.8  # a reading fits at least so many of the files; the others are named
FILLED = 0.5  # and fills at least so much of its table
LONGEST_ID = 120
CLEARLY = 1.0  # so much better than the next reading, or it is not clear
NUMBERED = re.compile(r"([^\d]{0,16})(\d+)")
SYSTEM_WORDS = {"sys", "system", "model", "method", "voice", "cond", "condition", "tts", "spk"}
SENTENCE_WORDS = {
    *("s", "u", "utt", "utterance", "sent", "sentence", "line", "text", "item", "prompt"),
    *("para", "paragraph", "stim", "sample", "clip", "id", ""),
}
MANY_SYSTEMS = 4  # for each sentence: as a rule, a study has more sentences than systems
# Names of systems that look like ids: chapters of LJSpeech, speakers of VCTK, ESD and LibriTTS.
ID_OF_A_CORPUS = re.compile(r"([A-Za-z]{1,8}[-_]?)?\d{3,}")
LANGUAGE = re.compile(
    r"(ar|bg|bn|ca|cs|da|de|el|en|es|et|fa|fi|fr|he|hi|hr|hu|id|it|ja|ko|lt|lv|nb|nl|no|pl|pt|ro"
    r"|ru|sk|sl|sr|sv|ta|th|tr|uk|ur|vi|yue|zh)([-_][A-Za-z]{2,4})?"
)
BOOK = re.compile(
    r"\d{2,3}_f\d{6}"
)  # chapter and sentence: books of M-AILABS have texts of their own
EMOTIONS = {
    *("neutral", "happy", "sad", "angry", "anger", "surprise", "surprised", "fear", "disgust"),
    *("amused", "sleepy", "sleepiness", "disgusted", "fearful", "happiness", "sadness", "bored"),
    *("boredom", "excited", "calm", "whisper", "whispering", "laughing"),
}
# Folders that say how or in which language something is said, not which system says it.
STYLE_WORDS = {
    *(*EMOTIONS, "read", "spontaneous", "male", "female"),
    *("train", "dev", "test", "wav", "wavs", "audio", "clips"),
}


class PatternError(ValueError):
    """A pattern that cannot be used; the message says why and what to write."""


@dataclass(frozen=True)
class _Piece:
    """Literal text, or a place where ``text`` is empty.

    ``name`` is what it belongs to: system, sentence, ``*``, or nothing. A counted place has so many
    ``words`` with the separator between them, and none in them.
    """

    text: str = ""
    name: str = ""
    separator: str = ""
    words: int = 1

    def steps(self) -> list[_Piece]:
        """The place word by word."""
        word, gap = replace(self, words=1), _Piece(self.separator, self.name)
        return [word, *[gap, word] * (self.words - 1)]


class MatchedNames(NamedTuple):
    """What a pattern finds in a path; ``system`` is empty where the pattern has no place for it."""

    system: str
    sentence: str
    others: tuple[str, ...]  # what each ``{*}`` stands for


class NamePattern:
    """A pattern of file names; PatternError where it has no place for the sentence.

    A name ends at the first position where it can, and ``{*}`` at the last one. A name that stands
    twice is the same text at both places; at one of them it must fill a folder or file name.
    """

    def __init__(self, pattern: str) -> None:
        places = list(PLACE.finditer(pattern))
        _check(pattern, places)
        self.parts = _pieces_of(pattern, places)
        self.sources = _sources(pattern, places, self.parts)

    def match(self, path: str) -> MatchedNames | None:
        """The names in a path; None where it does not fit.

        The path may have more folders around those of the pattern.
        """
        texts = path.split("/")[-len(self.parts) :]
        if len(texts) < len(self.parts):
            return None
        values: dict[str, str] = {}
        for name, place in self.sources.items():
            filled = _filled(self.parts[place], texts[place])
            if filled is None:
                return None
            values[name] = filled[0][name]
        known = dict(values)
        others: list[str] = []
        for part, text in zip(self.parts, texts, strict=True):
            if any(
                p.words > 1 and _filled([p], known[p.name]) is None for p in part if p.name in known
            ):
                return None
            filled = _filled([_Piece(known[p.name]) if p.name in known else p for p in part], text)
            if filled is None:
                return None
            values |= filled[0]
            others += filled[1]
        return MatchedNames(values.get("system", ""), values["sentence"], tuple(others))


def _check(pattern: str, places: list[re.Match[str]]) -> None:
    if len(pattern) > LONGEST_PATTERN:
        raise PatternError(
            f"The pattern has {len(pattern):,} characters; {LONGEST_PATTERN} are allowed. Leave "
            "out the outer folders."
        )
    if "sentence" not in {place[1] for place in places}:
        raise PatternError(
            f"The pattern “{pattern}” must hold {{sentence}}, and {{system}} where there are "
            "several, like {system}/{sentence}.wav."
        )
    if len(places) > MOST_PLACES:
        raise PatternError(
            f"The pattern “{pattern}” has {len(places)} places; {MOST_PLACES} are allowed. Write "
            "one {*} for all that does not matter."
        )


def _pieces_of(pattern: str, places: list[re.Match[str]]) -> list[list[_Piece]]:
    """The pieces of each folder name, and of the file name."""
    between = [pattern[a.end() : b.start()] for a, b in pairwise(places)]
    parts: list[list[_Piece]] = [[]]
    _add_text(parts, pattern[: places[0].start()])
    seen = set()
    for n, place in enumerate(places):
        words = 0 if place[1] in seen else int(place[2] or 0)
        separator = [*between[n : n + 1], *between[n - 1 : n], ""][0] if words else ""
        if words and (not separator or "/" in separator):
            raise PatternError(
                f"In the pattern “{pattern}”, no sign follows {place[0]} that could separate its "
                f"words. Write one, like {{{place[1]}:2}}_, or leave the number out."
            )
        parts[-1].append(_Piece("", place[1], separator, max(words, 1)))
        seen |= {place[1]} - {ANYTHING}
        _add_text(parts, between[n] if n < len(between) else pattern[place.end() :])
    return parts


def _add_text(parts: list[list[_Piece]], text: str) -> None:
    """Literal text, in which each slash begins a new part."""
    first, *others = text.split("/")
    parts[-1] += [_Piece(first)] if first else []
    parts += [[_Piece(other)] if other else [] for other in others]


def _sources(
    pattern: str, places: list[re.Match[str]], parts: list[list[_Piece]]
) -> dict[str, int]:
    """The part that tells the text of each name that stands twice."""
    sources: dict[str, int] = {}
    for name in NAMES:
        if [place[1] for place in places].count(name) < 2:
            continue
        single = [n for n, part in enumerate(parts) if [p.name for p in part if p.name] == [name]]
        if not single:
            raise PatternError(
                f"In the pattern “{pattern}”, {{{name}}} stands twice and fills no folder or file "
                "name. Write {*} at one of its places."
            )
        sources[name] = single[0]
    return sources


# --- One folder or file name ----------------------------------------------------------------------


def _filled(part: list[_Piece], text: str) -> tuple[dict[str, str], list[str]] | None:
    """The text at each named place of a part, and at each ``{*}``; None where it does not fit."""
    steps = [
        (step, n)
        for n, piece in enumerate(part)
        for step in ([piece] if piece.text else piece.steps())
    ]
    fits = [1 << len(text)]  # bit p: from position p on, the text fits the steps from here on
    for step, _ in reversed(steps):
        fits.append(_starts(step, text, fits[-1]))
    if not fits.pop() & 1:
        return None
    at, texts = 0, [""] * len(part)
    for step, n in steps:
        end = _end(step, text, at, fits.pop())
        texts[n] += text[at:end]
        at = end
    places = [(piece.name, texts[n]) for n, piece in enumerate(part) if piece.name]
    named = {name: value for name, value in places if name != ANYTHING}
    return named, [value for name, value in places if name == ANYTHING]


def _starts(piece: _Piece, text: str, ends: int) -> int:
    """The positions at which a piece can start so that it ends at one of `ends`."""
    if piece.text:
        starts = sum(1 << at for at in _places(text, piece.text))
        return starts & (ends >> len(piece.text))
    if not piece.separator:
        last = ends.bit_length() - 1 - (piece.name != ANYTHING)
        return (2 << last) - 1 if last >= 0 else 0
    starts, low = 0, 0
    for high in [*_places(text, piece.separator), len(text)]:  # words lie between separators
        last = (ends & ((2 << high) - 1)).bit_length() - 2
        if last >= low:
            starts |= (2 << last) - (1 << low)
        low = high + 1
    return starts


def _end(piece: _Piece, text: str, start: int, ends: int) -> int:
    """Where a piece that starts here ends: at one of `ends`."""
    if piece.text:
        return start + len(piece.text)
    if piece.separator:
        stop = text.find(piece.separator, start)
        ends &= (2 << (stop if stop >= 0 else len(text))) - 1
    elif piece.name != ANYTHING:
        ends &= -(2 << start)
        return (ends & -ends).bit_length() - 1
    return ends.bit_length() - 1


def _places(text: str, sought: str) -> list[int]:
    positions, at = [], text.find(sought)
    while at >= 0:
        positions.append(at)
        at = text.find(sought, at + 1)
    return positions


class UnclearNames(ValueError):
    """The names can be read in several ways, or in none: what was seen, and patterns to choose."""

    def __init__(self, what: str, patterns: Sequence[str] = ()) -> None:
        self.what, self.patterns = what, tuple(patterns)
        super().__init__(what)


@dataclass(frozen=True)
class Scan:
    """Systems and sentences of a folder, in natural order, and the file of each cell."""

    cells: Mapping[tuple[str, str], str]  # (system, sentence) -> path, with forward slashes
    how: str  # how the names were read, in words
    ignored: tuple[tuple[str, str], ...] = ()  # path, why

    @property
    def systems(self) -> list[str]:
        return sorted({system for system, _ in self.cells}, key=natural)

    @property
    def sentences(self) -> list[str]:
        return sorted({sentence for _, sentence in self.cells}, key=natural)

    @property
    def holes(self) -> list[tuple[str, str]]:
        every = ((system, sentence) for system in self.systems for sentence in self.sentences)
        return [cell for cell in every if cell not in self.cells]


@dataclass
class _Reading:
    how: str
    pattern: str
    cells: dict[tuple[str, str], str] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    twice: bool = False
    usual: float = 0.0  # evidence of custom: the outermost folder is the system

    def add(self, path: str, names: tuple[str, str] | None) -> None:
        if names is None or not all(names):
            self.left_out.append(path)
        else:
            cell = (normalize("NFC", names[0]), normalize("NFC", names[1]))  # macOS takes é apart
            self.twice |= self.cells.setdefault(cell, path) != path

    @property
    def axes(self) -> tuple[list[str], list[str]]:
        return sorted({cell[0] for cell in self.cells}), sorted({cell[1] for cell in self.cells})

    @property
    def filled(self) -> float:
        systems, sentences = self.axes
        return len(self.cells) / max(len(systems) * len(sentences), 1)

    @property
    def is_table(self) -> bool:
        return min(map(len, self.axes)) > 1

    @property
    def partition(self) -> tuple[frozenset[frozenset[str]], ...]:
        """Which files are of one system and which of one sentence, whatever these are called."""
        groups: tuple[dict[str, set[str]], ...] = (defaultdict(set), defaultdict(set))
        for cell, path in self.cells.items():
            for axis, name in zip(groups, cell, strict=True):
                axis[name].add(path)
        return tuple(frozenset(map(frozenset, axis.values())) for axis in groups)

    @property
    def evidence(self) -> float:
        """How plainly the names say which axis is which; only differences count."""
        systems, sentences = self.axes
        return (
            self.usual
            - 2.0 * _is_language_or_style(systems)
            + 2.0 * _numbered(sentences, SENTENCE_WORDS)
            - 2.0 * _numbered(systems, SENTENCE_WORDS)
            + 1.0 * _named(systems, SYSTEM_WORDS)
            - 1.0 * _named(sentences, SYSTEM_WORDS)
            + 0.5 * (len(sentences) > len(systems))
        )


def scan(paths: Iterable[str], pattern: str = "") -> Scan:
    """The table that the names make. UnclearNames says what to choose where it is not plain.

    `paths` are relative, with forward slashes; `pattern` is like ``{system}/{sentence}.wav``, with
    ``{*}`` for what does not matter. ``{system:2}_{sentence}`` is a system of two words with “_”.
    """
    sounds, ignored = _sounds(paths)
    if not sounds:
        raise UnclearNames("There is no sound file.")
    reading = _by_pattern(sounds, pattern) if pattern else _best(sounds)
    why = "does not fit " + (f"the pattern {pattern}" if pattern else "the names of the others")
    odd = [(path, why) for path in reading.left_out]
    return Scan(reading.cells, reading.how, (*ignored, *odd))


def describe_ignored(ignored: Iterable[tuple[str, str]], most: int) -> list[str]:
    """A sentence for each folder, extension and reason of ignored files, and one for the rest."""
    groups: dict[tuple[str, str, str], list[tuple[str, str]]] = defaultdict(list)
    for path, why in ignored:
        folder, _, name = path.rpartition("/")
        stem, dot, extension = name.rpartition(".")
        reason = why.partition(" of ")[0]  # without the file whose name it has
        groups[folder, dot + extension.casefold() if stem else "", reason].append((path, why))
    sentences = []
    for (folder, extension, _), files in groups.items():
        path, why = files[0]
        where = f"in “{folder}”" if folder else "at the top"
        many = (
            f"{len(files):,}{extension and f' {extension}'} files {where}, such as “{path}”, which"
        )
        sentences.append(f"{many if len(files) > 1 else f'“{path}”'} {why}.")
    if more := sum(map(len, list(groups.values())[most:])):
        sentences[most:] = [f"{counted(more, 'more file')}."]
    return sentences


def natural(name: str) -> tuple[tuple[int, int, str], ...]:
    """A key for sorting in which 2 comes before 10."""
    pieces = re.findall(r"\d+|\D+", name)
    return tuple((0, int(p), "") if p.isdecimal() else (1, 0, p.casefold()) for p in pieces)


def stimuli_of(scanned: Scan) -> list[dict[str, str]]:
    """Rows of stimuli.csv, sentence after sentence, with an id of its own for each."""
    rows: dict[str, dict[str, str]] = {}
    for sentence in scanned.sentences:
        for system in scanned.systems:
            if file := scanned.cells.get((system, sentence)):
                key = re.sub(r"\s+", "_", f"{system}-{sentence}")[-LONGEST_ID:]
                while key in rows:
                    key = f"{len(rows) + 1}-{key}"[:LONGEST_ID]
                rows[key] = {"stimulus": key, "condition": system, "item": sentence, "file": file}
    return list(rows.values())


# --- Files ----------------------------------------------------------------------------------------


def _sounds(paths: Iterable[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """One sound file of each name, below the folder that all share; and the others with why."""
    by_name: dict[str, list[str]] = defaultdict(list)
    ignored = []
    for path in sorted(paths, key=natural):
        stem, _, extension = path.rpartition(".")
        if is_system_file(path):
            ignored.append((path, OF_THE_SYSTEM))
        elif path.rpartition("/")[2].startswith("."):
            ignored.append((path, "is a hidden file"))
        elif extension.casefold() in EXTENSIONS and stem:
            by_name[stem].append(path)
        else:
            ignored.append((path, "does not have the extension of an audio file"))
    sounds = []
    for same in by_name.values():
        first, *others = sorted(
            same, key=lambda p: EXTENSIONS.index(p.rpartition(".")[2].casefold())
        )
        sounds.append(first)
        ignored += [(other, f"has the name of {first}, which is taken") for other in others]
    return sounds, ignored


def _parts(sounds: Sequence[str]) -> tuple[str, list[tuple[str, tuple[str, ...], str]]]:
    """The folder that all share; and of each file its path, its other folders, and its stem."""
    folders = [path.split("/")[:-1] for path in sounds]
    levels = zip(*folders, strict=False)
    top = [names[0] for names in takewhile(lambda names: len(set(names)) == 1, levels)]
    return "/".join(top), [
        (path, tuple(path.split("/")[len(top) : -1]), path.rpartition("/")[2].rpartition(".")[0])
        for path in sounds
    ]


# --- Readings -------------------------------------------------------------------------------------


def _best(sounds: Sequence[str]) -> _Reading:
    """The reading that makes a full table; where two do, the one whose names say so plainly."""
    readings = [
        reading
        for reading in _readings(sounds)
        if not reading.twice and len(reading.cells) >= COVERED * len(sounds)
    ]
    tables = [r for r in readings if r.is_table and r.filled >= FILLED] or [
        r for r in readings if _is_single(r)
    ]
    if not tables:
        usual = ["{system}/{sentence}", "{system}_{sentence}", "{sentence}_{system}"]
        plain = sorted((r for r in readings if not r.left_out), key=lambda r: -r.evidence)
        raise UnclearNames(
            f"The names of {len(sounds)} sound files make no table of systems and sentences, like "
            f"“{sounds[0]}”.",
            [r.pattern for r in plain[: len(usual)]] if len(plain) > 1 else usual,
        )
    most = max(r.filled * len(r.cells) for r in tables)
    full = [r for r in tables if r.filled * len(r.cells) > most - 1e-9]
    distinct: dict[object, _Reading] = {}
    for reading in sorted(full, key=lambda r: sum(map(len, r.axes[0]))):
        distinct.setdefault(reading.partition, reading)  # the shortest names of systems
    best, *others = sorted(distinct.values(), key=lambda r: -r.evidence)
    systems, sentences = best.axes
    of_a_corpus = all(map(ID_OF_A_CORPUS.fullmatch, systems)) or (
        len(systems) > 1 and all(map(BOOK.fullmatch, sentences))
    )
    if of_a_corpus:
        alone = _one_system_reading(sounds)
        if not best.is_table:
            return alone
        others = [alone, *others]
        rivals = [alone, *(r for r in others[1:] if best.evidence - r.evidence < CLEARLY)]
    else:
        rivals = [r for r in others if best.evidence - r.evidence < CLEARLY]
        rivals += _without_emotions(best, readings)
    if rivals:
        each = "; ".join(f"{r.pattern}: {_describe(r)}" for r in (best, *rivals))
        what = f"The names can be read in {1 + len(rivals)} ways. {each}."
        raise UnclearNames(what, [r.pattern for r in (best, *rivals)])
    if doubt := _doubt(best):
        what = (
            f"{doubt} Rename files, or choose how to read them. {best.pattern}: {_describe(best)}."
        )
        raise UnclearNames(what, [best.pattern])
    return best


def _without_emotions(best: _Reading, readings: Sequence[_Reading]) -> list[_Reading]:
    """The reading where emotions are of the sentence, if all systems end in one: sam_angry."""
    words = [re.fullmatch(r"(.+)[-_. ](.+)", system) for system in best.axes[0]]
    if not all(match and match[2].casefold() in EMOTIONS for match in words):
        return []
    speakers = sorted({match[1] for match in words if match})
    return [r for r in readings if r.axes[0] == speakers and r.partition != best.partition][:1]


def _doubt(reading: _Reading) -> str:
    """Why a table that the names make is probably not the one that is meant; empty where it is."""
    systems, sentences = reading.axes
    if len(systems) < 2:
        return ""
    folded: dict[str, str] = {}
    for name in systems:
        if (other := folded.setdefault(name.casefold(), name)) != name:
            return f"The systems “{other}” and “{name}” differ only in capitals."
    if _is_language_or_style(sentences):
        return f"The sentences would be {_few(sentences)}, which say a language or a style."
    if len(systems) >= MANY_SYSTEMS * len(sentences):
        return f"There would be {len(systems)} systems, and only {len(sentences)} sentences."
    said_by: dict[str, list[str]] = defaultdict(list)
    for system, sentence in reading.cells:
        said_by[sentence].append(system)
    joined = {system for those in said_by.values() if len(those) > 1 for system in those}
    if alone := [system for system in systems if system not in joined]:
        return f"No sentence of “{min(alone, key=natural)}” is one of another system."
    return ""


def _describe(reading: _Reading) -> str:
    systems, sentences = reading.axes
    named = (("system", systems), ("sentence", sentences))
    return ", ".join(f"{len(n)} {what}{'s' * (len(n) != 1)} ({_few(n)})" for what, n in named)


def _few(names: Sequence[str]) -> str:
    ordered = sorted(names, key=natural)
    return ", ".join(ordered[:3]) + (" …" if len(ordered) > 3 else "")


def _readings(sounds: Sequence[str]) -> Iterator[_Reading]:
    top, parts = _parts(sounds)
    depths = {len(folders) for _, folders, _ in parts}
    prefix = f"{top}/" if top else ""
    if depths != {0}:
        yield from _folder_readings(prefix, parts, min(depths))
    if depths == {0}:
        yield from _name_readings(prefix, parts)
        yield _one_system_reading(sounds)


def _one_system_reading(sounds: Sequence[str]) -> _Reading:
    top, parts = _parts(sounds)
    name = _system_above(top)
    prefix = f"{top}/" if top else ""
    prefix += "{*}/" * min(len(folders) for _, folders, _ in parts)
    alone = _Reading(f"all are of one system, called “{name}”", f"{prefix}{{sentence}}")
    for path, folders, stem in parts:
        alone.add(path, (name, "-".join((*folders, stem))))
    return alone


def _is_language_or_style(names: Iterable[str]) -> bool:
    return all(name.casefold() in STYLE_WORDS or LANGUAGE.fullmatch(name) for name in names)


def _system_above(top: str) -> str:
    """The innermost folder that is no language and no style."""
    names = [name for name in top.split("/") if name]
    candidates = [name for name in names if not _is_language_or_style([name])]
    return candidates[-1] if candidates else names[-1] if names else "system"


def _folder_readings(
    prefix: str, parts: Sequence[tuple[str, tuple[str, ...], str]], depth: int
) -> Iterator[_Reading]:
    levels = [{folders[level] for _, folders, _ in parts} for level in range(depth)]
    levels_of_systems = [
        level for level, names in enumerate(levels) if not _is_language_or_style(names)
    ]
    for level in range(depth):
        before, after = "{*}/" * level, "/{*}" * (depth - level - 1)
        system = _Reading(
            "the folder is the system", f"{prefix}{before}{{system}}{after}/{{sentence}}"
        )
        sentence = _Reading(
            "the folder is the sentence", f"{prefix}{before}{{sentence}}{after}/{{system}}"
        )
        both = _Reading(
            "the folder is the system, and stands in the file’s name once more",
            f"{prefix}{before}{{system}}{after}/{{system}}_{{sentence}}",
        )
        system.usual = both.usual = float(level == min(levels_of_systems, default=0))
        for path, folders, stem in parts:
            own = folders[level] if len(folders) > level else ""
            rest = "-".join((*folders[:level], *folders[level + 1 :], stem))
            system.add(path, (own, rest))
            sentence.add(path, (rest, own))
            both.add(path, (own, _without(stem, own)) if own in stem else None)
        yield from (system, sentence, both)


def _without(stem: str, name: str) -> str:
    return re.sub(r"^[-_. ]+|[-_. ]+$", "", stem.replace(name, "", 1))


def _name_readings(
    prefix: str, parts: Sequence[tuple[str, tuple[str, ...], str]]
) -> Iterator[_Reading]:
    for separator in SEPARATORS:
        for place in (*range(1, MOST_SPLITS + 1), *range(-1, -MOST_SPLITS - 1, -1)):
            first, second = (f":{place}", "") if place > 0 else ("", f":{-place}")
            left = _Reading(
                "names are system, then sentence",
                f"{prefix}{{system{first}}}{separator}{{sentence{second}}}",
            )
            right = _Reading(
                "names are sentence, then system",
                f"{prefix}{{sentence{first}}}{separator}{{system{second}}}",
            )
            for path, _, stem in parts:
                halves = _halves(stem, separator, place)
                left.add(path, halves)
                right.add(path, (halves[1], halves[0]) if halves else None)
            yield from (left, right)


def _halves(stem: str, separator: str, place: int) -> tuple[str, str] | None:
    pieces = stem.split(separator)
    at = place if place > 0 else len(pieces) + place
    if not 0 < at < len(pieces):
        return None
    return separator.join(pieces[:at]), separator.join(pieces[at:])


def _is_single(reading: _Reading) -> bool:
    """One system only: a folder of numbered sentences."""
    systems, sentences = reading.axes
    return len(systems) == 1 and len(sentences) > 1 and _numbered(sentences, SENTENCE_WORDS) == 1


def _numbered(names: Sequence[str], words: set[str]) -> float:
    """1 where all names are one word and numbers, such as s01, s02; a half for a word unknown.

    What follows the first number may be words that are the same in all: 001_mic1, 002_mic1.
    """
    matches = [NUMBERED.match(name) for name in names]
    shapes = {re.sub(r"\d+", "0", name.casefold()) for name in names}
    if not names or not all(matches) or len(shapes) > 1:
        return 0.0
    heads = {match[1].strip("-_. ").casefold() for match in matches if match}
    return 1.0 if heads <= words else 0.5


def _named(names: Sequence[str], words: set[str]) -> float:
    heads = [re.split(r"[\d_\-. ]", name.casefold(), maxsplit=1)[0] for name in names]
    return float(all(head in words for head in heads))


# --- Patterns -------------------------------------------------------------------------------------


def _by_pattern(sounds: Sequence[str], pattern: str) -> _Reading:
    try:
        names_in = NamePattern(pattern)
    except PatternError as error:
        raise UnclearNames(str(error)) from None
    has_ending = pattern.rpartition(".")[2].casefold() in EXTENSIONS
    reading = _Reading(f"by the pattern {pattern}", pattern)
    taken: dict[tuple[str, str], str] = {}
    stems = {path: path if has_ending else path.rpartition(".")[0] for path in sounds}
    matches = {path: names_in.match(stem) for path, stem in stems.items()}
    only = _system_above(_parts(sounds)[0])
    for path, names in _names_by(matches, only).items():
        if names and names in taken:
            what = f"By {pattern}, “{path}” and “{taken[names]}” are the same system and sentence."
            raise UnclearNames(what)
        if names:
            taken[names] = path
        reading.add(path, names)
    if not reading.cells:
        raise UnclearNames(f"No file fits {pattern}. The first is “{sounds[0]}”.")
    return reading


def _names_by(
    matches: Mapping[str, MatchedNames | None], only: str
) -> dict[str, tuple[str, str] | None]:
    """System and sentence of each file; what {*} stands for tells sentences of one name apart."""

    def named(match: MatchedNames | None, *, whole: bool) -> tuple[str, str] | None:
        if match is None:
            return None
        rest = [text for text in match.others if text]
        return match.system or only, "-".join((*rest, match.sentence)) if whole else match.sentence

    names_by_path = {path: named(match, whole=False) for path, match in matches.items()}
    fit = [names for names in names_by_path.values() if names]
    if len(set(fit)) < len(fit):
        return {path: named(match, whole=True) for path, match in matches.items()}
    return names_by_path
