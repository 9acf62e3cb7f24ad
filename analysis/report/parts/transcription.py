"""What raters typed: words right, error rates of raters and of a recogniser, and confusions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from analysis.formatting import counted, enumerated
from analysis.name_spans import condition_span
from analysis.ratings.breakdowns import Family
from analysis.ratings.grouping import Breakdown
from analysis.ratings.metric_scores import newest_scores
from analysis.report.content import Content, Table, column, table_row
from analysis.report.part import FamilyInput, FamilyPart, PartInput
from analysis.report.parts.att import means
from listening.methods.text_units import in_characters
from listening.methods.transcript_scores import (
    NOTHING,
    SpellingRules,
    SpokenText,
    TranscriptScore,
    score_transcript,
)

if TYPE_CHECKING:
    import pandas as pd

    from analysis.statistics.estimator import Estimate
    from listening.selectors import TranscriptionFacts


ESTIMAND = "words_right"
MOST_CONFUSED = 100
WITHOUT_TEXTS = (
    "Error rates and confused words need the texts of the clips, which a file of ratings does not "
    "hold: analyse the study itself."
)
_RATES_NOTE = (
    "Words right: mean over answers of the words typed right / the words that count. WER, the word "
    "error rate: mean over answers of substitutions, deletions and insertions / all words of the "
    "text. Both with the interval that lets raters and sentences vary. Recogniser: mean of the "
    "metric wer over the same clips; a dash: not scored. Languages written without spaces have "
    "characters in the place of words, and cer in that of wer."
)
_CONFUSED_NOTE = (
    "Words of the texts that were typed as another word, or left out (a dash), and how often. "
    "Heard: how many answers there are to clips with the word, counted for each time it occurs."
)


@table_row
class RateRow:
    """The answers about one condition; rates in per cent."""

    condition: str = column("System")
    right: float = column("Words right (%)", "number", 1)
    right_low: float | None = column("95% CI", "interval", 1, key="right")
    right_high: float | None = None
    errors: float | None = column("WER, raters (%)", "number", 1, default=None)
    errors_low: float | None = column("95% CI", "interval", 1, key="errors", default=None)
    errors_high: float | None = None
    recogniser: float | None = column("WER, recogniser (%)", "number", 1, default=None)
    nothing: int = column("Nothing understood", "count", default=0)
    answers: int = column("Answers", "count", default=0)


@table_row
class ConfusionRow:
    """A word and what was typed in its place."""

    word: str = column("Word")
    typed: str | None = column("Typed as")
    count: int = column("Count", "count")
    heard: int = column("Heard", "count")


@dataclass(frozen=True)
class TypedAnswers:
    """The answers of a family, aligned with their texts, in the order of its table."""

    scores: Sequence[TranscriptScore | None]  # None where the text is not known
    facts: TranscriptionFacts


class Transcription(FamilyPart):
    """Words right, error rates of raters and recogniser, and the words most often misheard."""

    key = "transcription"
    version = "1"
    title = "Intelligibility: words right and confusions"
    order = 41

    def applies(self, inputs: PartInput) -> bool:
        """Whether raters typed what they heard."""
        return bool((inputs.ratings["estimand"] == ESTIMAND).any())

    def families(self, inputs: PartInput) -> Iterator[Family]:
        """Those of the estimand words_right."""
        return (each for each in super().families(inputs) if each.estimand == ESTIMAND)

    def of_family(self, each: FamilyInput) -> Content:
        """The table of rates and that of confusions."""
        family = each.family
        typed = typed_answers(family, each.inputs)
        right = means(family.table, Breakdown("condition"), each.inputs)
        rows = list(rate_rows(family, right, typed, each.inputs))
        title = "Words right and error rates"
        level = each.level
        rates = Table.from_rows(
            RateRow, f"rates{each.suffix}", title, rows, level=level, note=_RATES_NOTE
        )
        if typed is None:
            return Content([*_extremes(rows), WITHOUT_TEXTS], tables=[rates])
        tables = [rates]
        confused = confusions([score for score in typed.scores if score])
        if confused:
            tables.append(
                Table.from_rows(
                    ConfusionRow,
                    f"confusions{each.suffix}",
                    "Words most often missed or confused",
                    confused[:MOST_CONFUSED],
                    note=_CONFUSED_NOTE,
                    folded=True,
                )
            )
        return Content(
            [*_extremes(rows), *_sentences(family, typed)],
            tables=tables,
            warnings=list(_warnings(family, typed)),
            methods=[_method(family, typed)],
        )


def typed_answers(family: Family, inputs: PartInput) -> TypedAnswers | None:
    """The answers aligned anew with the texts of the study; None of a file of ratings."""
    tasks = inputs.facts.get("transcriptions", ()) if inputs.facts else ()
    task = family.group.get("task", "")
    facts = next((each for each in tasks if each["task"] == task), None)
    if facts is None:
        return None
    rules = SpellingRules(facts["typos"], tuple(facts["homophones"]))
    spoken = {key: SpokenText(*words) for key, words in facts["spoken"].items()}
    table = family.table
    scores = [
        score_transcript(str(label), spoken[str(stimulus)], rules)
        if str(stimulus) in spoken
        else None
        for label, stimulus in zip(table["label"], table["stimulus"], strict=True)
    ]
    return TypedAnswers(scores, facts)


def rate_rows(
    family: Family, right: Sequence[Estimate], typed: TypedAnswers | None, inputs: PartInput
) -> Iterator[RateRow]:
    """The conditions in the order of the study."""
    estimates = {row.condition: row for row in right}
    table = family.table
    errors = _error_rates(table, typed, inputs)
    recognised = _recognised(table, inputs)
    for name in inputs.ordered("condition", estimates):
        own, rate = estimates[name], errors.get(name)
        labels = table["label"][table["condition"] == name]
        yield RateRow(
            condition=name,
            right=100 * own.value,
            right_low=_percent(own.low),
            right_high=_percent(own.high),
            errors=_percent(rate.value) if rate else None,
            errors_low=_percent(rate.low) if rate else None,
            errors_high=_percent(rate.high) if rate else None,
            recogniser=_percent(recognised.get(name)),
            nothing=int((labels == NOTHING).sum()),
            answers=len(labels),
        )


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


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


def _recognised(table: pd.DataFrame, inputs: PartInput) -> dict[str, float]:
    """The mean error rate of a recogniser over the rated clips of each condition."""
    scores = inputs.scores
    if scores is None or not len(scores):
        return {}
    language = str(table["language"].iloc[0]) if len(table) else ""
    metric = "cer" if in_characters(language) else "wer"
    newest = newest_scores(scores[scores["metric"] == metric]).dropna(subset=["value"])
    value = dict(zip(newest["stimulus"].astype(str), newest["value"].astype(float), strict=True))
    clips = table[["condition", "stimulus"]].astype(str).drop_duplicates()
    clips = clips[clips["stimulus"].isin(value)]
    own = clips.assign(value=clips["stimulus"].map(value)).groupby("condition")["value"].mean()
    return {str(name): float(mean) for name, mean in own.items()}


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


def _extremes(rows: Sequence[RateRow]) -> Iterator[str]:
    """The conditions with the most and the fewest words right."""
    known = [row for row in rows if row.right_low is not None]
    if len(known) < 2:
        return
    best, worst = max(known, key=lambda r: r.right), min(known, key=lambda r: r.right)
    yield (
        f"Raters typed {_right(best)} of {condition_span(best.condition)} right and "
        f"{_right(worst)} of {condition_span(worst.condition)}."
    )


def _right(row: RateRow) -> str:
    return f"{row.right:.1f}% of the words (CI {row.right_low:.1f}–{row.right_high:.1f}%)"


def _sentences(family: Family, typed: TypedAnswers) -> Iterator[str]:
    if typed.facts["typos"]:
        accepted = sum(score.typos for score in typed.scores if score)
        right = sum(score.right for score in typed.scores if score)
        yield f"{accepted:,} of {counted(right, 'right word')} had one wrong letter (option typos)."
    plays = family.table["plays"]
    more = int((plays > typed.facts["plays"]).sum())
    if more:
        allowed = counted(typed.facts["plays"], "play")
        yield (
            f"{counted(more, 'answer')} came after more than {allowed} of the clip, as after a "
            "reload of the page."
        )


def _warnings(family: Family, typed: TypedAnswers) -> Iterator[str]:
    stored = family.table["score"].to_numpy(dtype=float)
    differs = sum(
        score is not None and score.share is not None and abs(score.share - value) > 1e-6
        for score, value in zip(typed.scores, stored, strict=True)
    )
    if differs:
        yield (
            f"{counted(differs, 'answer')} would now have another score than the one stored: the "
            "texts or the rules have changed since. Words right are those of the stored scores."
        )


def _method(family: Family, typed: TypedAnswers) -> str:
    languages = sorted(set(map(str, family.table["language"])))
    units = "characters" if all(map(in_characters, languages)) else "words"
    spoken: Mapping[str, Any] = typed.facts["spoken"]
    rated = set(map(str, family.table["stimulus"]))
    keyed = any(words[2] for key, words in spoken.items() if key in rated)
    scored = "keywords" if keyed else units
    rules = ["case, punctuation and apostrophes were ignored"]
    if "en" in {name.split("-")[0] for name in languages}:
        rules.append("accents were removed")
    if typed.facts["typos"]:
        rules.append("one wrong letter was allowed in words of 5 or more letters")
    if typed.facts["homophones"]:
        rules.append(
            f"homophones counted as the same word ({'; '.join(typed.facts['homophones'])})"
        )
    return (
        f"Raters heard each clip at most {counted(typed.facts['plays'], 'time')} and typed what "
        f"they understood. An answer's score is the share of {scored} right in the alignment with "
        f"the fewest edits and, among those, the most {units} right; {enumerated(rules)}."
    )
