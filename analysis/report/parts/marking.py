"""Errors that raters marked: per 100 words, by kind, on each word, and how far raters agree."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from analysis.citations import citation
from analysis.formatting import ci_words, percent
from analysis.name_spans import condition_span
from analysis.ratings.breakdowns import Family
from analysis.ratings.grouping import Breakdown
from analysis.ratings.metric_scores import HYPOTHESIS, newest_scores
from analysis.report.content import Content, Figure, Table, column, table_row
from analysis.report.part import FamilyInput, FamilyPart, PartInput
from analysis.report.parts.att import means
from analysis.statistics.agreement.marked_words import MarkAgreement, agreement_of_marks
from listening.methods.marks import Mark, read_marks
from listening.methods.transcript_scores import SpokenText, score_transcript, spoken_units

if TYPE_CHECKING:
    import pandas as pd

    from analysis.statistics.estimator import Estimate
    from listening.selectors import MarkingFacts


ESTIMAND = "errors_per_100_words"
ALL_KINDS = "All kinds"
ALL_SYSTEMS = "All systems"
MOST_MAPS = 12
LOW_ALPHA = 0.667
WITHOUT_TEXTS = (
    "The map of sentences and the agreement between raters need the texts of the clips, which a "
    "file of ratings does not hold: analyse the study itself."
)
WITHOUT_PLACES = (
    "No metric of these clips says where errors are. Score them with wer (or cer) to see which "
    "words a recogniser got wrong."
)
_RATES_NOTE = (
    "Mean over answers of 100 × marks / words of the text, with an interval that lets raters and "
    "items vary. A mark over several words is one error. Marked clips: answers with at least one "
    "mark of the kind."
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
    "error (error marking, after {gutierrez}). The score is the number of marks per 100 words. "
    "Agreement on words is Krippendorff's nominal alpha ({krippendorff}), with an interval by a "
    "bootstrap over clips."
)


@table_row
class RateRow:
    """Errors of one kind in one condition, per 100 words."""

    condition: str = column("System")
    kind: str = column("Kind")
    errors: float = column("Errors per 100 words", "number", 2)
    errors_low: float | None = column("{level} CI", "interval", 2, key="errors")
    errors_high: float | None = None
    marks: int = column("Marks", "count", default=0)
    clips: int = column("Marked clips", "count", default=0)
    answers: int = column("Answers", "count", default=0)


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
class AgreementRow:
    """How far raters agree about the words of one condition."""

    condition: str = column("System")
    alpha: float | None = column("Alpha", "number", 2)
    alpha_low: float | None = column("{level} CI", "interval", 2, key="alpha")
    alpha_high: float | None
    positive: float | None = column("Positive agreement", "number", 2)
    positive_low: float | None = column("{level} CI", "interval", 2, key="positive")
    positive_high: float | None
    kinds: float | None = column("Alpha of kinds", "number", 2)
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
class Clip:
    """A clip, its words, and the marks of each rater who answered about it."""

    stimulus: str
    condition: str
    item: str
    words: Sequence[str]
    language: str
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


class Marking(FamilyPart):
    """Errors per 100 words by system and kind, maps of sentences, agreement, and a recogniser."""

    key = "marking"
    version = "1"
    title = "Marked errors"
    order = 42

    def applies(self, inputs: PartInput) -> bool:
        """Whether raters marked words."""
        return bool((inputs.ratings["estimand"] == ESTIMAND).any())

    def families(self, inputs: PartInput) -> Iterator[Family]:
        """Those of the estimand errors_per_100_words."""
        return (each for each in super().families(inputs) if each.estimand == ESTIMAND)

    def of_family(self, each: FamilyInput) -> Content:
        """Rates, maps, agreement and the recogniser's words."""
        family, inputs, level = each.family, each.inputs, each.level
        facts = facts_of(family, inputs)
        kinds = kinds_of(family, facts)
        rates = list(rate_rows(family.table, kinds, inputs))
        tables = [
            Table.from_rows(
                RateRow,
                f"errors{each.suffix}",
                "Errors per 100 words by system and kind",
                rates,
                level=level,
                note=_RATES_NOTE,
                about=each.title,
            )
        ]
        sentences = list(_extremes(rates, level))
        figures = [_figure(rates, each)]
        method = _METHOD.format(
            gutierrez=citation("gutierrez2021"), krippendorff=citation("krippendorff2019")
        )
        if facts is None:
            return Content([*sentences, WITHOUT_TEXTS], figures, tables, methods=[method])
        clips = clips_of(family, facts)
        heard = recognised(clips, inputs)
        words = word_rows(clips, kinds, heard, inputs)
        agreement = list(agreement_rows(clips, list(kinds), inputs, level))
        figures += _maps(words, inputs, each)
        tables += [
            Table.from_rows(
                AgreementRow,
                f"mark_agreement{each.suffix}",
                "Agreement between raters on words",
                agreement,
                level=level,
                note=_AGREEMENT_NOTE,
                about=each.title,
            ),
            Table.from_rows(
                WordRow,
                f"marked_words{each.suffix}",
                "Map of marked words",
                words,
                note=_MAP_NOTE,
                about=each.title,
                folded=True,
                group="item",
            ),
        ]
        if heard:
            compared = list(recogniser_rows(clips, heard, inputs))
            tables.append(
                Table.from_rows(
                    RecogniserRow,
                    f"recogniser{each.suffix}",
                    "Marks beside the words that a recogniser got wrong",
                    compared,
                    note=_RECOGNISER_NOTE,
                    about=each.title,
                )
            )
        else:
            sentences.append(WITHOUT_PLACES)
        low = agreement[0].alpha is not None and agreement[0].alpha < LOW_ALPHA
        return Content(
            [*sentences, *_agreed(agreement, level)],
            figures,
            tables,
            warnings=[_low_alpha(agreement[0].alpha)] if low else [],
            methods=[method],
            files={f"marks{each.suffix}.json": marks_json(clips, kinds, heard)},
        )


def facts_of(family: Family, inputs: PartInput) -> MarkingFacts | None:
    """What was marked in the family's task; None of a file of ratings."""
    tasks = inputs.facts.get("markings", ()) if inputs.facts else ()
    task = family.group.get("task", "")
    return next((each for each in tasks if each["task"] == task), None)


def kinds_of(family: Family, facts: MarkingFacts | None) -> dict[str, str]:
    """The kinds of errors and their words, in the order of the study; of a file, those marked."""
    own = facts["kinds"].get(family.group.get("criterion", ""), {}) if facts else {}
    results = {m.kind for label in family.table["label"] for m in _marks(label)}
    return {**own, **{kind: kind for kind in sorted(results - own.keys())}}


def _marks(label: object) -> Sequence[Mark]:
    try:
        return read_marks(str(label))
    except ValueError:  # of a file that holds scores only
        return ()


def rate_rows(
    table: pd.DataFrame, kinds: Mapping[str, str], inputs: PartInput
) -> Iterator[RateRow]:
    """All kinds together, then each kind, by condition in the order of the study."""
    marks = [_marks(label) for label in table["label"]]
    score = table["score"].to_numpy(dtype=float)
    counts = {kind: np.array([sum(m.kind == kind for m in own) for own in marks]) for kind in kinds}
    total = np.array([len(own) for own in marks])
    counts = {ALL_KINDS: total, **counts}
    for kind, count in counts.items():
        share = count / np.maximum(total, 1)
        own = table.assign(score=score if kind == ALL_KINDS else score * share)
        estimates: dict[str, Estimate] = {
            row.condition: row for row in means(own, Breakdown("condition"), inputs)
        }
        for name in inputs.ordered("condition", estimates):
            here, row = (table["condition"] == name).to_numpy(), estimates[name]
            yield RateRow(
                condition=name,
                kind=kinds.get(kind, kind),
                errors=row.value,
                errors_low=row.low,
                errors_high=row.high,
                marks=int(count[here].sum()),
                clips=int((count[here] > 0).sum()),
                answers=int(here.sum()),
            )


def clips_of(family: Family, facts: MarkingFacts) -> list[Clip]:
    """The rated clips with a known text, in the order of the table."""
    known: dict[str, Clip] = {}
    marks: defaultdict[str, dict[str, Sequence[Mark]]] = defaultdict(dict)
    names = ("stimulus", "condition", "item", "language", "rater", "label")
    for values in family.table[list(names)].astype(str).itertuples(index=False):
        row = dict(zip(names, values, strict=True))
        words = facts["words"].get(row["stimulus"])
        if not words:
            continue
        own = [mark for mark in _marks(row["label"]) if mark.last <= len(words)]
        marks[row["stimulus"]].setdefault(row["rater"], own)  # of repeated trials the first
        about = (row["stimulus"], row["condition"], row["item"], words, row["language"])
        known.setdefault(row["stimulus"], Clip(*about, marks[row["stimulus"]]))
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
    items = inputs.ordered("item", {clip.item for clip in clips})
    conditions = inputs.ordered("condition", {clip.condition for clip in clips})
    order = {name: place for place, name in enumerate(items)}
    then = {name: place for place, name in enumerate(conditions)}
    for clip in sorted(clips, key=lambda c: (order[c.item], then[c.condition], c.stimulus)):
        other = heard.get(clip.stimulus, [None] * len(clip.words))
        for place, word in enumerate(clip.words, start=1):
            results = Counter(clip.kinds_at(place))
            most = min(
                results, key=lambda kind: (-results[kind], list(kinds).index(kind)), default=""
            )
            marked = sum(results.values())
            there = other[place - 1]
            rows.append(
                WordRow(
                    item=clip.item,
                    condition=clip.condition,
                    place=place,
                    word=word,
                    share=marked / len(clip.marks),
                    raters=len(clip.marks),
                    kind=kinds[most] if most else None,
                    recogniser=None if there is None else (there or "(left out)"),
                    stimulus=clip.stimulus,
                    marked=marked,
                )
            )
    return rows


def agreement_rows(
    clips: Sequence[Clip], kinds: Sequence[str], inputs: PartInput, level: float
) -> Iterator[AgreementRow]:
    """All conditions together, then each."""
    conditions = inputs.ordered("condition", {clip.condition for clip in clips})
    groups = {name: [c for c in clips if c.condition == name] for name in conditions}
    for name, own in {ALL_SYSTEMS: list(clips), **groups}.items():
        counts = [clip.counts(kinds) for clip in own]
        every = np.concatenate(counts) if counts else np.zeros((0, 1 + len(kinds)))
        clip = np.repeat(np.arange(len(own)), [len(one) for one in counts])
        options = inputs.options
        both = np.column_stack([every[:, 0], every[:, 1:].sum(axis=1)])
        marked: MarkAgreement = agreement_of_marks(
            both, clip, level=level, replicates=options.replicates, seed=options.seed
        )
        of_kinds = agreement_of_marks(every, clip, replicates=0)
        alpha, positive = marked.alpha_bounds or (None, None), marked.positive_bounds
        yield AgreementRow(
            condition=name,
            alpha=marked.alpha,
            alpha_low=alpha[0],
            alpha_high=alpha[1],
            positive=marked.positive,
            positive_low=positive[0] if positive else None,
            positive_high=positive[1] if positive else None,
            kinds=of_kinds.alpha,
            words=marked.n_words,
            clips=marked.n_clips,
        )


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
        {
            "stimulus": clip.stimulus,
            "condition": clip.condition,
            "item": clip.item,
            "language": clip.language,
            "words": list(clip.words),
            "marked_by": [len(clip.kinds_at(place)) for place in range(1, len(clip.words) + 1)],
            "recogniser": heard.get(clip.stimulus),
            "answers": [
                {"rater": rater, "marks": [mark._asdict() for mark in marks]}
                for rater, marks in clip.marks.items()
            ],
        }
        for clip in clips
    ]
    content = {"kinds": dict(kinds), "clips": entries}
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


def _figure(rates: Sequence[RateRow], each: FamilyInput) -> Figure:
    """Errors per 100 words of each system, for all kinds and for each kind that was marked."""
    used = {row.kind for row in rates if row.marks} | {ALL_KINDS}
    rows = [
        {
            "name": row.condition,
            "key": row.condition,
            "value": row.errors,
            "low": row.errors_low,
            "high": row.errors_high,
            "group": row.kind,
            "n": row.answers,
        }
        for row in rates
        if row.kind in used
    ]
    return Figure(
        key=f"errors{each.suffix}",
        title="Errors per 100 words by kind",
        drawing="intervals",
        rows=rows,
        x="Errors per 100 words",
        decimals=1,
        about=each.title,
        interval="raters and items crossed",
    )


def _maps(words: Sequence[WordRow], inputs: PartInput, each: FamilyInput) -> Iterator[Figure]:
    """One map for each of the most marked items: systems down, words across."""
    marked: Counter[str] = Counter()
    for row in words:
        marked[row.item] += row.marked
    most = [item for item, count in marked.most_common(MOST_MAPS) if count]
    for number, item in enumerate(inputs.ordered("item", most), start=1):
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


def _extremes(rates: Sequence[RateRow], level: float) -> Iterator[str]:
    """The conditions with the fewest and the most errors, and the most frequent kind."""
    known = [row for row in rates if row.kind == ALL_KINDS]
    if len(known) > 1:
        few, many = min(known, key=lambda r: r.errors), max(known, key=lambda r: r.errors)
        yield (
            f"Raters marked {_rate(few, level)} in {condition_span(few.condition)} and "
            f"{_rate(many, level)} in {condition_span(many.condition)}."
        )
    total: Counter[str] = Counter()
    for row in rates:
        if row.kind != ALL_KINDS:
            total[row.kind] += row.marks
    if total.total():
        kind, count = total.most_common(1)[0]
        yield f"The most frequent kind is {kind}: {percent(count / total.total())} of the marks."


def _rate(row: RateRow, level: float) -> str:
    interval = ci_words(row.errors_low, row.errors_high, level, None, 1)
    return f"{row.errors:.1f} errors per 100 words{interval}"


def _agreed(rows: Sequence[AgreementRow], level: float) -> Iterator[str]:
    first = rows[0]
    if first.alpha is None or first.positive is None:
        return
    interval = ci_words(first.alpha_low, first.alpha_high, level, None, 2)
    yield (
        f"Agreement on words: alpha {first.alpha:.2f}{interval}. Of a word that one rater marked, "
        f"{percent(first.positive)} of the other raters marked it, too."
    )


def _low_alpha(alpha: float | None) -> str:
    return (
        f"Raters agree little on single words (alpha {alpha:.2f}, under {LOW_ALPHA:g}): trust the "
        "rates of systems more than the marks on one word."
    )
