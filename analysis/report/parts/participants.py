"""Who took part and what they were paid, counted, with small cells hidden: a paper's table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import quantiles
from typing import TYPE_CHECKING, Any

from analysis.formatting import counted, enumerated, listed, short
from analysis.report.content import Content, Table, column, table_row
from analysis.report.part import Part, PartInput
from analysis.report.pay import PayRow, pay_rows, rates_in_words
from analysis.report.small_cells import FEWEST_NUMBERS, LEAST, cells_shown

if TYPE_CHECKING:
    from listening.selectors import StudyFacts

CALLED = {  # ready-made questions, by their keys, in a paper's words and order
    "gender": "Gender",
    "age": "Age",
    "native_speaker": "First language is that of the study",
    "first_language": "First language",
    "native_languages": "First languages",
    "fluent_languages": "Fluent languages",
    "hearing": "Normal hearing",
    "listening_device": "Listened with",
    "place": "How quiet it was",
}
ALWAYS_NAMED = ("gender", "age", "native_speaker", "hearing", "listening_device")
NO_ANSWER = "no answer"
NOT_ASKED = "not asked"
_NOTE = (
    f"Raters with at least one answer, each counted once. Answers of fewer than {LEAST} raters are "
    "hidden, and the next smallest with them where the total would give them away."
)
_PAY_NOTE = (
    "Of people alone: simulated raters are paid nothing. One answer counts as one clip, traps "
    "included; a pair or a screen of several clips counts once. By the median of finished "
    "sessions: per clip and hour of pay for sessions, per session and hour of pay for clips. "
    f"Not shown for fewer than {LEAST} finished sessions or bonuses. As recorded when this "
    "analysis was made; the report card is up to date."
)


@table_row
class ParticipantRow:
    """An answer under its question, with how many raters gave it; None where that is hidden."""

    characteristic: str
    answer: str = column("Answer")
    raters: int | None = column("Raters", "count")
    share: float | None = column("Share", "percent")


class Participants(Part):
    """Gender, age, language, device and other answers of raters; pay per clip, hour and in all."""

    key = "participants"
    version = "1"
    title = "Participants and pay"
    order = 85

    def applies(self, inputs: PartInput) -> bool:
        """Whether a study tells of its raters; a file of ratings does not."""
        return inputs.facts is not None and inputs.facts["people"]["raters"] > 0

    def make(self, inputs: PartInput) -> Content:
        """The table of participants and that of pay."""
        facts = inputs.facts
        if facts is None:
            raise ValueError("who took part is not known of a file of ratings; analyse the study")
        rows, paid = list(_rows(facts)), list(pay_rows(facts))
        tables = [
            Table.from_rows(
                ParticipantRow,
                "participants",
                "Participants",
                rows,
                note=_NOTE,
                group="characteristic",
            )
        ]
        if paid:
            tables.append(Table.from_rows(PayRow, "pay", "Pay", paid, note=_PAY_NOTE))
        return Content(
            [_raters_sentence(facts, inputs), *_lacking(facts, bool(paid))],
            tables=tables,
            warnings=_warnings(facts, inputs),
            methods=list(_methods(facts, rows, paid)),
        )


def _raters_sentence(facts: StudyFacts, inputs: PartInput) -> str:
    n_raters = inputs.ratings["rater"].nunique()
    raters = counted(facts["people"]["raters"], "rater")
    return f"{raters} gave at least one answer; ratings of {n_raters:,} are in the estimates."


def _warnings(facts: StudyFacts, inputs: PartInput) -> list[str]:
    sentences = []
    if scripted := facts["people"]["scripted"]:
        sentences.append(
            f"{scripted:,} of these raters are simulated: a program generated what they say of "
            "themselves."
        )
    if inputs.options.versions:
        sentences.append(
            "These are the raters of this version alone; see each version's own report."
        )
    return sentences


def _lacking(facts: StudyFacts, paid: bool) -> Iterator[str]:
    """What a reader looks for and was not asked."""
    questions_asked = {question["key"] for form in facts["forms"] for question in form["questions"]}
    lacking = [CALLED[key].lower() for key in ALWAYS_NAMED if key not in questions_asked]
    if not set(facts["people"]["headphones"]) - {NOT_ASKED}:
        lacking.append("headphones")
    if lacking:
        yield f"Not asked in this study: {enumerated(lacking)}."
    between = [form["title"] for form in facts["forms"] if not form["questions"]]
    if between:
        yield f"Asked between trials, and not summarised here: {enumerated(between)}."
    if facts["pay"]["by"] == "nobody":
        yield "Raters are not paid, as study.toml says."
    elif not paid:
        yield (
            "Pay is not recorded: write an amount into [study.payment] of study.toml, or recruit "
            "on the page Recruiting."
        )


def _rows(facts: StudyFacts) -> Iterator[ParticipantRow]:
    """Questions that papers report first, then the study's own, then what the site noticed."""
    who = facts["people"]
    questions = [question for form in facts["forms"] for question in form["questions"]]
    known = list(CALLED)
    questions.sort(key=lambda q: known.index(q["key"]) if q["key"] in CALLED else len(known))
    for question in questions:
        yield from question_rows(question, who["raters"])
    for name, counts in (
        ("Device", who["devices"]),
        ("Headphones", who["headphones"]),
        ("Language of the pages", who["languages"]),
        ("Recruitment source", who["sources"] if facts["sources"] or facts["recruitments"] else {}),
    ):
        if set(counts) - {NOT_ASKED}:
            yield from _answer_rows(name, counts, who["raters"])


def question_rows(question: Mapping[str, Any], raters: int) -> Iterator[ParticipantRow]:
    """What ``raters`` answered, small cells hidden; who said nothing is one of the cells."""
    name = CALLED.get(question["key"], question["question"])
    silent = {NO_ANSWER: raters - question["answered"]}
    if question["kind"] == "text":
        counts = {"in words, which are not shown": question["answered"]}
    elif question["kind"] == "number":
        counts = {_numbers(question["numbers"]): question["answered"]}
    else:
        counts = question["counts"]
    several = " (several answers allowed)" * (question["kind"] == "many")
    yield from _answer_rows(f"{name}{several}", {**counts, **silent}, raters)


def _numbers(numbers: list[float]) -> str:
    if len(numbers) < FEWEST_NUMBERS:
        return f"numbers, not shown: fewer than {FEWEST_NUMBERS}"
    low, middle, high = quantiles(numbers, n=4)
    return f"median {short(middle)}, quartiles {short(low)} and {short(high)}"


def _answer_rows(name: str, counts: Mapping[str, int], raters: int) -> Iterator[ParticipantRow]:
    cells = cells_shown(counts)
    for answer, count in cells.counts.items():
        yield ParticipantRow(name, answer, count, count / raters)
    if cells.hidden > 0:
        together = "all other answers together" if cells.counts else "hidden, all together"
        yield ParticipantRow(name, together, cells.hidden, cells.hidden / raters)
    elif cells.hidden:
        yield ParticipantRow(name, f"not shown: fewer than {LEAST} raters", None, None)


def _methods(facts: StudyFacts, rows: list[ParticipantRow], paid: list[PayRow]) -> Iterator[str]:
    """A paper's sentences: how many of which gender, and what they were paid."""
    genders = [
        f"{row.answer} {row.raters:,}"
        for row in rows
        if row.characteristic == CALLED["gender"] and row.raters
    ]
    if genders:
        people = facts["people"]
        who = counted(people["raters"], "rater")
        who += f", {people['scripted']:,} of them simulated," * bool(people["scripted"])
        yield f"{who} took part (gender: {listed(genders, len(genders))})."
    for row in paid if facts["pay"]["sessions"] else ():
        stated, *derived = rates_in_words(row, facts["pay"])
        yield f"Raters were paid {stated} ({'; '.join([row.source, *derived])})."
