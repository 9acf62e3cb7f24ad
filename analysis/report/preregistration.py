"""A study's plan as text for a registry, under the headings of OSF's standard form.

Only what the study says is written; what it does not say is named as a gap, for people to fill.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import ceil
from typing import TYPE_CHECKING, TypeVar

from analysis.citations import cite, cite_author
from analysis.formatting import counted, enumerated, percent
from analysis.name_spans import resolve
from analysis.report.declared_rules import declared_rules
from analysis.report.stop_words import rule_sentences
from analysis.statistics.options import Options, command_line
from analysis.statistics.screening.rule_text import versioned_text
from analysis.statistics.screening.screened import STRUCTURAL
from analysis.statistics.screening.single_ratings import Review

if TYPE_CHECKING:
    from listening.selectors import DecidedFacts, Declared, StudyFacts, TaskPlan

    Plans = Sequence[TaskPlan]
    Kept = TypeVar("Kept", bound=DecidedFacts)

GAP = "**Gap: the study does not say.** "
NO_HYPOTHESES = (
    f"{GAP}Write which systems you expect to differ, in which direction, and by how much: on the "
    "page Design, Exclusion rules, or as hypotheses in study.toml."
)
RATIONALE = f"{GAP}Write why so many; the page Planning gives intervals and power for a design."
EXPLORATORY = f"{GAP}Write what you will look at without a hypothesis."
BLIND = (
    "Raters see neither system nor condition, and no file name tells them. Clips are dealt into "
    "blocks at random by the seed of the definition, and the order within a session is drawn. "
    "Whether those who analyse know the conditions: " + GAP + "Write it here."
)
ANALYSIS = (
    "Earnest's default analysis: per task and criterion the mean of the scores of "
    f"each condition, with {cite_author('korn1998', possessive=True)} interval for bounded scores "
    f"and a variance clustered by rater and by item {cite('cameron2011')}. Two families of "
    "differences are decided: systems against the reference, and systems among themselves."
)
INFERENCE = (
    "Level {level}, two-sided. Each family is adjusted in a single step by the joint distribution "
    f"of its tests {cite('hothorn2008')}: a difference is claimed if and only if its "
    "simultaneous interval excludes 0."
)
MISSING = (
    "No rating is imputed. Means are over the ratings that are there; a condition with fewer than "
    "two ratings, raters or items has no interval."
)
STOP = (
    "Collection ends when every place of the plan is filled. "
    + GAP
    + "State what you do if collection ends early, and whether you look at results before "
    "(Earnest's bounds for open studies are valid however often you look)."
)


def preregistration_text(
    facts: StudyFacts, plans: Plans, declared: Declared, conditions: Sequence[str]
) -> str:
    """Markdown for OSF; the same for the same study, but for what is rated meanwhile.

    ``conditions`` are those that are compared.
    """
    stop = facts.get("stop")
    systems = f"The system that made the clip: {enumerated(conditions)}." if conditions else GAP
    lines = [
        f"# Preregistration: {facts['title']}",
        "",
        *_frozen(facts, declared),
        *_section("Study information", ("Hypotheses", "\n".join(_hypotheses(facts)))),
        *_section(
            "Design plan",
            ("Study type", "Experiment: a listening test in which people rate clips of speech."),
            ("Blinding and randomization", BLIND),
            ("Study design", "\n".join(_design(facts, plans))),
        ),
        *_section(
            "Sampling plan",
            ("Existing data", _existing(facts, declared)),
            ("Data collection procedures", "\n".join(_collection(facts))),
            ("Sample size", "\n".join(_size(facts, plans))),
            ("Sample size rationale", RATIONALE),
            ("Stopping rule", " ".join(rule_sentences(stop, Options().level)) if stop else STOP),
        ),
        *_section(
            "Variables",
            ("Manipulated variables", systems),
            ("Measured variables", "\n".join(_metric_lines(facts))),
        ),
        *_section(
            "Analysis plan",
            ("Statistical models", ANALYSIS),
            ("Inference criteria", INFERENCE.format(level=percent(Options().level))),
            ("Data exclusion", "\n".join(_exclusion(facts))),
            ("Missing data", MISSING),
            ("Exploratory analysis", EXPLORATORY),
            ("To make it again", f"`{command_line(Options(rules=declared_rules(facts)))}`"),
        ),
    ]
    return resolve("\n".join(lines).rstrip()) + "\n"


def gaps(text: str) -> int:
    """How many gaps a text names."""
    return text.count(GAP.strip())


def _section(title: str, *parts: tuple[str, str]) -> Iterator[str]:
    yield from (f"## {title}", "")
    for heading, text in parts:
        yield from (f"### {heading}", "", text, "")


def _frozen(facts: StudyFacts, declared: Declared) -> Iterator[str]:
    name = f"Study “{facts['study']}”, version {facts['version']}."
    if not declared["sha256"]:
        yield f"{name} **Not frozen yet**: the study was not opened, and all of this may change."
    else:
        yield (
            f"{name} Definition frozen at its first opening, {declared['on']} UTC, SHA-256 "
            f"`{declared['sha256']}` (study.toml and the list of clips with the hashes of their "
            "audio; attach both)."
        )
    for each in facts["corrections"]:
        yield (
            f"Wording corrected on {each['on']} UTC, after {counted(each['ratings'], 'rating')}: "
            f"{each['reason']}"
        )
    yield ""


def _existing(facts: StudyFacts, declared: Declared) -> str:
    if not declared["sha256"]:
        return "Registration prior to creation of data: nobody was let in yet."
    if not facts["first_answer_on"]:
        return "Registration prior to creation of data: no answer was given yet."
    return (
        f"Answers were given from {facts['first_answer_on']} to {facts['last_answer_on']}. What "
        f"stands here was frozen before, on {declared['on']} UTC, but for what says otherwise. "
        f"{GAP}State who has seen which of these answers."
    )


def _design(facts: StudyFacts, plans: Plans) -> Iterator[str]:
    plan_of = {plan["task"]: plan for plan in plans}
    for task in facts["tasks"]:
        plan = plan_of.get(task["task"])
        yield f"- **{task['title']}**: {task['method']}. {_material(plan)}"
        heard = task["heard"]
        heard_words = "its first two seconds" if heard is None else percent(heard)
        yield f"  - Of every clip {heard_words} must be heard before an answer."
        read = "read the text of the clip" if task["show_text"] else "do not read the text"
        yield f"  - Raters {read}."
        if rule := task.get("pairs_drawn"):
            yield f"  - Of each comparison: {rule}. Strengths are fitted with reduced bias."
        if task["training"]:
            yield f"  - {counted(task['training'], 'training clip')} with the right answer first."
        if task["traps"]:
            traps = [
                f"{trap['count']} “{trap['kind']}” (at least {trap['pass_at_least']} to be passed)"
                for trap in task["traps"]
            ]
            yield f"  - Traps in every {task['traps_per']} clips: {enumerated(traps)}."
        if task["reopens"]:
            failed = "A block that fails its traps is"
            if task["voids"] == "session":
                failed = "All blocks of a rater of whom one fails its traps are"
            yield f"  - {failed} given to another rater."
        if task["justification"]:
            yield "  - Raters write a reason for their answer."


def _material(plan: TaskPlan | None) -> str:
    if plan is None or not plan["conditions"]:
        return "Conditions and items are planned when the study is opened."
    return (
        f"{counted(plan['conditions'], 'condition')}, {counted(plan['items'], 'item')}, "
        f"{counted(plan['clips_per_rater'], 'clip')} per rater and session."
    )


def _collection(facts: StudyFacts) -> Iterator[str]:
    languages = enumerated([facts["language"], *facts["translations"]])
    yield f"- Language: {languages}."
    for source in facts["sources"]:
        most = f", at most {counted(source['quota'], 'session')}" if source["quota"] else ""
        yield f"- From {source['name']} ({source['kind']}{most})."
    for each in facts["recruitments"]:
        filters = enumerated(each["filters"]) or "none"
        yield f"- Prolific: {counted(each['places'], 'place')}; filters: {filters}."
    if not facts["sources"] and not facts["recruitments"]:
        yield f"- {GAP}Write where raters come from, and what they are paid."
    for check in facts["checks"]:
        yield f"- Check: {check['title']}; who fails: {check['on_fail'].replace('_', ' ')}."
    for form in facts["forms"]:
        yield f"- Questions {form['when']}: {form['title']}."


def _size(facts: StudyFacts, plans: Plans) -> Iterator[str]:
    plan_of = {plan["task"]: plan for plan in plans}
    for task in facts["tasks"]:
        plan = plan_of.get(task["task"])
        of_what = "item" if task.get("pairs_drawn") else "clip"
        ratings = counted(task["ratings_per_stimulus"], "rating")
        line = f"- {task['title']}: {ratings} of every {of_what}"
        if task["planned"]:
            line += f", {task['planned']:,} in all"
            if plan and plan["clips_per_rater"]:
                sessions = ceil(task["planned"] / plan["clips_per_rater"])
                line += f" (at least {counted(sessions, 'session')})"
        if least := task.get("min_raters"):
            line += f"; each condition needs {counted(least, 'rater')} or more after exclusions"
        yield line + "."


def _metric_lines(facts: StudyFacts) -> Iterator[str]:
    for task in facts["tasks"]:
        for criterion in task["criteria"]:
            steps = "; ".join(words for _, words in criterion["steps"] if words)
            span = criterion["span"]
            scale = steps or (f"from {span[0]:g} to {span[1]:g}" if span else "in words")
            yield f"- {task['title']}: “{criterion['question']}” ({scale})."


def _exclusion(facts: StudyFacts) -> Iterator[str]:
    yield "Ratings are left out by these rules, each with its version; none deletes a rating."
    yield ""
    why = {each["rule"]: each["why"] for each in facts.get("rules", ())}
    for rule in (*STRUCTURAL, *declared_rules(facts)):
        text = versioned_text(rule)
        reason = f" Why: {why[text]}" if why.get(text) else ""
        yield f"- {rule.describe()} (`{text}`).{reason}"
    yield from _reviews(facts)
    yield from _not_registered(_later(facts))


def _hypotheses(facts: StudyFacts) -> Iterator[str]:
    every = facts.get("hypotheses", ())
    declared = [each for each in every if each["declared"]]
    if not declared:
        yield NO_HYPOTHESES
    for n, each in enumerate(declared, start=1):
        yield f"{n}. {each['text']}{_because(each)}"
    added = [
        f"- added on {each['on']} UTC, after {counted(each['ratings'], 'rating')}: {each['text']}"
        f"{_because(each)}"
        for each in every
        if not each["declared"]
    ]
    yield from _not_registered(
        [*added, *(_ended_line(each, each["text"]) for each in _ended_rules(declared))]
    )


def _because(each: DecidedFacts) -> str:
    return f" Why: {each['why']}" if each["why"] else ""


def _reviews(facts: StudyFacts) -> Iterator[str]:
    """What the rule `review` takes, where it was declared: the review itself comes later."""
    if not _declares_review(facts):
        return
    for each in facts.get("reason_reviews", ()):
        yield (
            f"- The rule `{Review.key}` takes the verdicts of “{each['title']}”, opened on "
            f"{each['opened_on']} UTC: rule “{each['rule'].lower()}”, "
            f"version {each['rule_version']}."
        )


def _later(facts: StudyFacts) -> Iterator[str]:
    """What was decided after the opening of what is left out."""
    rules = facts.get("rules", ())
    for rule in rules:
        if not rule["declared"]:
            yield (
                f"- added on {rule['on']} UTC, after {counted(rule['ratings'], 'rating')}: "
                f"`{rule['rule']}`{_because(rule)}"
            )
    for rule in _ended_rules([each for each in rules if each["declared"]]):
        yield _ended_line(rule, f"`{rule['rule']}`")
    for out in facts["left_out"]:
        what = "system" if out["what"] == "condition" else "clip"
        yield f"- left out by name since {out['on']} UTC: {what} “{out['name']}” ({out['because']})"
    if not _declares_review(facts):
        for review in facts.get("reason_reviews", ()):
            yield (
                f"- in use since the review opened on {review['opened_on']} UTC: "
                f"`{Review.key}`, by the verdicts of “{review['title']}”, rule "
                f"“{review['rule'].lower()}”, version {review['rule_version']}"
            )
    for undone in facts.get("spared", ()):
        yield (
            f"- undone on {undone['on']} UTC for one rater: `{undone['rule']}` "
            f"({undone['because']})"
        )


def _not_registered(later: Iterable[str]) -> Iterator[str]:
    lines = list(later)
    if lines:
        yield from ("", "Decided after the opening, so **not preregistered**:", "", *lines)


def _declares_review(facts: StudyFacts) -> bool:
    return any(rule.key == Review.key for rule in declared_rules(facts))


def _ended_rules(declared: Sequence[Kept]) -> list[Kept]:
    return [each for each in declared if each["ended_on"]]


def _ended_line(each: DecidedFacts, words: str) -> str:
    ratings = counted(each["ended_ratings"] or 0, "rating")
    when = f"{each['ended_on']} UTC, after {ratings}"
    return f"- ended on {when}: {words} ({each['ended_because']})"
