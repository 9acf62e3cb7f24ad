"""The stop rule of a study: its looks, what they decided, and estimates adjusted for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from analysis.citations import cite
from analysis.formatting import counted, percent
from analysis.name_spans import family_span
from analysis.report.content import Content, Table, column, row_from, table_row
from analysis.report.interim import FINISHED
from analysis.report.looks import (
    END,
    GO_ON,
    LEAST_STEP,
    STOP,
    ComparedFamily,
    Unit,
    compared_families,
    futile_before,
    share_of,
    significant_before,
    stopped_units,
    units_of,
)
from analysis.report.part import Part, PartInput
from analysis.report.stop_words import (
    BUDGET,
    PLANNED_LOOKS,
    paper_sentences,
    rule_sentences,
    stopped_sentences,
    words_of_stopped,
)
from analysis.statistics.planning.group_sequential import looks_design
from analysis.statistics.planning.planned_looks import (
    POWER,
    SIGNIFICANT,
    Recruiting,
    Verdicts,
    bounds_that_could_stop,
    verdicts_of,
)
from analysis.statistics.planning.stagewise import adjusted_estimate

if TYPE_CHECKING:
    from analysis.report.report_schema import Report
    from listening.selectors import LookFacts, StopFacts

CLOSED, STUDY = "closed", "study"
ADJUSTED = (
    "Adjusted: median-unbiased estimate and interval by the stagewise order of outcomes, for the "
    "looks at which this comparison could have ended recruiting for its system or the study. Each "
    "interval is for its comparison alone. The verdict is Holm's, for all comparisons of a task "
    "and criterion."
)
METHODS = (
    "Estimates after stopping are median-unbiased, by the stagewise order "
    f"{cite('tsiatis1984')}, and hold sessions that finished later {cite('whitehead1992')}."
)
NOT_ADJUSTED = (
    "The stop rule ended recruiting early. Intervals and tests in other parts take no account of "
    "the looks: claim differences by the part Stop rule."
)


@table_row
class LookRow:
    """A look that was made."""

    look: int = column("Look", "count")
    on: str = column("Made (UTC)")
    counted: str = column("Complete, counted sessions")
    in_progress: int = column("In progress", "count")
    decision: str = column("Decision")
    why: str = column("Why")
    stopped: str = column("No more raters for")
    data_sha256: str = ""
    rules: str = ""


@table_row
class VerdictRow:
    """A comparison at a look."""

    about: str
    look: int = column("Look", "count")
    condition: str = column("Condition")
    versus: str = column("Versus")
    value: float = column("Difference", "number", sign=True)
    z: float | None = column("Z", "number", 2, sign=True)
    bound: float | None = column("Significant beyond ±", "number", 2)
    futility: float | None = column("Futile within ±", "number", 2)
    verdict: str = column("Verdict")


@table_row
class AdjustedRow:
    """A comparison in the final analysis."""

    about: str
    condition: str = column("Condition")
    versus: str = column("Versus")
    plain: float = column("Unadjusted", "number", sign=True)
    value: float | None = column("Adjusted", "number", sign=True)
    low: float | None = column("{level}", "interval", key="interval")
    high: float | None
    p: float | None = column("p, adjusted for looks", "number", 4)
    verdict: str = column("Verdict")


class StopRulePart(Part):
    """The rule, the looks, and what holds after them."""

    key = "stop_rule"
    version = "1"
    title = "Stop rule"
    order = 11

    def applies(self, inputs: PartInput) -> bool:
        return bool(inputs.facts and inputs.facts.get("stop"))

    def make(self, inputs: PartInput) -> Content:
        stop = inputs.facts.get("stop") if inputs.facts else None
        if not stop:
            raise ValueError("The study has no stop rule: write [stop] into study.toml.")
        level = inputs.options.level
        sentences = [*_course(stop), *stopped_sentences(stop["made"])]
        sentences += [*rule_sentences(stop, level), *_expected(stop, level)]
        tables = [_looks_table(stop["made"])] if stop["made"] else []
        methods, warnings = paper_sentences(stop, level), []
        if stop["rule"] == PLANNED_LOOKS and stop["made"]:
            tables.append(_verdicts_table(stop["made"]))
            if stop["state"] == CLOSED and len(inputs.ratings):
                tables.append(adjusted_table(inputs, stop))
                methods.append(METHODS)
                warnings += [NOT_ADJUSTED] if stop["made"][-1]["decision"] == STOP else []
        return Content(sentences=sentences, tables=tables, methods=methods, warnings=warnings)


def looks_shown(report: Report) -> int:
    """How many looks a report shows."""
    tables = [
        table
        for part in report["parts"]
        if part["key"] == StopRulePart.key
        for table in part["tables"]
    ]
    return sum(len(table["rows"]) for table in tables if table["key"] == "looks")


def _course(stop: StopFacts) -> Iterator[str]:
    """What has happened so far, and what is next."""
    made, is_over = stop["made"], stop["state"] == CLOSED
    if made and made[-1]["decision"] == STOP:
        last = made[-1]
        ending = "closed the study" if stop["by_rule"] else "says that the study may stop"
        saved = max(last["planned"] - last["sessions"] - last["in_progress"], 0)
        yield f"The stop rule {ending} after {counted(last['sessions'], 'session')}. {last['why']}"
        if stop["rule"] != BUDGET:
            yield (
                f"Without the rule, {last['planned']:,} sessions were planned: it saves "
                f"{counted(saved, 'session')}."
            )
        return
    if made and made[-1]["decision"] == END:
        yield f"The study had all {counted(made[-1]['planned'], 'planned session')}."
        return
    if stop["rule"] == BUDGET or is_over:
        yield "The stop rule has not applied."
        return
    following = [
        (n, size)
        for n, size in enumerate(stop["sizes"], start=1)
        if n > (made[-1]["number"] if made else 0)
    ]
    if following:
        number, size = following[0]
        yield (
            f"Look {number} of {len(stop['sizes'])} is made at {counted(size, 'complete session')}."
        )


def _expected(stop: StopFacts, level: float) -> Iterator[str]:
    """What the plan was expected to cost, before any data."""
    if stop["rule"] != PLANNED_LOOKS or len(stop["looks"]) < 2:
        return
    design = looks_design(tuple(stop["looks"]), level=level, futility=stop["futility"])
    none, planned = (percent(design.expected_share(effect)) for effect in (0.0, 1.0))
    yield (
        f"For one comparison, the plan was expected to need {none} of the sessions without a "
        f"difference, and {planned} at the difference found with a power of {percent(POWER)}."
    )


def _looks_table(made: list[LookFacts]) -> Table:
    rows = [
        row_from(
            LookRow,
            look,
            look=look["number"],
            counted=f"{look['sessions']:,} of {look['planned']:,}",
            decision=look["decision_in_words"],
            stopped=", ".join(words_of_stopped(look)),
            rules=" ".join(look["rules"]),
        )
        for look in made
    ]
    return Table.from_rows(LookRow, "looks", "Looks", rows)


def _verdicts_table(made: list[LookFacts]) -> Table:
    rows = [
        row_from(VerdictRow, row, about=family_span(family["title"]), look=look["number"])
        for look in made
        for family in look["families"]
        for row in family["comparisons"]
    ]
    return Table.from_rows(
        VerdictRow,
        "look_verdicts",
        "Comparisons at each look",
        sorted(rows, key=lambda row: row.about),
        group="about",
        folded=True,
    )


# --- After the last look --------------------------------------------------------------------------


def adjusted_table(inputs: PartInput, stop: StopFacts) -> Table:
    """The comparisons of a study that is over, adjusted for the looks before the end.

    What a look found significant stays so. The last look that was made is replaced by all complete
    sessions; a study that was closed by hand spends what error is left on its final analysis.
    """
    ratings = inputs.ratings[inputs.ratings["session_status"] == FINISHED]
    final = replace(inputs, ratings=ratings, report={}, shared={})
    made = stop["made"]
    ended = made[-1]["decision"] != GO_ON
    before = made[:-1] if ended else made
    shares = [look["share"] for look in before]
    shares.append(share_of(ratings["session"].nunique(), stop, shares[-1] if shares else 0.0))
    history = [_verdicts_by_comparison(look) for look in before]
    rows: list[AdjustedRow] = []
    recruiting, stopped = _recruiting(made), stopped_units(made)
    for family in compared_families(final, stop):
        verdicts = _final_verdicts(family, stop, made, shares, ended)
        rows += _adjusted_rows(family, shares, history, recruiting, stopped, verdicts)
    return Table.from_rows(
        AdjustedRow,
        "stop_adjusted",
        "Differences adjusted for the looks",
        rows,
        level=inputs.options.level,
        group="about",
        note=ADJUSTED,
    )


def _final_verdicts(
    family: ComparedFamily,
    stop: StopFacts,
    made: list[LookFacts],
    shares: list[float],
    ended: bool,
) -> Mapping[tuple[str, str], str]:
    """The verdict of each comparison: that of the last look, or of a final analysis of its own."""
    title = family.family.title
    if ended:
        return {
            (row["condition"], row["versus"]): row["verdict"]
            for each in made[-1]["families"]
            if each["title"] == title
            for row in each["comparisons"]
        }
    numbers = [*(look["number"] for look in made), len(stop["looks"])]
    found = verdicts_of(
        family.compared,
        shares,
        numbers,
        before=significant_before(made, title),
        futile_before=futile_before(made, title),
        level=family.level,
        last=True,
    )
    return {(each.condition, each.versus): each.verdict for each in found}


def _recruiting(made: Sequence[LookFacts]) -> Recruiting:
    """What each comparison recruits for: the study, and its systems where these stop alone."""
    return {
        (family["title"], row["condition"], row["versus"]): frozenset({STUDY}).union(
            units_of(family["task"], row, in_pairs=family.get("in_pairs", False))
            if family["task"] in look["separable"]
            else ()
        )
        for look in made
        for family in look["families"]
        for row in family["comparisons"]
    }


def _verdicts_by_comparison(look: LookFacts) -> Verdicts:
    """The verdict and bound of every comparison of a look; none where it did not go on."""
    if look["decision"] != GO_ON:
        return {}
    return {
        (family["title"], row["condition"], row["versus"]): (row["verdict"], row["bound"])
        for family in look["families"]
        for row in family["comparisons"]
    }


def _adjusted_rows(
    family: ComparedFamily,
    shares: list[float],
    history: Sequence[Verdicts],
    recruiting: Recruiting,
    stopped: Set[Unit],
    verdicts: Mapping[tuple[str, str], str],
) -> Iterator[AdjustedRow]:
    for each in family.compared:
        looks = bounds_that_could_stop(history, (family.family.title, *each.pair), recruiting)
        times, bounds = [shares[place] for place, _ in looks], [bound for _, bound in looks]
        last = shares[-1] * family.share_of_raters(each, stopped)
        last = max(last, times[-1] + LEAST_STEP) if times else last
        verdict = verdicts.get(each.pair, "")
        shown: dict[str, Any] = {"value": None, "low": None, "high": None, "p": None}
        interval = each.interval
        if interval is not None and each.p is not None:
            made = adjusted_estimate(
                *([*times, last], bounds, each.value, interval, each.p),
                null=each.null,
                level=each.level,
            )
            shown = {name: getattr(made, name) for name in shown}
        yield row_from(
            AdjustedRow,
            each,
            about=family_span(family.family.title),
            plain=each.value,
            verdict=verdict if verdict == SIGNIFICANT else "not significant",
            **shown,
        )
