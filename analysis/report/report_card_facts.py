"""What a report card says of a study itself: words, ways in, people, traps, pay, plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from statistics import quantiles
from typing import TYPE_CHECKING, Any

from analysis.formatting import counted, enumerated, short
from analysis.report.pay import (
    PayRow,
    paid_by_us,
    pay_rows,
    per_clip_and_hour,
    rates_in_words,
)
from analysis.report.report_card_entries import Entry, cells, fact, unknown
from analysis.report.report_schema import Report
from analysis.report.small_cells import FEWEST_NUMBERS, LEAST

if TYPE_CHECKING:
    from listening.selectors import HypothesisFacts, StudyFacts

    Facts = StudyFacts | None

SIGNS = {"GBP": "£", "USD": "$"}
WIDGETS = {
    "choice": "one of",
    "steps": "one of",
    "many": "any of",
    "ranking": "a place for each clip, 1 the best",
    "best_worst": "one clip as the best and one as the worst:",
    "text": "words",
    "transcript": "the words of the clip, typed; or",
    "marks": "words of the text, each marked as one of",
    "spans": "spans of the waveform, each marked as one of",
}


def recruitment(facts: Facts) -> Iterator[Entry]:
    """Where raters came from, and who was let in."""
    if facts is None:
        yield from map(unknown, ("Platforms and sources", "Filters", "Languages"))
        return
    lines = [
        f"{each['name']} ({each['kind']}"
        + (f", at most {each['quota']:,} sessions" if each["quota"] else "")
        + (", by invitation only)" if each["invited_only"] else ")")
        for each in facts["sources"]
    ]
    placed = facts["recruitments"]
    lines += [_prolific(each) for each in placed]
    yield fact("Platforms and sources", lines or ["by the study's link; no platform is recorded"])
    filters = [words for each in placed for words in each["filters"]]
    if filters or placed:
        yield fact("Filters", list(dict.fromkeys(filters)) or ["none set at Prolific"])
    else:
        yield unknown("Filters", "not known: only filters set at Prolific from here are recorded")
    others = facts["translations"]
    more = f"; raters could read it in {enumerated(others)}" if others else ""
    yield fact("Languages", f"{facts['language']}{more}")


def _prolific(each: Mapping[str, Any]) -> str:
    devices = f"; devices: {', '.join(each['devices'])}" if each["devices"] else ""
    published = (
        f", published {each['published_on']} UTC" if each["published_on"] else ", not published"
    )
    return f"Prolific: {counted(each['places'], 'place')}{published}{devices}"


def people(facts: Facts) -> Iterator[Entry]:
    """Who took part: counts alone, small ones hidden."""
    if facts is None:
        yield from map(unknown, ("Devices", "Headphones", "Age, gender and other answers"))
        return
    who = facts["people"]
    scripted = f", {who['scripted']:,} of them simulated" if who["scripted"] else ""
    words = (
        f"{counted(who['raters'], 'rater')} with at least one answer{scripted}; all that follows"
    )
    yield fact("Counted here", f"{words} counts each of them once", who["raters"])
    yield cells("Devices", who["devices"])
    yield cells("Headphones", who["headphones"])
    yield cells("Language of the pages", who["languages"])
    if facts["sources"] or facts["recruitments"]:
        yield cells("Recruitment source", who["sources"])
    questions = [q for form in facts["forms"] for q in form["questions"]]
    if not questions:
        yield unknown("Age, gender and other answers", "not known: raters were not asked")
    for question in questions:
        yield _question(question)
    between = [form["title"] for form in facts["forms"] if not form["questions"]]
    if between:
        yield unknown(enumerated(between), "asked between trials; not summarised in this card")


def _question(question: Mapping[str, Any]) -> Entry:
    label = question["question"]
    if question["kind"] == "text":
        return fact(label, "answered in words, which are not shown")
    if question["kind"] != "number":
        entry = cells(label, question["counts"])
        several = " (several answers allowed)" * (question["kind"] == "many")
        return Entry(entry.label + several, entry.lines, entry.value)
    numbers = question["numbers"]
    if len(numbers) < FEWEST_NUMBERS:
        return unknown(label, f"not shown: fewer than {FEWEST_NUMBERS} numbers")
    low, middle, high = (round(value, 1) for value in quantiles(numbers, n=4))
    words = f"median {short(middle)}, quartiles {short(low)} and {short(high)}"
    return fact(label, words, {"median": middle, "quartiles": [low, high]})


def instructions(facts: Facts) -> Iterator[Entry]:
    """What raters read, in full."""
    if facts is None:
        yield from map(unknown, ("Welcome and consent", "Instructions", "Questions and scales"))
        return
    for name in ("welcome", "consent"):
        text = facts["texts"].get(name, "")
        yield (
            fact(name.capitalize(), _paragraphs(text))
            if text
            else unknown(name.capitalize(), "the study has none")
        )
    yield _corrections(facts)
    several = len(facts["tasks"]) > 1
    for task in facts["tasks"]:
        suffix = f" ({task['title']})" * several
        yield fact(f"Method{suffix}", f"{task['method']}: {task['title']}")
        text = task["instructions"]
        yield fact(f"Instructions{suffix}", _paragraphs(text) if text else ["none"])
        for criterion in task["criteria"]:
            helped = [criterion["help"]] * bool(criterion["help"])
            lines = [criterion["question"], *helped, _scale(criterion)]
            yield fact(f"Question and scale{suffix}", lines, dict(criterion))
        yield fact(f"How it was asked{suffix}", list(_asking(task)))


def _corrections(facts: StudyFacts) -> Entry:
    """Which words changed while raters listened: all that follows is as raters read it last."""
    lines = [
        f"On {each['on']} UTC, at {counted(each['ratings'], 'rating')} ({each['reason']}): {place}"
        for each in facts["corrections"]
        for place in (
            f"{change['place']}: “{change['before']}” → “{change['after']}”"
            for change in each["changes"]
        )
    ]
    return fact("Wording corrected", lines or ["never"], list(facts["corrections"]))


def _paragraphs(text: str) -> list[str]:
    return [" ".join(each.split()) for each in text.split("\n\n") if each.strip()]


def _scale(criterion: Mapping[str, Any]) -> str:
    """The scale with all its words, in the order of the page."""
    steps = [
        f"{label} = {text}" if text and text != label else label
        for label, text in criterion["steps"]
    ]
    if criterion["span"]:
        low, high, step = criterion["span"]
        words = f"; words along it: {'; '.join(steps)}" if steps else ""
        return f"Scale: a number from {low:g} to {high:g} in steps of {step:g}{words}"
    kind = WIDGETS.get(criterion["widget"], criterion["widget"])
    longest = f", at most {criterion['longest']} characters" if criterion["longest"] else ""
    return f"Scale: {kind}{longest}{': ' * bool(steps)}{'; '.join(steps)}"


def _asking(task: Mapping[str, Any]) -> Iterator[str]:
    heard = task["heard"]
    if heard is None:
        yield "Of each clip the first two seconds had to be heard before an answer."
    else:
        part = "Each clip" if heard == 1 else f"{heard:.0%} of each clip"
        yield f"{part} had to be heard before an answer."
    yield f"The text of the clips was {'shown' if task['show_text'] else 'not shown'}."
    if task["show_caption"]:
        yield "The caption of the clips was shown."
    if task["drawn"]:
        yield task["drawn"]
    why = task["justification"]
    if why:
        least = f", at least {why['min_chars']} characters" if why.get("min_chars") else ""
        requirement = "required" if why.get("required") else "optional"
        yield f"A reason in words was {requirement}{least}: {why.get('prompt') or 'no prompt'}"
    yield (
        f"{counted(task['examples'], 'example')}, {counted(task['training'], 'practice trial')}, "
        f"{counted(task['repeats'], 'repeated clip')}."
    )


def quality(facts: Facts) -> Iterator[Entry]:
    """Traps and checks, how often a guess passes them, and how raters fared."""
    if facts is None:
        yield from map(unknown, ("Traps", "Checks before the trials", "Screening questions"))
        return
    trapped = [task for task in facts["tasks"] if task["traps"]]
    for task in trapped:
        yield _traps(task, several=len(facts["tasks"]) > 1)
    if not trapped:
        yield fact("Traps", "none", [])
    for check in facts["checks"]:
        yield _check(check)
    if not facts["checks"]:
        yield fact("Checks before the trials", "none", [])
    for form in facts["forms"]:
        words = f"asked {form['when']}; answered in {counted(form['answered'], 'session')}"
        words += f"; {form['screened']:,} screened out by an answer"
        yield fact(form["title"], words, form["screened"])


def _traps(task: Mapping[str, Any], several: bool) -> Entry:
    lines = [
        f"{kind['kind']}: {kind['count']} in every {task['traps_per']} clips, "
        f"at least {kind['pass_at_least']} correct; {kind['passed']:,} of "
        f"{counted(kind['answered'], 'answer')} passed"
        for kind in task["traps"]
    ]
    if task["guessed"] is None:
        lines.append(f"The guess rate is not known: {task['not_guessed_because']}")
    else:
        lines.append(f"Random guessing passes {_chance(task['guessed'])} of the sets of traps.")
    after = "goes to another rater" if task["reopens"] else "is left to the analysis"
    failed = "A block that fails its traps"
    if task["voids"] == "session":
        failed = "Each block of a rater of whom one fails its traps"
    lines.append(f"{failed} {after}.")
    value = {"kinds": task["traps"], "guessed": task["guessed"]}
    return fact(f"Traps ({task['title']})" if several else "Traps", lines, value)


def _check(check: Mapping[str, Any]) -> Entry:
    if not check["trials"]:
        return fact(check["title"], "the rater confirms; nobody fails", dict(check))
    failed = "is screened out" if check["on_fail"] == "screen_out" else "goes on"
    return fact(
        check["title"],
        f"{check['pass_at_least']} of {check['trials']} right in at most "
        f"{counted(check['attempts'], 'attempt')}, which a guesser reaches with a chance of "
        f"{_chance(check['guessed'])}; who fails {failed}. {check['passed']:,} passed, "
        f"{check['failed']:,} failed and went on, {check['screened']:,} were screened out.",
        dict(check),
    )


def _chance(share: float) -> str:
    return "below 0.0001 %" if 0 < share < 1e-6 else f"{share * 100:.3g} %"


def pay(facts: Facts) -> Iterator[Entry]:
    """What raters were promised and, where it is known, what that came to."""
    if facts is None:
        yield from map(unknown, ("Pay", "Time of a session"))
        return
    who, payment_text = facts["people"], facts["texts"].get("payment", "")
    if payment_text:
        yield fact("Pay, as raters read it", _paragraphs(payment_text))
    rows = list(pay_rows(facts))
    if paid_by_us(facts["pay"]):
        yield _paid_by_the_study(rows[0], facts["pay"])
    for each in facts["recruitments"]:
        yield _paid(each, facts["pay"])
    if facts["pay"]["by"] == "nobody":
        yield fact("Pay", "raters are not paid, as study.toml says", 0)
    elif not payment_text and not rows:
        yield unknown(
            "Pay",
            "not specified in the texts for raters, in [study.payment] of study.toml or in a "
            "recruitment plan",
        )
    if who["timed"] < LEAST or who["minutes"] is None:
        yield unknown("Time of a session", f"not shown: fewer than {LEAST} people finished so far")
        return
    words = f"median {who['minutes']:.1f} min and {short(who['clips'] or 0)} clips"
    value = {"minutes": who["minutes"], "clips": who["clips"], "sessions": who["timed"]}
    yield fact("Time of a session", f"{words}, of {who['timed']:,} finished sessions", value)


def _paid_by_the_study(row: PayRow, work: Mapping[str, Any]) -> Entry:
    lines = ["; ".join(rates_in_words(row, work))]
    if row.total is not None:
        lines.append(f"{row.total:,.2f} {row.currency} in all, for {row.paid_for}")
    return fact("Pay, as study.toml says", lines, asdict(row))


def _paid(each: Mapping[str, Any], work: Mapping[str, Any]) -> Entry:
    currency, reward = each["currency"], each["reward_minor"]
    lines = [
        f"{_money(reward, currency)} a session, planned for {each['minutes']:g} min "
        f"({_money(each['hourly_minor'], currency)} an hour)"
    ]
    per_clip, hourly = per_clip_and_hour(reward, work) or (None, None)
    if hourly is not None and per_clip is not None:
        lines.append(
            f"by the median session {_money(hourly, currency)} an hour and "
            f"{_money(per_clip, currency, 4)} a clip"
        )
    lines.append(f"{counted(each['rewards'], 'reward')} paid; {_bonuses(each)}")
    names = ("reward_minor", "hourly_minor", "currency", "rewards")
    value = {name: each[name] for name in names}
    return fact("Pay at Prolific", lines, {**value, "hourly": hourly, "per_clip": per_clip})


def _bonuses(each: Mapping[str, Any]) -> str:
    if not each["bonuses"]:
        return "no bonuses"
    if each["bonuses"] < LEAST:
        return f"bonuses to fewer than {LEAST} raters"
    sum_of = _money(each["bonuses_minor"], each["currency"])
    return f"{counted(each['bonuses'], 'bonus payment')}, {sum_of} in all"


def _money(minor: float, currency: str, decimals: int = 2) -> str:
    sign = SIGNS.get(currency, f"{currency} " if currency else "")
    return f"{sign}{minor / 100:,.{decimals}f}"


def conduct(facts: Facts, report: Report | None) -> Iterator[Entry]:
    """What was planned beside what came of it."""
    if facts is None:
        yield from map(unknown, ("Places planned and filled", "Rules set before opening"))
        return
    for task in facts["tasks"]:
        words = (
            f"{task['filled']:,} of {task['planned']:,} places filled "
            f"({counted(task['ratings_per_stimulus'], 'rating')} planned for each clip)"
        )
        value = {"planned": task["planned"], "filled": task["filled"]}
        yield fact(f"Places: {task['title']}", words, value)
    for each in facts["recruitments"]:
        words = f"{each['places']:,} planned, {each['rewards']:,} rewarded"
        yield fact("Places at Prolific", words, [each["places"], each["rewards"]])
    yield _hypotheses(facts)
    yield from _rules(facts, report)


def _hypotheses(facts: StudyFacts) -> Entry:
    """What was expected: written down before the opening, or when."""
    every = facts.get("hypotheses", [])
    if not every:
        return unknown("Hypotheses", "none declared")
    return fact("Hypotheses", [_expected_answer(each) for each in every], list(map(dict, every)))


def _expected_answer(each: HypothesisFacts) -> str:
    ended = f"; taken back on {each['ended_on']} UTC: {each['ended_because']}"
    when = "" if each["declared"] else f" (written down after {each['ratings']:,} ratings)"
    return f"{each['text']}{when}{ended if each['ended_on'] else ''}"


def _rules(facts: StudyFacts, report: Report | None) -> Iterator[Entry]:
    """The rules that the study came with beside those of the analysis."""
    from analysis.report.declared_rules import declared_rules
    from analysis.statistics.screening.rule_text import rule_text

    planned = {rule_text(rule): rule.describe() for rule in declared_rules(facts)}
    yield fact("Rules set before opening", list(planned.values()), list(planned))
    if report is None:
        return
    used = report["provenance"]["rules"]
    dropped = [f"not used: {words}" for text, words in planned.items() if text not in used]
    added = [f"added: {_describe_rule(text)}" for text in used if text not in planned]
    same = "all of these, and no others"
    yield fact("Rules used", [*dropped, *added] or [same], used)


def _describe_rule(text: str) -> str:
    """A rule in words; of one that this version does not know, its text."""
    from analysis.statistics.screening.rule_text import rule_from

    try:
        return rule_from(text).describe()
    except ValueError:
        return text
