"""What raters typed: words or phonemes correct, error rates, a recogniser's, and confusions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from analysis.formatting import counted, enumerated
from analysis.name_spans import condition_span
from analysis.ratings.breakdowns import Family
from analysis.ratings.grouping import Breakdown
from analysis.ratings.metric_scores import HYPOTHESIS, newest_scores
from analysis.report.content import Content, Table, column, columns_of, interval_cells, table_row
from analysis.report.part import FamilyInput, FamilyPart, PartInput
from analysis.report.parts.att import means
from config.missing_packages import remedy
from listening.methods.phonemes import TOOL, tool_version, voice_for
from listening.methods.text_units import in_characters
from listening.methods.transcript_scores import NOTHING, SpokenText, TranscriptScore
from listening.methods.transcription import score_answer

if TYPE_CHECKING:
    import pandas as pd

    from analysis.statistics.estimator import Estimate
    from listening.selectors import TranscriptionFacts


PHONEMES_CORRECT = "phonemes_correct"
ESTIMANDS = ("words_right", PHONEMES_CORRECT)
MOST_CONFUSED = 100
WITHOUT_TEXTS = (
    "Error rates and confusions need the texts of the clips, which a file of ratings does not "
    "hold: analyse the study itself."
)


@dataclass(frozen=True)
class Unit:
    """What was counted, as the report names it, and its error rate."""

    one: str
    many: str
    rate: str  # abbreviated
    rate_in_full: str
    metric: str = ""  # with the same error rate of a recogniser

    @property
    def title(self) -> str:
        """Several of them, as a heading begins."""
        return self.many.capitalize()

    def fill(self, note: str) -> str:
        """A note with the names of this unit in the place of those in braces."""
        return note.format(
            unit=self.one,
            units=self.many,
            Units=self.title,
            rate=self.rate,
            full=self.rate_in_full,
            metric=self.metric,
        )


WORD = Unit("word", "words", "WER", "word error rate", "wer")
CHARACTER = Unit("character", "characters", "CER", "character error rate", "cer")
PHONEME = Unit("phoneme", "phonemes", "PER", "phoneme error rate")

_RATES_NOTE = (
    "{Units} correct: mean over answers of the {units} typed correctly / the {units} that count. "
    "{rate}, the {full}: mean over answers of substitutions, deletions and insertions / all "
    "{units} of the text. Both with the interval that lets raters and sentences vary. "
)
_METRIC_NOTE = "Recogniser: mean of the metric {metric} over the same clips; a dash: not scored."
_HYPOTHESES_NOTE = (
    "Recogniser: the same of the texts that the metric wer stores, mean over clips; a dash: none."
)
_CONFUSED_NOTE = (
    "{Units} of the texts that were typed as another {unit}, or left out (a dash), and how often. "
    "Heard: how many answers there are to clips with the {unit}, counted for each time it occurs."
)
_PHONEMES_NOTE = (
    "Phonemes in IPA by how often they were confused, in the alignment with the fewest edits. "
    "Deletion: nothing was typed for the phoneme. Insertion: a phoneme was typed that is not in "
    "the text. Occurrences: how often the phoneme was played in all answers. Share: count / "
    "occurrences."
)


@table_row
class RateRow:
    """The answers about one condition; rates in per cent."""

    condition: str = column("System")
    right: float = column("{Units} correct (%)", "number", 1)
    right_low: float | None = column("{level} CI", "interval", 1, key="right")
    right_high: float | None = None
    errors: float | None = column("{rate}, raters (%)", "number", 1, default=None)
    errors_low: float | None = column("{level} CI", "interval", 1, key="errors", default=None)
    errors_high: float | None = None
    recogniser: float | None = column("{rate}, recogniser (%)", "number", 1, default=None)
    nothing: int = column("Nothing understood", "count", default=0)
    answers: int = column("Answers", "count", default=0)
    phonemes_by: str = ""  # the tool, its version and the dialect


@table_row
class ConfusionRow:
    """A word and what was typed in its place."""

    word: str = column("Word")
    typed: str | None = column("Typed as")
    count: int = column("Count", "count")
    heard: int = column("Heard", "count")


@table_row
class PhonemeConfusionRow:
    """A phoneme and what was heard in its place; one of the two is None where there is none."""

    phoneme: str | None = column("Phoneme")
    heard_as: str | None = column("Heard as")
    kind: str = column("Error")
    count: int = column("Count", "count")
    occurrences: int | None = column("Occurrences", "count")
    share: float | None = column("Share (%)", "number", 1)  # in per cent


@dataclass(frozen=True)
class TypedAnswers:
    """The answers of a family, aligned with their texts, in the order of its table."""

    scores: Sequence[TranscriptScore | None]  # None where the text is not known
    facts: TranscriptionFacts
    pronounced_by: str = ""  # the tool, its version and the dialects of phonemes


class Transcription(FamilyPart):
    """Words or phonemes correct, error rates of raters and recogniser, and confusions."""

    key = "transcription"
    version = "2"
    title = "Intelligibility: correct answers and confusions"
    order = 41

    def applies(self, inputs: PartInput) -> bool:
        return bool(inputs.ratings["estimand"].isin(ESTIMANDS).any())

    def families(self, inputs: PartInput) -> Iterator[Family]:
        return (each for each in super().families(inputs) if each.estimand in ESTIMANDS)

    def of_family(self, each: FamilyInput) -> Content:
        """The table of rates and that of confusions."""
        family, unit = each.family, unit_of_family(each.family)
        try:
            typed = typed_answers(family, each.inputs)
            lacking = "" if typed else WITHOUT_TEXTS
        except ModuleNotFoundError as error:
            typed, lacking = None, f"Error rates and confusions are missing. {remedy(error)}"
        right = means(family.table, Breakdown("condition"), each.inputs)
        rows = list(rate_rows(family, right, typed, each.inputs))
        tables = [_rates_table(each, unit, rows)]
        if typed is None:
            return Content([*_extremes(rows, each.level, unit), lacking], tables=tables)
        if confused := _confusions_table(each, unit, [score for score in typed.scores if score]):
            tables.append(confused)
        return Content(
            [*_extremes(rows, each.level, unit), *_sentences(family, typed, unit)],
            tables=tables,
            warnings=list(_warnings(family, typed, unit)),
            methods=[_method(family, typed, unit)],
        )


def unit_of_family(family: Family) -> Unit:
    """Phonemes, words, or characters where no language of the family has spaces between words."""
    if family.estimand == PHONEMES_CORRECT:
        return PHONEME
    languages = set(map(str, family.table["language"]))
    return CHARACTER if languages and all(map(in_characters, languages)) else WORD


def _rates_table(each: FamilyInput, unit: Unit, rows: Sequence[RateRow]) -> Table:
    note = _RATES_NOTE + (_HYPOTHESES_NOTE if unit is PHONEME else _METRIC_NOTE)
    return Table.from_rows(
        RateRow,
        f"rates{each.suffix}",
        f"{unit.title} correct and error rates",
        rows,
        columns=columns_of(RateRow, level=each.level, Units=unit.title, rate=unit.rate),
        note=unit.fill(note),
    )


def _confusions_table(
    each: FamilyInput, unit: Unit, scores: Sequence[TranscriptScore]
) -> Table | None:
    """The most frequent confusions; None where every answer is correct."""
    key = f"confusions{each.suffix}"
    if unit is PHONEME:
        phonemes = phoneme_confusions(scores)[:MOST_CONFUSED]
        title = "Most frequent confusions of phonemes"
        shown = Table.from_rows(PhonemeConfusionRow, key, title, phonemes, note=_PHONEMES_NOTE)
    else:
        words = confusions(scores)[:MOST_CONFUSED]
        title, note = f"{unit.title} most often missed or confused", unit.fill(_CONFUSED_NOTE)
        shown = Table.from_rows(ConfusionRow, key, title, words, note=note, folded=True)
    return shown if shown.rows else None


def typed_answers(family: Family, inputs: PartInput) -> TypedAnswers | None:
    """The answers aligned anew with the texts of the study; None of a file of ratings.

    ModuleNotFoundError where phonemes are compared and eSpeak NG is not installed.
    """
    tasks = inputs.facts.get("transcriptions", ()) if inputs.facts else ()
    task = family.group.get("task", "")
    facts = next((each for each in tasks if each["task"] == task), None)
    if facts is None:
        return None
    spoken = {key: SpokenText(*words) for key, words in facts["spoken"].items()}
    table = family.table
    scores = [
        score_answer(str(label), spoken[str(stimulus)], facts["options"])
        if str(stimulus) in spoken
        else None
        for label, stimulus in zip(table["label"], table["stimulus"], strict=True)
    ]
    return TypedAnswers(scores, facts, _pronounced_by(family, facts))


def _pronounced_by(family: Family, facts: TranscriptionFacts) -> str:
    """The tool of phonemes, its version and dialects; empty where words are compared."""
    if family.estimand != PHONEMES_CORRECT:
        return ""
    languages = sorted(set(map(str, family.table["language"])))
    names = {voice_for(each, facts["options"].get("dialect", "")).name: "" for each in languages}
    return f"{TOOL} {tool_version()}, {enumerated(list(names))}"


def rate_rows(
    family: Family, right: Sequence[Estimate], typed: TypedAnswers | None, inputs: PartInput
) -> Iterator[RateRow]:
    """The conditions in the order of the study."""
    estimates = {row.condition: row for row in right}
    table = family.table
    errors = _error_rates(table, typed, inputs)
    recognised = _recognised(family, typed, inputs)
    for name in inputs.ordered("condition", estimates):
        own = estimates[name]
        labels = table["label"][table["condition"] == name]
        yield RateRow(
            condition=name,
            **interval_cells("right", own, 100),
            **interval_cells("errors", errors.get(name), 100),
            recogniser=None if recognised.get(name) is None else 100 * recognised[name],
            nothing=int((labels == NOTHING).sum()),
            answers=len(labels),
            phonemes_by=typed.pronounced_by if typed else "",
        )


def _error_rates(
    table: pd.DataFrame, typed: TypedAnswers | None, inputs: PartInput
) -> dict[str, Estimate]:
    """The mean error rate of each condition's answers, with its interval."""
    if typed is None:
        return {}
    rates = [None if score is None else score.error_rate for score in typed.scores]
    known = [rate is not None for rate in rates]
    own = table.assign(score=[0.0 if rate is None else rate for rate in rates])[known]
    return {row.condition: row for row in means(own, Breakdown("condition"), inputs)}


def _recognised(family: Family, typed: TypedAnswers | None, inputs: PartInput) -> dict[str, float]:
    """The mean error rate of a recogniser over the rated clips of each condition."""
    scores, unit = inputs.scores, unit_of_family(family)
    if scores is None or not len(scores):
        return {}
    value = (
        _phoneme_errors_of_recogniser(scores, typed)
        if unit is PHONEME
        else _newest_values(scores, unit.metric)
    )
    clips = family.table[["condition", "stimulus"]].astype(str).drop_duplicates()
    clips = clips[clips["stimulus"].isin(value)]
    own = clips.assign(value=clips["stimulus"].map(value)).groupby("condition")["value"].mean()
    return {str(name): float(mean) for name, mean in own.items()}


def _newest_values(scores: pd.DataFrame, metric: str) -> dict[str, float]:
    newest = newest_scores(scores[scores["metric"] == metric]).dropna(subset=["value"])
    return dict(zip(newest["stimulus"].astype(str), newest["value"].astype(float), strict=True))


def _phoneme_errors_of_recogniser(
    scores: pd.DataFrame, typed: TypedAnswers | None
) -> dict[str, float]:
    """The phoneme error rate of what the metric wer heard, by clip."""
    if typed is None or HYPOTHESIS not in scores.columns:
        return {}
    newest = newest_scores(scores[scores["metric"] == "wer"]).dropna(subset=[HYPOTHESIS])
    options = {**typed.facts["options"], "typos": "none"}
    rates = {}
    for stimulus, text in zip(newest["stimulus"].astype(str), newest[HYPOTHESIS], strict=True):
        if stimulus in typed.facts["spoken"]:
            spoken = SpokenText(*typed.facts["spoken"][stimulus])
            rates[stimulus] = score_answer(str(text), spoken, options).error_rate
    return {stimulus: rate for stimulus, rate in rates.items() if rate is not None}


def confusions(scores: Sequence[TranscriptScore]) -> list[ConfusionRow]:
    """Words that were not typed as they are, the most frequent first."""
    heard: Counter[str] = Counter()
    wrong: Counter[tuple[str, str]] = Counter()
    for score in scores:
        for pair in score.pairs:
            if pair.spoken:
                heard[pair.spoken] += 1
                if not pair.right:
                    wrong[pair.spoken, pair.typed] += 1
    ordered = sorted(wrong.items(), key=lambda each: (-each[1], each[0]))
    return [ConfusionRow(w, typed or None, n, heard[w]) for (w, typed), n in ordered]


def phoneme_confusions(scores: Sequence[TranscriptScore]) -> list[PhonemeConfusionRow]:
    """Substitutions, deletions and insertions of phonemes, the most frequent first."""
    played = Counter(pair.spoken for score in scores for pair in score.pairs if pair.spoken)
    wrong = Counter(
        (pair.spoken, pair.typed) for score in scores for pair in score.pairs if not pair.right
    )
    rows = []
    for (phoneme, heard), count in sorted(wrong.items(), key=lambda each: (-each[1], each[0])):
        kind = "Insertion" if not phoneme else "Substitution" if heard else "Deletion"
        times = played[phoneme] if phoneme else None
        share = 100 * count / times if times else None
        rows.append(PhonemeConfusionRow(phoneme or None, heard or None, kind, count, times, share))
    return rows


def _extremes(rows: Sequence[RateRow], level: float, unit: Unit) -> Iterator[str]:
    """The conditions with the most and the fewest units correct."""
    known = [row for row in rows if row.right_low is not None]
    if len(known) < 2:
        return
    best, worst = max(known, key=lambda r: r.right), min(known, key=lambda r: r.right)
    yield (
        f"Raters typed {_correct(best, level, unit)} of {condition_span(best.condition)} "
        f"correctly and {_correct(worst, level, unit)} of {condition_span(worst.condition)}."
    )


def _correct(row: RateRow, level: float, unit: Unit) -> str:
    interval = f"{level * 100:g}% CI {row.right_low:.1f}–{row.right_high:.1f}%"
    return f"{row.right:.1f}% of the {unit.many} ({interval})"


def _sentences(family: Family, typed: TypedAnswers, unit: Unit) -> Iterator[str]:
    if unit is PHONEME:
        edits = sum(score.edits for score in typed.scores if score)
        yield (
            f"{counted(edits, 'phoneme')} of the answers were substituted, deleted or inserted; "
            f"phonemes are those of {typed.pronounced_by}."
        )
    elif typed.facts["typos"]:
        accepted = sum(score.typos for score in typed.scores if score)
        right = sum(score.right for score in typed.scores if score)
        correct = counted(right, f"correct {unit.one}")
        yield f"{accepted:,} of {correct} had one wrong letter (option typos)."
    plays = family.table["plays"]
    more = int((plays > typed.facts["plays"]).sum())
    if more:
        allowed = counted(typed.facts["plays"], "play")
        yield (
            f"{counted(more, 'answer')} came after more than {allowed} of the clip, as after a "
            "reload of the page."
        )


def _warnings(family: Family, typed: TypedAnswers, unit: Unit) -> Iterator[str]:
    stored = family.table["score"].to_numpy(dtype=float)
    differs = sum(
        score is not None and score.share is not None and abs(score.share - value) > 1e-6
        for score, value in zip(typed.scores, stored, strict=True)
    )
    if differs:
        yield (
            f"{counted(differs, 'answer')} would now have another score than the one stored: the "
            f"texts or the rules have changed since. {unit.title} correct are those of "
            "the stored scores."
        )


def _method(family: Family, typed: TypedAnswers, unit: Unit) -> str:
    languages = sorted(set(map(str, family.table["language"])))
    spoken: Mapping[str, Any] = typed.facts["spoken"]
    rated = set(map(str, family.table["stimulus"]))
    keyed = any(words[2] for key, words in spoken.items() if key in rated)
    scored = unit.many if not keyed else "phonemes of keywords" if unit is PHONEME else "keywords"
    rules = ["case, punctuation and apostrophes were ignored"]
    if "en" in {name.split("-")[0] for name in languages}:
        rules.append("accents were removed")
    if typed.facts["typos"]:
        rules.append("one wrong letter was allowed in words of 5 or more letters")
    if typed.facts["homophones"]:
        rules.append(
            f"homophones counted as the same word ({'; '.join(typed.facts['homophones'])})"
        )
    pronounced = (
        f" Texts and answers were transcribed word by word by {typed.pronounced_by}, without "
        "stress. Of alignments that are equal in this, one with vowels opposite vowels was taken."
    )
    return (
        f"Raters heard each clip at most {counted(typed.facts['plays'], 'time')} and typed what "
        f"they understood. An answer's score is the share of {scored} correct in the alignment "
        f"with the fewest edits and, among those, the most {unit.many} correct; "
        f"{enumerated(rules)}.{pronounced if unit is PHONEME else ''}"
    )
