"""The report card of a method: what a reader needs to judge a study, and what is not known of it.

Chiang et al. (2023) found 80 papers without it. Facts of a study come from
`listening.selectors.method_facts`, counts of ratings from the report; either may be missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from analysis.formatting import counted, enumerated, short
from analysis.ratings.estimands import estimand_of, family_title
from analysis.report.exclusion_words import left_out_counts
from analysis.report.report_card_checklist import TITLE, checklist
from analysis.report.report_card_entries import NO_REPORT, Card, Entry, Section, fact, unknown
from analysis.report.report_card_facts import (
    conduct,
    instructions,
    pay,
    people,
    quality,
    recruitment,
)
from analysis.report.report_schema import Report
from analysis.report.reviews_told import reasons_told, reasons_value

if TYPE_CHECKING:
    from listening.selectors import StudyFacts


OF_TRAPS = ("att_traps", "task_traps")  # rules, not worth a word where nobody met a trap
NO_DATE = "no date"  # as listening.studies.erasure says it
NO_DATES = "not known: the ratings have no dates"


def report_card(report: Report | None, facts: StudyFacts | None = None) -> Card:
    """The card of a study, of its analysis, or of both; what neither knows is named.

    ``report`` gives counts of ratings and exclusions and the software, ``facts`` all about the
    study. Deterministic: the same report and facts give the same card.
    """
    studies = ", ".join(report["provenance"]["studies"]) if report else ""
    title = facts["title"] if facts else studies or "ratings"
    made = {
        ("checklist", TITLE): checklist(report, facts),
        ("recruitment", "Recruitment"): recruitment(facts),
        ("raters", "Raters and devices"): [*_raters(report), *people(facts)],
        ("instructions", "Instructions and scales"): instructions(facts),
        ("material", "Clips"): [*_material(report, facts), *_audio(facts)],
        ("quality", "Traps and checks"): quality(facts),
        ("exclusions", "Exclusions"): [*_sessions(facts), *_exclusions(report), *_reviews(facts)],
        ("pay", "Pay"): pay(facts),
        ("dates", "Dates"): [*_dates(facts, report), _erasing(facts)],
        ("planned", "Planned and done"): [*conduct(facts, report), *_chosen(report)],
        ("software", "Software"): _software(report),
    }
    sections = (Section(*key, tuple(entries)) for key, entries in made.items())
    return Card(f"Report card of {title}", tuple(sections))


def _raters(report: Report | None) -> Iterator[Entry]:
    if report is None:
        yield unknown("Raters in the analysis", NO_REPORT)
        return
    data, scripted = report["data"], report.get("scripted", 0)
    words = f"{data['raters_kept']:,} of {counted(data['raters'], 'rater')}"
    words += f", {scripted:,} of them scripted (a program made up their opinions)" * bool(scripted)
    value = {"raters": data["raters"], "kept": data["raters_kept"], "scripted": scripted}
    yield fact("Raters in the analysis", words, value)


def _erasing(facts: StudyFacts | None) -> Entry:
    """What became, or is to become, of what names raters."""
    what = "What names raters"
    if facts is None:
        return unknown(what)
    rule, done = facts["erasing"], facts["erased_on"]
    words = f"erased on {done} (rule: {rule})" if done else f"to be erased: {rule}"
    if not done and rule == NO_DATE:
        words = "kept; no date is set on which it is erased"
    return fact(what, words, {"erased_on": done, "rule": rule})


def _material(report: Report | None, facts: StudyFacts | None) -> Iterator[Entry]:
    if report is None:
        yield unknown("Clips rated", NO_REPORT)
        return
    data = report["data"]
    words = (
        f"{counted(data['stimuli_kept'], 'clip')}: {counted(data['items_kept'], 'item')}, "
        f"{counted(data['conditions_kept'], 'condition')}"
    )
    value = {
        "clips": data["stimuli_kept"],
        "items": data["items_kept"],
        "conditions": data["conditions_kept"],
    }
    yield fact("Clips rated", words, value)
    titles = {task["task"]: task["title"] for task in facts["tasks"]} if facts else {}
    for design in report.get("design", ()):
        clip = "pair" if design["in_pairs"] else "clip"
        axis = estimand_of(design["estimand"]).axis
        words = (
            f"{counted(design['ratings'], 'rating')} by {counted(design['raters'], 'rater')}; a "
            f"median of {short(design['ratings_per_clip'])} per {clip} and "
            f"{short(design['ratings_per_rater'])} per rater; {axis}"
        )
        named = {**design, "task": titles.get(design["task"], design["task"])}
        yield fact(family_title(named).replace("_", " "), words, dict(design))


def _audio(facts: StudyFacts | None) -> Iterator[Entry]:
    if facts is None:
        yield unknown("Audio as played")
        return
    rate, loudness = facts["sample_rate_hz"], facts["loudness_lufs"]
    words = [f"{rate:,} Hz for all clips" if rate else "sampling rates as imported"]
    words += [f"brought to {loudness:g} LUFS" if loudness is not None else "levels as imported"]
    words += ["without what is below 20 Hz; the originals are kept"]
    yield fact("Audio as played", "; ".join(words), {"hz": rate, "lufs": loudness})


def _sessions(facts: StudyFacts | None) -> Iterator[Entry]:
    if facts is None:
        yield unknown("Sessions by how they ended")
        return
    ended = {name: n for name, n in facts["sessions"].items() if n and name != "simulated"}
    words = enumerated(f"{n:,} {name}" for name, n in ended.items()) or "none yet"
    words += " (withdrawn: all answers deleted)" * ("withdrawn" in ended)
    yield fact("Sessions by how they ended", words, ended)


def _reviews(facts: StudyFacts | None) -> Iterator[Entry]:
    """Where experts judged reasons: by which rule, and how well they agreed."""
    for each in facts.get("reason_reviews", []) if facts else []:
        yield fact(f"Reasons judged: {each['title']}", reasons_told(each), reasons_value(each))


def _exclusions(report: Report | None) -> Iterator[Entry]:
    if report is None:
        yield unknown("Ratings left out", NO_REPORT)
        return
    data = report["data"]
    gone = data["ratings"] - data["ratings_kept"]
    lines = [f"{gone:,} of {counted(data['ratings'], 'rating')}"]
    rows = left_out_counts(report)
    lines += [f"{what}: {counted(count, 'rating')}" for what, count in rows]
    traps = data["trap_ratings"] > 0
    idle = [
        row["what"]
        for row in report["exclusions"]
        if not row["ratings"] and (traps or row["rule"] not in OF_TRAPS)
    ]
    lines += [f"In force, without anything to leave out: {'; '.join(idle)}."] * bool(idle)
    first = "A rating under several rules is counted under the first that leaves it out."
    lines += [first] * (len(rows) > 1)
    lines += [f"{counted(data['trap_ratings'], 'answer')} to traps enter no estimate."] * bool(
        data["trap_ratings"]
    )
    told = [dict(row) for row in report["exclusions"]]
    yield fact("Ratings left out", lines, {"ratings": gone, "rules": told})
    notes = report.get("input", {}).get("notes", ())
    if notes:
        yield fact("Guessed of the file", list(notes))


def _dates(facts: StudyFacts | None, report: Report | None) -> Iterator[Entry]:
    until = report["provenance"]["ratings_until"] if report else ""
    if facts is None:
        yield unknown("Opened, closed")
        yield fact("Newest rating", until[:10]) if until else unknown("Newest rating", NO_DATES)
        return
    lines = [f"made {facts['created_on']}"]
    lines += [f"opened {facts['opened_on']} UTC" if facts["opened_on"] else "not opened yet"]
    lines += [f"closed {facts['closed_on']} UTC" if facts["closed_on"] else f"now {facts['state']}"]
    yield fact("The study", ", ".join(lines), [facts["opened_on"], facts["closed_on"]])
    digest = facts["definition_sha256"]
    words = [f"version {facts['version']}"]
    words += [f"SHA-256 of its definition as opened {digest}"] * bool(digest)
    yield fact("Version", "; ".join(words), {"version": facts["version"], "sha256": digest})
    first, last = facts["first_answer_on"], facts["last_answer_on"]
    yield (
        fact("Answers", f"{first} to {last} (UTC)", [first, last])
        if first
        else unknown("Answers", "none yet")
    )


def _chosen(report: Report | None) -> Iterator[Entry]:
    if report is None:
        return
    origin = report["provenance"]
    words = (
        f"level {origin['level'] * 100:g} %, intervals {', '.join(origin['intervals'])}, "
        f"reference {origin['reference'] or 'as the study or its names say'}"
    )
    versions = origin.get("versions", [])
    if versions:
        yield fact("Versions combined", f"this one with {enumerated(versions)}", versions)
    told = f"{words}. Whether these were chosen before the ratings came in is not recorded."
    yield fact("Chosen at the analysis", told, {"level": origin["level"]})


def _software(report: Report | None) -> Iterator[Entry]:
    if report is None:
        yield unknown("Analysis", NO_REPORT)
        return
    origin = report["provenance"]
    used = ", ".join(f"{name} {version}" for name, version in origin["packages"].items())
    lines = [f"Earnest {origin['code']}; {used}", f"Again: {origin['again']}"]
    yield fact("Analysis", lines, {"code": origin["code"], "packages": origin["packages"]})
    yield fact("Ratings, SHA-256", origin["table_hash"], origin["table_hash"])
