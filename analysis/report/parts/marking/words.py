"""Errors that raters marked: per 100 words, by kind, on each word, and how far raters agree."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from analysis.citations import citation
from analysis.ratings.breakdowns import Family
from analysis.ratings.metric_scores import HYPOTHESIS, newest_scores
from analysis.report.content import Content, Figure, column, row_from, table_row, together
from analysis.report.part import FamilyInput, PartInput
from analysis.report.parts.marking.marked_clips import (
    AgreementRow,
    MarkedClip,
    agreement_in_words,
    agreements,
    answers_of,
    clip_entry,
    in_order,
    marks_file,
    most_frequent,
    most_marked,
)
from analysis.report.parts.marking.rates import (
    ALL_SYSTEMS,
    PER_WORDS,
    marks_in,
    rates_of_marks,
)
from listening.methods.marks import Mark
from listening.methods.transcript_scores import SpokenText, score_transcript, spoken_units

if TYPE_CHECKING:
    from listening.selectors import MarkingFacts


WITHOUT_TEXTS = (
    "The map of sentences and the agreement between raters need the texts of the clips. A file of "
    "ratings does not hold them: analyse the study itself."
)
WITHOUT_PLACES = (
    "No metric of these clips says where errors are. Score them with wer (or cer) to see which "
    "words a recogniser got wrong."
)
_MAP_NOTE = (
    "Share of raters who marked the word. Kind: the one that most of them chose. Recogniser: the "
    "words that wer or cer heard in its place; a dash: heard as it is, or not scored."
)
_AGREEMENT_NOTE = (
    "Alpha: Krippendorff's nominal alpha over words, marked or not; 0 is chance, 1 full agreement. "
    "Alpha of kinds: the same over no mark and each kind. Positive agreement: of a word that one "
    "rater marked, the share of the other raters who marked it. Intervals resample clips; fewer "
    "than 8 clips have none."
)
_RECOGNISER_NOTE = (
    "Words that wer or cer substituted or left out. Marked: share of raters who marked a word, "
    "mean over these words, and over all other words of the same clips."
)
_METHOD = (
    "Raters read the text of each clip and marked the words that sounded wrong, with the kind of "
    f"error (error marking, after {citation('gutierrez2021')}). The score is the number of marks "
    "per 100 words. Agreement on words is Krippendorff's nominal alpha "
    f"({citation('krippendorff2019')}), with an interval by a bootstrap over clips."
)


@table_row
class WordRow:
    """A word of a clip, and who marked it."""

    item: str = column("Item")
    condition: str = column("System")
    place: int = column("No.", "count")
    word: str = column("Word")
    share: float = column("Marked by", "percent", 0)
    raters: int = column("Raters", "count")
    kind: str | None = column("Kind", default=None)
    recogniser: str | None = column("Recogniser", default=None)
    stimulus: str = ""
    marked: int = 0


@table_row
class WordAgreementRow(AgreementRow):
    """How far raters agree about the words of one condition."""

    words: int = column("Words", "count")
    clips: int = column("Clips", "count")


@table_row
class RecogniserRow:
    """Words that a recogniser got wrong, and how often raters marked them and others."""

    condition: str = column("System")
    wrong: int = column("Words wrong", "count")
    others: int = column("Other words", "count")
    marked_wrong: float | None = column("Wrong words marked", "percent", 0)
    marked_others: float | None = column("Other words marked", "percent", 0)


@dataclass(frozen=True)
class Clip(MarkedClip):
    """A clip, its words, and the marks of each rater who answered about it."""

    words: Sequence[str]
    marks: Mapping[str, Sequence[Mark]]  # by rater

    def kinds_at(self, place: int) -> list[str]:
        """The kinds with which raters marked a word, counted from 1."""
        return [m.kind for marks in self.marks.values() for m in marks if place in m.words]

    def counts(self, kinds: Sequence[str]) -> np.ndarray:
        """Raters (W, 1 + K) who did not mark each word, and who chose each kind."""
        counts = np.zeros((len(self.words), 1 + len(kinds)))
        counts[:, 0] = len(self.marks)
        for marks in self.marks.values():
            for mark in marks:
                here = slice(mark.first - 1, mark.last)
                counts[here, 0] -= 1
                counts[here, 1 + kinds.index(mark.kind)] += 1
        return counts


def content_of_words(each: FamilyInput) -> Content:
    """Rates, maps, agreement and the recogniser's words."""
    family, inputs = each.family, each.inputs
    facts, kinds, rates = rates_of_marks(each, PER_WORDS, _METHOD)
    if facts is None:
        return together([rates, Content([WITHOUT_TEXTS])])
    clips = clips_of(family, facts)
    heard = recognised(clips, inputs)
    words = word_rows(clips, kinds, heard, inputs)
    agreement = list(agreement_rows(clips, list(kinds), inputs, each.level))
    key, title = "mark_agreement", "Agreement between raters on words"
    tables = [each.table(WordAgreementRow, key, title, agreement, note=_AGREEMENT_NOTE)]
    shown = {"note": _MAP_NOTE, "folded": True, "group": "item"}
    tables.append(each.table(WordRow, "marked_words", "Map of marked words", words, **shown))
    if heard:
        compared = recogniser_rows(clips, heard, inputs)
        title = "Marks on words that a recogniser got wrong"
        tables.append(
            each.table(RecogniserRow, "recogniser", title, compared, note=_RECOGNISER_NOTE)
        )
    maps = Content(
        [] if heard else [WITHOUT_PLACES],
        list(_maps(words, inputs, each)),
        tables,
        files={f"marks{each.suffix}.json": marks_json(clips, kinds, heard)},
    )
    return together([rates, maps, agreement_in_words(agreement[0], "word", each.level)])


def clips_of(family: Family, facts: MarkingFacts) -> list[Clip]:
    """The rated clips with a known text, in the order of the table."""
    known: dict[str, Clip] = {}
    marks: defaultdict[str, dict[str, Sequence[Mark]]] = defaultdict(dict)
    for row in answers_of(family):
        words = facts["words"].get(row["stimulus"])
        if not words:
            continue
        marked = marks_in(row["label"])
        own = [mark for mark in marked if isinstance(mark, Mark) and mark.last <= len(words)]
        marks[row["stimulus"]].setdefault(row["rater"], own)  # of repeated trials the first
        about = (row["stimulus"], row["condition"], row["item"], row["language"])
        known.setdefault(row["stimulus"], Clip(*about, words, marks[row["stimulus"]]))
    return list(known.values())


def recognised(clips: Sequence[Clip], inputs: PartInput) -> dict[str, list[str | None]]:
    """What wer or cer heard in the place of each word of a clip; None: the word itself.

    An empty text is a word that was left out. Clips without a score are missing.
    """
    scores = inputs.scores
    if scores is None or HYPOTHESIS not in scores.columns:
        return {}
    newest = newest_scores(scores[scores["metric"].isin(["wer", "cer"])])
    texts = dict(zip(newest["stimulus"].astype(str), newest[HYPOTHESIS].astype(str), strict=True))
    heard = {}
    for clip in clips:
        text = texts.get(clip.stimulus)
        words = words_heard(clip.words, text, clip.language) if text else None
        if words is not None:
            heard[clip.stimulus] = words
    return heard


def words_heard(words: Sequence[str], text: str, language: str) -> list[str | None] | None:
    """What a recogniser heard for each word as it was shown; None: the word itself.

    ``text`` is the whole transcript. None for all where words are normalised otherwise within
    their sentence than alone.
    """
    units = [spoken_units(word, language) for word in words]
    spoken = SpokenText(" ".join(words), language)
    pairs = [pair for pair in score_transcript(text, spoken).pairs if pair.spoken]
    if [pair.spoken for pair in pairs] != [unit for own in units for unit in own]:
        return None
    heard: list[str | None] = []
    place = 0
    for own in units:
        here = pairs[place : place + len(own)]
        place += len(own)
        wrong = any(not pair.right for pair in here)
        heard.append(" ".join(pair.typed for pair in here if pair.typed) if wrong else None)
    return heard


def word_rows(
    clips: Sequence[Clip],
    kinds: Mapping[str, str],
    heard: Mapping[str, Sequence[str | None]],
    inputs: PartInput,
) -> list[WordRow]:
    """Every word of every clip, by item and condition in the order of the study."""
    rows = []
    for clip in in_order(clips, inputs):
        other = heard.get(clip.stimulus, [None] * len(clip.words))
        for place, word in enumerate(clip.words, start=1):
            results = Counter(clip.kinds_at(place))
            most = most_frequent(results, kinds)
            marked = sum(results.values())
            there = other[place - 1]
            rows.append(
                row_from(
                    WordRow,
                    clip,
                    place=place,
                    word=word,
                    share=marked / len(clip.marks),
                    raters=len(clip.marks),
                    kind=kinds[most] if most else None,
                    recogniser=None if there is None else (there or "(left out)"),
                    marked=marked,
                )
            )
    return rows


def agreement_rows(
    clips: Sequence[Clip], kinds: Sequence[str], inputs: PartInput, level: float
) -> Iterator[WordAgreementRow]:
    """All conditions together, then each."""
    for _, marked, cells in agreements(clips, kinds, inputs, level):
        yield WordAgreementRow(**cells, words=marked.n_words, clips=marked.n_clips)


def recogniser_rows(
    clips: Sequence[Clip], heard: Mapping[str, Sequence[str | None]], inputs: PartInput
) -> Iterator[RecogniserRow]:
    """All conditions together, then each."""
    conditions = inputs.ordered("condition", {c.condition for c in clips if c.stimulus in heard})
    for name in (ALL_SYSTEMS, *conditions):
        shares: dict[bool, list[float]] = {True: [], False: []}
        for clip in clips:
            if clip.stimulus in heard and name in (ALL_SYSTEMS, clip.condition):
                for place, other in enumerate(heard[clip.stimulus], start=1):
                    share = len(clip.kinds_at(place)) / len(clip.marks)
                    shares[other is not None].append(share)
        wrong, others = shares[True], shares[False]
        yield RecogniserRow(
            condition=name,
            wrong=len(wrong),
            others=len(others),
            marked_wrong=float(np.mean(wrong)) if wrong else None,
            marked_others=float(np.mean(others)) if others else None,
        )


def marks_json(
    clips: Sequence[Clip], kinds: Mapping[str, str], heard: Mapping[str, Sequence[str | None]]
) -> str:
    """All marks of all clips: words counted from 1, kinds, and raters by their codes."""
    entries = [
        clip_entry(
            clip,
            clip.marks,
            words=list(clip.words),
            marked_by=[len(clip.kinds_at(place)) for place in range(1, len(clip.words) + 1)],
            recogniser=heard.get(clip.stimulus),
        )
        for clip in clips
    ]
    return marks_file(entries, kinds)


def _maps(words: Sequence[WordRow], inputs: PartInput, each: FamilyInput) -> Iterator[Figure]:
    """One map for each of the most marked items: systems down, words across."""
    marked: Counter[str] = Counter()
    for row in words:
        marked[row.item] += row.marked
    for number, item in enumerate(most_marked(marked, inputs), start=1):
        rows = [
            {
                "row": row.condition,
                "column": f"{row.place} {row.word}",
                "value": row.share,
                "text": f"{row.share * 100:.0f}%" if row.marked else "",
            }
            for row in words
            if row.item == item
        ]
        yield Figure(
            key=f"map_{number}{each.suffix}",
            title=f"Share of raters who marked each word: {item}",
            drawing="heatmap",
            rows=rows,
            x="Word",
            y="System",
            ends=(0.0, 1.0),
            about=each.title,
        )
