"""When each rule was decided, before the opening or after; and exclusions that were undone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from analysis.formatting import counted, listed
from analysis.report.content import Table, column, table_row
from analysis.report.part import PartInput
from analysis.statistics.screening import rule_text
from analysis.statistics.screening.rule_text import as_it_is_here, other_version

if TYPE_CHECKING:
    from listening.selectors import RuleFacts

BEFORE = "before opening"


@table_row
class DecidedRow:
    """A rule of the study's own."""

    rule: str = column("Rule")
    decided: str = column("Decided")
    on: str = column("When (UTC)")
    by: str = column("By")
    why: str = column("Why")


@table_row
class SparedRow:
    """A rater of whom somebody undid a rule's exclusion."""

    rule: str = column("Rule")
    rater: str = column("Rater")
    ratings: int = column("Ratings that came back", "count")
    because: str = column("Why")
    by: str = column("By")
    on: str = column("When (UTC)")


def decided_table(inputs: PartInput) -> Iterator[Table]:
    """The study's own rules in force, and when each was decided; of a file nothing is known."""
    rows = [
        DecidedRow(each["rule"], _when(each), each["on"], each["by"], each["why"])
        for each in _facts(inputs).values()
    ]
    if rows:
        title = "The study's own rules, and when they were decided"
        yield Table.of(DecidedRow, "screening_decided", title, rows)


def decided_sentences(inputs: PartInput) -> list[str]:
    """Which of the study's own rules were declared before it opened, and which were added."""
    known = _facts(inputs)
    held = [known[text] for rule in inputs.options.rules if (text := rule_text(rule)) in known]
    before = [each["rule"] for each in held if each["declared"]]
    sentences = []
    if before:
        were = "was" if len(before) == 1 else "were"
        frozen = inputs.facts["definition_sha256"] if inputs.facts else ""
        mark = f" (definition {frozen[:12]}…)" if frozen else ""
        sentences.append(f"{listed(before)} {were} declared before the study opened{mark}.")
    sentences += [
        f"{each['rule']} was added on {each['on']} UTC, after {each['ratings']:,} ratings were "
        f"stored: {each['why']}"
        for each in held
        if not each["declared"]
    ]
    return sentences


def decided_warnings(inputs: PartInput) -> Iterator[str]:
    """Rules that were decided with ratings at hand, declared ones left away, other versions."""
    known, used = _facts(inputs), {rule_text(rule) for rule in inputs.options.rules}
    late = [e["rule"] for text, e in known.items() if text in used and not e["declared"]]
    if late:
        one = len(late) == 1
        yield (
            f"The rule{'' if one else 's'} {listed(late)} {'was' if one else 'were'} decided after "
            "ratings had come in: look at the results without, too."
        )
    for each in inputs.facts.get("rules", []) if inputs.facts else []:
        if each["declared"] and each["ended_on"]:
            yield (
                f"The rule {each['rule']} was declared before the study opened and ended on "
                f"{each['ended_on']} UTC, after {each['ended_ratings']:,} ratings: "
                f"{each['ended_because']}"
            )
    left = [e["rule"] for text, e in known.items() if e["declared"] and text not in used]
    if left:
        yield f"Declared before the study opened and not used here: {listed(left)}."
    for each in known.values():
        if version := other_version(each["rule"]):
            yield f"{each['rule']} was declared at version {version}; here it has another one."


def spared_table(inputs: PartInput) -> Iterator[Table]:
    """The exclusions that were undone, with who and why."""
    spared = inputs.facts.get("spared", []) if inputs.facts else []
    told = {(each["rule"], each["rater"]): each for each in spared}
    rows = []
    for (rule, rater), count in inputs.screened.spared.items():
        facts = told.get((rule, rater))
        why = (facts["because"], facts["by"], facts["on"]) if facts else ("", "", "")
        rows.append(SparedRow(rule, rater, count, *why))
    if rows:
        title = f"Exclusions that were undone ({counted(len(rows), 'rater')})"
        note = "These rules leave out nothing of these raters."
        yield Table.of(SparedRow, "screening_spared", title, rows, note=note)


def _when(facts: RuleFacts) -> str:
    return BEFORE if facts["declared"] else f"after {facts['ratings']:,} ratings"


def _facts(inputs: PartInput) -> dict[str, RuleFacts]:
    """The study's rules in force, by their texts."""
    if inputs.facts is None:
        return {}
    held = [each for each in inputs.facts.get("rules", []) if not each["ended_on"]]
    return {rule_text(as_it_is_here(each["rule"])): each for each in held}
