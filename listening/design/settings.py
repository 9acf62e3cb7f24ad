"""Isolation, paragraph, context and dialogue conditions, derived from one manifest of lines.

Conditions are named as Clark et al. (2019) write them: Ri, Tp, R1T1, Text1T1, T2T1 and so on. The
manifest holds paragraphs and their lines in order; a recipe says which lines a stimulus joins, and
when each of them is heard.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, TypeVar

from listening.common.counted import counted
from listening.common.speaker_turns import Excerpt, Turn, turns_of
from listening.design.studyfile.entries import ConditionEntry, ItemEntry, StimulusEntry, StudyFile
from listening.design.studyfile.problems import did_you_mean

Setting = Literal["isolation", "paragraph", "context"]
Voice = Literal["R", "T", "Text"]

WHOLE = re.compile(r"([RT])([ip])")
PAIR = re.compile(r"(R|Text|T)([1-9][0-9]?)([RT])([1-9][0-9]?)")
EXAMPLES = "Ri, Ti, Rp, Tp, R1R1, R1T1, T1T1, Text1T1, T2T1 or T1T2"
SHORTEST_PARAGRAPH = 2  # of one line there is nothing to compare with the line by itself
Sound = TypeVar("Sound", Path, float)
Window = TypeVar("Window")
LONGEST_KEY = 80
OFFSET = "floor_transfer_offset_s"  # the attribute of a turn: its start after the turn before
LONGEST_LABEL = LONGEST_STIMULUS = 120
UNSPACED = ("zh", "ja", "th", "lo", "km", "my", "bo")  # languages that part sentences by no space


class BadName(ValueError):
    """A name that says no condition: what is wrong, and the remedy."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(f"{what} {remedy}")
        self.what, self.remedy = what, remedy


@dataclass(frozen=True)
class Form:
    """What a name asks for: lines of context and who speaks them, lines to rate and who does."""

    name: str
    setting: Setting
    rated_voice: Voice
    rated_lines: int = 1  # 0: all of the paragraph
    context_voice: Voice | None = None
    context_lines: int = 0

    @property
    def voices(self) -> set[Voice]:
        """R and T: whose recordings are needed."""
        return {self.rated_voice, self.context_voice or self.rated_voice} - {"Text"}

    @property
    def needed_lines(self) -> int:
        """Lines that a paragraph must have."""
        if self.setting == "paragraph":
            return SHORTEST_PARAGRAPH
        return self.context_lines + self.rated_lines


def form_named(name: str) -> Form:
    """What the name asks for; BadName says why it asks for nothing."""
    if whole := WHOLE.fullmatch(name):
        voice: Voice = "R" if whole[1] == "R" else "T"
        if whole[2] == "i":
            return Form(name, "isolation", voice)
        return Form(name, "paragraph", voice, rated_lines=0)
    if pair := PAIR.fullmatch(name):
        return Form(
            name,
            "context",
            rated_voice="R" if pair[3] == "R" else "T",
            rated_lines=int(pair[4]),
            context_voice=_voice(pair[1]),
            context_lines=int(pair[2]),
        )
    raise BadName(f"“{name}” names no condition.", _remedy(name))


def _voice(letters: str) -> Voice:
    return "Text" if letters == "Text" else "R" if letters == "R" else "T"


def _remedy(name: str) -> str:
    """The most likely slip, or how names are built."""
    tidy = re.sub(r"[\s_+\-]", "", name).lower()
    tidy = re.sub("text|r|t", lambda match: match[0].capitalize(), tidy)
    if tidy != name and (WHOLE.fullmatch(tidy) or PAIR.fullmatch(tidy)):
        return f"Did you mean “{tidy}”?"
    if re.fullmatch(r"Text[ip1-9].*|.*Text[0-9]+", name):
        return "Text is read before the stimulus and never rated: write it like Text1T1."
    if re.search(r"(?<![0-9])0", name):
        return "Each part has at least one line; sentences without context are Ri and Ti."
    return (
        f"Write {EXAMPLES}: R real, T synthetic, Text read; i one line, p the paragraph; or "
        "lines of context, then lines to rate."
    )


@dataclass(frozen=True)
class Line:
    """One line of a derived stimulus; `stimulus` is empty when the line is read, not heard."""

    stimulus: str
    item: str
    role: Literal["context", "rated"]
    text: str
    start_s: float = 0.0
    end_s: float = 0.0
    speaker: str = ""  # of a turn in a recording; else the item says it

    def as_dict(self) -> dict[str, Any]:
        named = {"speaker": self.speaker} if self.speaker else {}
        return named | {
            "stimulus": self.stimulus,
            "item": self.item,
            "role": self.role,
            "start_s": self.start_s,
            "end_s": self.end_s,
            "text": self.text,
        }


@dataclass(frozen=True)
class Recipe:
    """A derived stimulus: its entry (without a file), its lines, and the silence between them.

    Lines that are turns of one recording have their times there (``cut``). They are heard as they
    were recorded, with what overlaps them, and ``mono`` says whether as one channel.
    """

    entry: StimulusEntry
    lines: tuple[Line, ...]
    gap_s: float = 0.0
    context_gap_s: float = 0.0
    cut: bool = False
    mono: bool = False

    @property
    def rated(self) -> tuple[Line, ...]:
        return tuple(line for line in self.lines if line.role == "rated")

    @property
    def heard_lines(self) -> tuple[Line, ...]:
        return tuple(line for line in self.lines if line.stimulus)

    def parts(self, sound: Callable[[str], Sound]) -> list[Sound | Excerpt | float]:
        """All that raters hear, in order: the sound of each line, seconds of silence between."""
        return self._parts(self.heard_lines, sound)

    def rated_parts(self, sound: Callable[[str], Sound]) -> list[Sound | Excerpt | float]:
        """What is rated alone."""
        return self._parts(self.rated, sound)

    def _parts(
        self, lines: Sequence[Line], sound: Callable[[str], Sound]
    ) -> list[Sound | Excerpt | float]:
        if self.cut:
            ends = lines[0].start_s, max(line.end_s for line in lines)
            return [Excerpt(sound(lines[0].stimulus), *ends)]
        parts: list[Sound | Excerpt | float] = []
        for before, line in zip((None, *lines), lines, strict=False):
            if before is not None:
                gap_s = self.gap_s if before.role == line.role else self.context_gap_s
                parts += [gap_s] if gap_s else []
            parts.append(sound(line.stimulus))
        return parts

    def timeline(self, spans: Sequence[tuple[float, float]]) -> list[dict[str, Any]]:
        """The lines as they are stored, with the times of those that are heard."""
        if self.cut:
            start_s = self.lines[0].start_s
            spans = [(line.start_s - start_s, line.end_s - start_s) for line in self.lines]
        times = iter(spans)
        timed = []
        for line in self.lines:
            if line.stimulus:
                start_s, end_s = next(times)
                line = replace(line, start_s=round(start_s, 6), end_s=round(end_s, 6))
            timed.append(line.as_dict())
        if next(times, None) is not None:
            raise ValueError("there are more times than lines that are heard")
        return timed


@dataclass(frozen=True)
class Mistake:
    """What is wrong with a setting (`place`), or with the row of a stimulus."""

    place: str
    what: str
    remedy: str
    stimulus: str = ""


@dataclass(frozen=True)
class Paragraph:
    """Lines by position; `whole` when none is missing at the start or in between."""

    key: str
    lines: tuple[ItemEntry, ...]
    whole: bool = True

    def windows(self, length: int) -> Iterator[tuple[ItemEntry, ...]]:
        """Every run of so many neighbours in the list, whether or not a line is missing there."""
        for start in range(len(self.lines) - length + 1):
            yield self.lines[start : start + length]

    def beginning(self, length: int) -> Paragraph:
        """The paragraph as if it ended after so many lines, counted by their places."""
        end = min(_position(self.lines[0]), 1) + length
        lines = tuple(line for line in self.lines if _position(line) < end)
        return Paragraph(self.key, lines, bool(lines) and self.whole)


def neighbours(lines: Sequence[ItemEntry]) -> bool:
    """Do the lines follow each other without a gap?"""
    places = [_position(line) for line in lines]
    return all(b == a + 1 for a, b in pairwise(places))


@dataclass
class Manifest:
    """The lines of a study: items of paragraphs that have a recording which is no trap."""

    study: StudyFile
    recordings: dict[tuple[str, str], StimulusEntry] = field(default_factory=dict)
    first: dict[str, StimulusEntry] = field(default_factory=dict)  # of each item: its first row

    def __post_init__(self) -> None:
        for stimulus in self.study.stimuli:
            if not stimulus.trap:
                self.recordings.setdefault((stimulus.condition, stimulus.item), stimulus)
                self.first.setdefault(stimulus.item, stimulus)

    def paragraphs(
        self, dimensions: Sequence[str], gaps_allowed: bool
    ) -> tuple[list[Paragraph], list[Mistake]]:
        """In order of appearance; with `dimensions`, only those made of such lines alone."""
        groups: dict[str, list[ItemEntry]] = {}
        for item in self.study.items:
            if item.paragraph and item.key in self.first:
                groups.setdefault(item.paragraph, []).append(item)
        paragraphs, mistakes = [], []
        for key, items in groups.items():
            if dimensions and any(item.dimension not in dimensions for item in items):
                continue
            wrong = list(self._wrong_places(key, items, gaps_allowed))
            mistakes += wrong
            if not wrong:
                lines = tuple(sorted(items, key=_position))
                whole = neighbours(lines) and _position(lines[0]) <= 1
                paragraphs.append(Paragraph(key, lines, whole))
        return paragraphs, mistakes

    def _wrong_places(
        self, key: str, items: Sequence[ItemEntry], gaps_allowed: bool
    ) -> Iterator[Mistake]:
        placed: dict[int, ItemEntry] = {}
        for item in items:
            if item.position is None:
                what = f"The item “{item.key}” of paragraph “{key}” has no position."
                yield self._at(item, what, "Write its place in the paragraph: 1, 2, 3 …")
            elif (other := placed.setdefault(item.position, item)) is not item:
                what = (
                    f"The items “{other.key}” and “{item.key}” both have position "
                    f"{item.position} of paragraph “{key}”."
                )
                yield self._at(item, what, "Correct one of them.")
        if gaps_allowed or len(placed) < len(items):
            return
        first = min(placed, default=1)
        before = first if first <= 1 else 0  # some count from 0
        for position in sorted(placed):
            if position > before + 1:
                missing = f"position {before + 1}"
                if position > before + 2:
                    missing = f"positions {before + 1} to {position - 1}"
                item = placed[position]
                what = f"The paragraph “{key}” has no line at {missing}, before “{item.key}”."
                remedy = "Add the line, correct the position, or set allow_missing = true."
                yield self._at(item, what, remedy)
            before = position

    def _at(self, item: ItemEntry, what: str, remedy: str) -> Mistake:
        return Mistake("position", what, remedy, self.first[item.key].key)


def _position(item: ItemEntry) -> int:
    return item.position or 0


def joined_item(lines: Sequence[ItemEntry]) -> ItemEntry:
    first, last = lines[0], lines[-1]
    to = "" if first is last else f"-{last.position}"
    return replace(
        first,
        key=f"{first.paragraph}.{first.position}{to}",
        text=_joined_text(lines),
        dimension=_common(line.dimension for line in lines),
        speaker=_common(line.speaker for line in lines),
        language=_common(line.language for line in lines),
        split=_common(line.split for line in lines),
        derived=True,
    )


def _common(values: Iterator[str]) -> str:
    """The value, if there is only one."""
    different = set(values)
    return different.pop() if len(different) == 1 else ""


def _joined_text(lines: Sequence[ItemEntry]) -> str:
    """Turns of a dialogue on lines of their own, sentences of one speaker one after the other."""
    text = ""
    for before, line in zip((None, *lines), lines, strict=False):
        if text and line.text and before is not None:
            unspaced = line.language.partition("-")[0] in UNSPACED
            text += "\n" if before.speaker != line.speaker else "" if unspaced else " "
        text += line.text
    return text


def attributes_of(form: Form, window: Sequence[ItemEntry]) -> dict[str, str]:
    """What an analysis may ask about a cell; all of it as text, as attributes are."""
    context, rated = window[: form.context_lines], window[form.context_lines :]
    attributes = {
        "setting": form.setting,
        "lines": str(len(rated)),
        "position": str(rated[0].position),
        "paragraph": rated[0].paragraph,
    }
    if context:
        others = {line.speaker for line in context} - {rated[0].speaker}
        attributes["context_lines"] = str(len(context))
        attributes["context_speaker"] = "other" if others else "same"
    return attributes


@dataclass(frozen=True)
class Skipped:
    """A paragraph of which a condition could not be made, wholly or in part."""

    setting: str
    condition: str
    paragraph: str
    there: int  # lines
    needed: int
    why: str = "short"  # or "missing": a line, or its recording


@dataclass(frozen=True)
class Derived:
    """What settings make of lines; and what is wrong with them, in which case it is not used."""

    conditions: tuple[ConditionEntry, ...] = ()
    items: tuple[ItemEntry, ...] = ()
    stimuli: tuple[Recipe, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    mistakes: tuple[Mistake, ...] = ()
    passed_over: tuple[tuple[str, int], ...] = ()  # what the setting asked to leave out, counted

    def added_to(self, study: StudyFile) -> StudyFile:
        """The study with all of this as if its files had held it."""
        return replace(
            study,
            conditions=(*study.conditions, *self.conditions),
            items=(*study.items, *self.items),
            stimuli=(*study.stimuli, *(recipe.entry for recipe in self.stimuli)),
        )

    def summary(self) -> str:
        """What was made and what was not, in a line; empty when the study has no settings."""
        if not self.conditions and not self.skipped:
            return ""
        lines = {line.stimulus for recipe in self.stimuli for line in recipe.heard_lines}
        counts_made = (
            f"{counted(len(self.stimuli), 'stimulus', 'stimuli')} of "
            f"{counted(len(self.conditions), 'condition')} made from "
            f"{counted(len(lines), 'line')}"
        )
        counts = Counter((s.condition, s.why) for s in self.skipped)
        words = {"short": "too short", "missing": "with lines missing"}
        left_out = [
            f"{condition}: {counted(n, 'paragraph')} {words[why]}"
            for (condition, why), n in counts.items()
        ]
        notes = [f"{n:,} {what}" for what, n in self.passed_over if n]
        return "; ".join([counts_made, *left_out, *notes]) + "."


def derive(study: StudyFile) -> Derived:
    """The long-form material of a study, in the order of its settings and paragraphs."""
    return _Workshop(study).derived() if study.settings else Derived()


@dataclass(frozen=True)
class _Condition:
    """One condition to make: the form, and whose recordings speak its voices."""

    form: Form
    key: str
    speakers: dict[Voice, str]  # R and T: keys of conditions of study.toml

    @property
    def rated(self) -> str:
        return self.speakers[self.form.rated_voice]

    @property
    def context(self) -> str:
        """The condition of the context; empty without context and for context that is read."""
        return self.speakers.get(self.form.context_voice or "Text", "")


@dataclass
class _Workshop:
    """All settings of one study, made into rows; two settings may share an item."""

    study: StudyFile
    conditions: dict[str, ConditionEntry] = field(default_factory=dict)
    items: dict[str, ItemEntry] = field(default_factory=dict)
    stimuli: dict[str, Recipe] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)
    mistakes: dict[Mistake, None] = field(default_factory=dict)
    passed_over: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.manifest = Manifest(self.study)
        self.known = {c.key: c for c in self.study.conditions}
        self.own_items = {i.key: i for i in self.study.items}
        self.own_stimuli = {s.key for s in self.study.stimuli}

    def derived(self) -> Derived:
        for n, table in enumerate(self.study.settings, start=1):
            self._make_setting(f"settings[{n}]", table)
        return Derived(
            tuple(self.conditions.values()),
            tuple(i for i in self.items.values() if i.key not in self.own_items),
            tuple(self.stimuli.values()),
            tuple(self.skipped),
            tuple(self.mistakes),
            tuple(self.passed_over.items()),
        )

    def say(self, place: str, what: str, remedy: str, stimulus: str = "") -> None:
        self.mistakes[Mistake(place, what, remedy, stimulus)] = None

    def _make_setting(self, where: str, table: dict[str, Any]) -> None:
        wanted = list(self._wanted(where, table))
        if not wanted:
            return
        if table.get("lines") == "turns":
            for condition in wanted:
                self._make_turns(where, table, condition)
            return
        allowed = bool(table.get("allow_missing"))
        paragraphs, wrong = self.manifest.paragraphs(table.get("dimensions", ()), allowed)
        self.mistakes |= dict.fromkeys(wrong)
        if not paragraphs and not wrong:
            what = "No paragraph can be used: the conditions are made of the lines of paragraphs."
            remedy = "Fill the columns paragraph and position of stimuli.csv."
            if table.get("dimensions"):
                remedy = "A paragraph is used when all its lines have one of these dimensions."
            self.say(f"{where}.dimensions" if table.get("dimensions") else where, what, remedy)
            return
        paragraphs = self._beginnings(table, paragraphs)
        if not wrong:  # else what is missing would be said twice
            for condition in wanted:
                self._make_condition(where, table, condition, paragraphs)

    def _beginnings(self, table: dict[str, Any], paragraphs: list[Paragraph]) -> list[Paragraph]:
        """Of each paragraph its first lines, as many as the setting takes; all without a number."""
        first_lines = table.get("first_lines")
        if not first_lines:
            return paragraphs
        cut = [paragraph.beginning(first_lines) for paragraph in paragraphs]
        left = sum(len(p.lines) for p in paragraphs) - sum(len(p.lines) for p in cut)
        self.passed_over[f"later lines left out (first_lines = {first_lines})"] += left
        return cut

    def _wanted(self, where: str, table: dict[str, Any]) -> Iterator[_Condition]:
        """The conditions of one setting whose names and voices are right."""
        forms = list(self._forms(where, table))
        if not self._voices_are_right(where, table, {v for form in forms for v in form.voices}):
            return
        real, synthetic = table.get("real", ""), list(table.get("synthetic", ()))
        for form in forms:
            for system in synthetic if "T" in form.voices else [""]:
                suffix = f" ({system})" if system and len(synthetic) > 1 else ""
                key = " ".join(filter(None, [table.get("key", ""), form.name])) + suffix
                if self._key_is_free(where, key):
                    wanted = _Condition(form, key, {"R": real, "T": system})
                    self.conditions[key] = self._condition_entry(wanted, bool(suffix))
                    yield wanted

    def _forms(self, where: str, table: dict[str, Any]) -> Iterator[Form]:
        for name in table.get("conditions", ()):
            try:
                yield form_named(name)
            except BadName as bad:
                self.say(f"{where}.conditions", bad.what, bad.remedy)

    def _voices_are_right(self, where: str, table: dict[str, Any], voices: set[Voice]) -> bool:
        named = {"real": [table.get("real", "")], "synthetic": list(table.get("synthetic", ()))}
        right = True
        for name, voice in (("real", "R"), ("synthetic", "T")):
            keys = [key for key in named[name] if key]
            for key in keys:
                right = self._is_condition(f"{where}.{name}", key) and right
            if voice in voices and not keys:
                what = f"The conditions with {voice} need the {name} speech, which is not named."
                self.say(f"{where}.{name}", what, f'Add {name} = "…", the key of a condition.')
                right = False
        return right

    def _is_condition(self, place: str, key: str) -> bool:
        if key not in self.known:
            self.say(place, f"“{key}” is no condition.", did_you_mean(key, self.known))
        elif self.known[key].role == "trap":
            what = f"The condition “{key}” has the role trap, and traps are no lines."
            self.say(place, what, "Name another condition, or change its role.")
        else:
            return True
        return False

    def _key_is_free(self, where: str, key: str) -> bool:
        if len(key) > LONGEST_KEY:
            what = f"The name “{key}” has {len(key)} characters; {LONGEST_KEY} are allowed."
            self.say(f"{where}.synthetic", what, "Shorten the keys of the conditions.")
        elif key in self.known:
            what = f"“{key}” is the key of a condition of study.toml already."
            self.say(f"{where}.conditions", what, f"Rename that one, or give {where} a key.")
        elif key in self.conditions:
            what = f"The condition “{key}” is made already."
            self.say(f"{where}.conditions", what, "Give each of the [[settings]] its own key.")
        else:
            return True
        return False

    def _condition_entry(self, wanted: _Condition, several: bool) -> ConditionEntry:
        base, form = self.known[wanted.rated], wanted.form
        label = wanted.key
        if several:
            system = self.known[wanted.speakers["T"]]
            label = wanted.key.removesuffix(f" ({system.key})")
            label += f" ({system.label or system.key})"
        setting = {"setting": form.setting, "form": form.name, "rated_condition": wanted.rated}
        if form.context_voice:
            setting["context_condition"] = wanted.context or "text"
        return replace(
            base,
            key=wanted.key,
            label=label[:LONGEST_LABEL],
            attributes={**base.attributes, **setting},
            derived=True,
        )

    # --- The cells of one condition ---------------------------------------------------------------

    def _make_condition(
        self, where: str, table: dict[str, Any], wanted: _Condition, paragraphs: list[Paragraph]
    ) -> None:
        windows_made, known = 0, len(self.mistakes)
        for paragraph in paragraphs:
            there, needed = len(paragraph.lines), wanted.form.needed_lines
            skip = Skipped(table.get("key", ""), wanted.key, paragraph.key, there, needed)
            if there < needed:
                self.skipped.append(skip)
                continue
            usable, lost = self._usable(where, table, wanted, paragraph)
            if lost:
                self.skipped.append(replace(skip, why="missing"))
            for window in usable:
                self._make_cell(table, wanted, window)
            windows_made += len(usable)
        if not windows_made and known == len(self.mistakes):
            what = (
                f"No paragraph has the {wanted.form.needed_lines} lines in a row that "
                f"“{wanted.form.name}” needs."
            )
            self.say(f"{where}.conditions", what, "Remove it, or add longer paragraphs.")

    def _usable(
        self, where: str, table: dict[str, Any], wanted: _Condition, paragraph: Paragraph
    ) -> tuple[list[tuple[ItemEntry, ...]], int]:
        """Windows of which nothing is missing, and the number of the others."""
        usable, lost = [], 0
        which = table.get("windows", "all")
        windows = _windows(wanted.form, paragraph, which)
        others = len(_windows(wanted.form, paragraph, "all")) - len(windows)
        self.passed_over[f'other pairs left out (windows = "{which}")'] += others
        for window in windows:
            missing = list(self._gone(wanted, window))
            if missing and not table.get("allow_missing"):
                for line, what in missing:
                    remedy = f"Add it, or set allow_missing = true in {where}."
                    self.say("item", what, remedy, self.manifest.first[line.key].key)
            broken = not neighbours(window)
            broken |= wanted.form.setting == "paragraph" and not paragraph.whole
            if missing or broken:
                lost += 1
            else:
                usable.append(window)
        return usable, lost

    def _gone(
        self, wanted: _Condition, window: Sequence[ItemEntry]
    ) -> Iterator[tuple[ItemEntry, str]]:
        """Lines of the window without the recording, or the text, that is needed."""
        for line, role in _roles(wanted.form, window):
            whose = wanted.rated if role == "rated" else wanted.context
            name = f"The line “{line.key}” of paragraph “{line.paragraph}”"
            if whose and (whose, line.key) not in self.manifest.recordings:
                yield line, f"{name} has no row of “{whose}”."
            elif not whose and not line.text:
                yield line, f"{name} is to be read as context and has no text."

    def _make_cell(
        self, table: dict[str, Any], wanted: _Condition, window: Sequence[ItemEntry]
    ) -> None:
        lines = tuple(self._line(wanted, line, role) for line, role in _roles(wanted.form, window))
        rated = window[wanted.form.context_lines :]
        item = self._item(rated)
        key = "_".join(f"{wanted.key}:{item.key}".split())
        anchor = self.manifest.first[rated[0].key].key
        if len(key) > LONGEST_STIMULUS or len(item.key) > LONGEST_KEY:
            what = f"The name “{key}”, made of condition and paragraph, is too long."
            self.say("paragraph", what, "Shorten the name of the paragraph.", anchor)
        elif key in self.own_stimuli or key in self.stimuli:
            what = f"“{key}”, made of condition and paragraph, is the id of another stimulus."
            self.say("paragraph", what, "Rename the stimulus or the paragraph.", anchor)
        attributes = attributes_of(wanted.form, window)
        gap_s = float(table.get("gap_s", 0.3))
        context_gap_s = table.get("context_gap_s")
        self.stimuli[key] = Recipe(
            StimulusEntry(key, wanted.key, item.key, "", attributes=attributes),
            lines,
            gap_s,
            gap_s if context_gap_s is None else float(context_gap_s),
        )

    # --- The turns of recorded conversations ------------------------------------------------------

    def _make_turns(self, where: str, table: dict[str, Any], wanted: _Condition) -> None:
        """The cells of one condition, cut from the recordings of the condition that it rates."""
        form, made = wanted.form, 0
        if form.context_voice not in (None, form.rated_voice):
            what = f"“{form.name}” needs context by another voice than the recording's own."
            self.say(f"{where}.conditions", what, "Write T1T1, T2T1, R1R1, Tp or Ti.")
            return
        for stimulus in self.study.stimuli:
            if stimulus.condition != wanted.rated or stimulus.trap:
                continue
            try:
                turns = turns_of(stimulus.attributes.get("turns", ""))
            except ValueError as error:
                what, remedy = f"The {error}.", 'Write "A 0-2.5; B 2.85-6.1".'
                self.say("turns", what, remedy, stimulus.key)
                continue
            if not turns or any(turn.end_s <= turn.start_s for turn in turns):
                what = f"The recording “{stimulus.key}” has no turns with times."
                remedy = "Write them in the column turns, or run find_turns."
                self.say("turns", what, remedy, stimulus.key)
                continue
            for cell in self._turn_windows(form, table, turns):
                made += 1
                self._make_turn_cell(table, wanted, stimulus, turns, cell)
        if not made and not self.mistakes:
            what = f"No recording of “{wanted.rated}” has the turns that “{form.name}” needs."
            self.say(f"{where}.conditions", what, "Remove it, or add longer conversations.")

    def _turn_windows(
        self, form: Form, table: dict[str, Any], turns: Sequence[Turn]
    ) -> list[range]:
        """Places of the turns of each cell, in the order in which they begin."""
        n = min(len(turns), table.get("first_lines") or len(turns))
        if form.setting == "paragraph":
            return [range(n)]
        windows = [range(k, k + form.needed_lines) for k in range(n - form.needed_lines + 1)]
        return _chosen(form, windows, table.get("windows", "all"))

    def _make_turn_cell(
        self,
        table: dict[str, Any],
        wanted: _Condition,
        stimulus: StimulusEntry,
        turns: Sequence[Turn],
        places: range,
    ) -> None:
        form, whole = wanted.form, self.own_items[stimulus.item]
        ordered = sorted(turns, key=lambda turn: (turn.start_s, turn.end_s))
        window = [
            replace(
                whole,
                key=f"{whole.key}.{place + 1}",
                text=ordered[place].text,
                paragraph=whole.paragraph or whole.key,
                position=place + 1,
                speaker=ordered[place].speaker,
                transcript="",
            )
            for place in places
        ]
        lines = tuple(
            Line(
                stimulus.key,
                item.key,
                "rated" if role == "rated" else "context",
                turn.text,
                turn.start_s,
                turn.end_s,
                turn.speaker,
            )
            for (item, role), turn in zip(
                _roles(form, window), (ordered[place] for place in places), strict=True
            )
        )
        rated = window[form.context_lines :]
        to = "" if len(rated) == 1 else f"-{rated[-1].position}"
        item = replace(
            rated[0],
            key=f"{whole.key}.{rated[0].position}{to}",
            text=whole.text if form.setting == "paragraph" else rated[0].text,
            speaker=_common(each.speaker for each in rated),
            derived=True,
        )
        attributes = attributes_of(form, window)
        first = lines[form.context_lines]
        if form.context_lines and lines[form.context_lines - 1].speaker != first.speaker:
            offset_s = first.start_s - lines[form.context_lines - 1].end_s
            attributes[OFFSET] = f"{offset_s:.3f}"
        if stimulus.run > 1:
            return  # raters get the first synthesis
        key = "_".join(f"{wanted.key}:{item.key}".split())
        self.items.setdefault(item.key, item)
        mono = table.get("channels", "both") == "mono"
        entry = StimulusEntry(key, wanted.key, item.key, "", attributes=attributes)
        self.stimuli[key] = Recipe(entry, lines, cut=True, mono=mono)

    def _line(self, wanted: _Condition, item: ItemEntry, role: str) -> Line:
        whose = wanted.rated if role == "rated" else wanted.context
        stimulus = self.manifest.recordings[whose, item.key].key if whose else ""
        return Line(stimulus, item.key, "rated" if role == "rated" else "context", item.text)

    def _item(self, rated: Sequence[ItemEntry]) -> ItemEntry:
        """The item of these lines, the same one for every condition that rates them."""
        item = joined_item(rated)
        own = self.own_items.get(item.key)
        if own is not None and list(rated) != [own]:
            what = f"The item “{own.key}” has the name of lines that the settings make."
            row = self.manifest.first.get(own.key) or self.manifest.first[rated[0].key]
            self.say("item", what, "Rename the item.", row.key)
        return self.items.setdefault(item.key, item)


def _windows(form: Form, paragraph: Paragraph, which: str) -> list[tuple[ItemEntry, ...]]:
    """Isolation takes every line; `which` chooses among the pairs of context and stimulus."""
    if form.setting == "paragraph":
        return [paragraph.lines]
    return _chosen(form, list(paragraph.windows(form.needed_lines)), which)


def _chosen(form: Form, windows: list[Window], which: str) -> list[Window]:
    if form.setting == "isolation" or which == "all":
        return windows
    return windows[:1] if which == "first" else windows[-1:]


def _roles(form: Form, window: Sequence[ItemEntry]) -> Iterator[tuple[ItemEntry, str]]:
    for n, line in enumerate(window):
        yield line, "context" if n < form.context_lines else "rated"
