"""The report card of a method: what a reader needs to judge a study, and what is not known of it.

Chiang et al. (2023) found 80 papers without it. Facts of a study come from
`listening.selectors.method_facts`, counts of ratings from the report; either may be missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from analysis.citations import citation
from analysis.formatting import counted, enumerated, listed, short
from analysis.name_spans import resolve
from analysis.ratings.estimands import estimand_of, family_title
from analysis.report.condition_labels import names_by_role
from analysis.report.conduct import order_words, question_words
from analysis.report.exclusion_words import left_out_counts, left_out_in_a_paper
from analysis.report.pay import paid_by_us
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
from analysis.report.review_summary import review_record, review_sentence

if TYPE_CHECKING:
    from listening.selectors import StudyFacts

    Facts = StudyFacts | None


OF_TRAPS = ("att_traps", "task_traps")  # rules, not worth a word where nobody met a trap
_SURROUNDINGS = ("listening_device", "place")  # keys of questions about them
NO_DATE = "no date"  # as listening.studies.erasure says it
NO_DATES = "not known: the ratings have no dates"


def report_card(report: Report | None, facts: StudyFacts | None = None) -> Card:
    """The card of a study, of its analysis, or of both; what neither knows is named.

    ``report`` gives counts of ratings and exclusions and the software, ``facts`` all about the
    study. Deterministic: the same report and facts give the same card.
    """
    studies = ", ".join(report["provenance"]["studies"]) if report else ""
    title = facts["title"] if facts else studies or "ratings"
    entries_of = {
        ("checklist", TITLE): checklist(report, facts),
        ("recruitment", "Recruitment"): recruitment(facts),
        ("raters", "Raters and devices"): [*_raters(report), *people(facts)],
        ("instructions", "Instructions and scales"): instructions(facts),
        ("material", "Clips"): [*_card_material(report, facts), *_audio(facts)],
        ("quality", "Traps and checks"): quality(facts),
        ("exclusions", "Exclusions"): [*_sessions(facts), *_exclusions(report), *_reviews(facts)],
        ("pay", "Pay"): pay(facts),
        ("dates", "Dates"): [*_dates(facts, report), _erasing(facts)],
        ("planned", "Planned and done"): [*conduct(facts, report), *_options_chosen(report)],
        ("software", "Software"): _software(report),
    }
    sections = (Section(*key, tuple(entries)) for key, entries in entries_of.items())
    return Card(f"Report card of {title}", tuple(sections))


def _raters(report: Report | None) -> Iterator[Entry]:
    if report is None:
        yield unknown("Raters in the analysis", NO_REPORT)
        return
    data, scripted = report["data"], report.get("scripted", 0)
    words = f"{data['raters_kept']:,} of {counted(data['raters'], 'rater')}"
    words += f", {scripted:,} of them simulated (a program generated their ratings)" * bool(
        scripted
    )
    value = {"raters": data["raters"], "kept": data["raters_kept"], "scripted": scripted}
    yield fact("Raters in the analysis", words, value)


def _erasing(facts: StudyFacts | None) -> Entry:
    """What became, or is to become, of what names raters."""
    what = "Personal data of raters"
    if facts is None:
        return unknown(what)
    rule, done = facts["erasing"], facts["erased_on"]
    words = f"erased on {done} (rule: {rule})" if done else f"to be erased: {rule}"
    if not done and rule == NO_DATE:
        words = "kept; no date is set on which it is erased"
    return fact(what, words, {"erased_on": done, "rule": rule})


def _card_material(report: Report | None, facts: StudyFacts | None) -> Iterator[Entry]:
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
    low_cut_hz = facts["low_cut_hz"]
    words += [f"frequencies below {low_cut_hz} Hz removed", "originals kept"]
    values = {"hz": rate, "lufs": loudness, "low_cut_hz": low_cut_hz}
    yield fact("Audio as played", "; ".join(words), values)


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
        yield fact(f"Reasons judged: {each['title']}", review_sentence(each), review_record(each))


def _exclusions(report: Report | None) -> Iterator[Entry]:
    if report is None:
        yield unknown("Ratings left out", NO_REPORT)
        return
    data = report["data"]
    excluded = data["ratings"] - data["ratings_kept"]
    lines = [f"{excluded:,} of {counted(data['ratings'], 'rating')}"]
    rows = left_out_counts(report)
    lines += [f"{what}: {counted(count, 'rating')}" for what, count in rows]
    traps = data["trap_ratings"] > 0
    idle = [
        row["what"]
        for row in report["exclusions"]
        if not row["ratings"] and (traps or row["rule"] not in OF_TRAPS)
    ]
    lines += [f"Active rules that excluded nothing: {'; '.join(idle)}."] * bool(idle)
    first = "A rating under several rules is counted under the first that leaves it out."
    lines += [first] * (len(rows) > 1)
    lines += [f"{counted(data['trap_ratings'], 'answer')} to traps enter no estimate."] * bool(
        data["trap_ratings"]
    )
    rules = [dict(row) for row in report["exclusions"]]
    yield fact("Ratings left out", lines, {"ratings": excluded, "rules": rules})
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


def _options_chosen(report: Report | None) -> Iterator[Entry]:
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
    sentence = f"{words}. Whether these were chosen before the ratings came in is not recorded."
    yield fact("Chosen at the analysis", sentence, {"level": origin["level"]})


def _software(report: Report | None) -> Iterator[Entry]:
    if report is None:
        yield unknown("Analysis", NO_REPORT)
        return
    origin = report["provenance"]
    used = ", ".join(f"{name} {version}" for name, version in origin["packages"].items())
    lines = [f"Earnest {origin['code']}; {used}", f"Again: {origin['again']}"]
    yield fact("Analysis", lines, {"code": origin["code"], "packages": origin["packages"]})
    yield fact("Ratings, SHA-256", origin["table_hash"], origin["table_hash"])


TITLE = resolve(f"Points for reviewers, in our words (after {citation('cooper2025')})")
MISSING = "missing: "
MOST_NAMED = 6
OF_METRICS = "against_people"


def checklist(report: Report | None, facts: Facts) -> Iterator[Entry]:
    """One entry per point: what is known of it, or what the authors must add."""
    yield _claim(facts)
    yield _question(report, facts)
    yield from _listeners(report, facts)
    yield _listening(facts)
    yield _instructions(facts)
    yield from _material(report, facts)
    yield _baselines(facts)
    yield _missing("Speakers of the systems", "say whose voices the systems have, and if all alike")
    yield _design(facts)
    yield _reference(report)
    yield _screening(report, facts)
    yield from _results(report)
    yield _metrics(report)
    yield _ethics(facts)
    yield _missing("Audio samples", "publish samples of every system, the worst ones included")
    yield _data(report)


def _missing(label: str, remedy: str) -> Entry:
    return unknown(label, f"{MISSING}{remedy}")


def _known_or_missing(label: str, known: Sequence[str], remedy: str) -> Entry:
    return fact(label, known) if known else _missing(label, remedy)


def _claim(facts: Facts) -> Entry:
    every = facts.get("hypotheses", ()) if facts else ()
    claims = [each["text"] for each in every if not each["ended_on"]]
    remedy = "state the claim, its use, and why this test can support it"
    return _known_or_missing("Claim and use that the test is for", claims, remedy)


def _question(report: Report | None, facts: Facts) -> Entry:
    label = "Question and scale as listeners read them"
    if facts:
        return fact(label, [question_words(c) for task in facts["tasks"] for c in task["criteria"]])
    scales = {k: v for k, v in (report["scales"] if report else {}).items() if v}
    known_scales = [
        f"{title}: {short(low)} to {short(high)}" for title, (low, high) in scales.items()
    ]
    known = f" (of the scale is known: {'; '.join(known_scales)})" if known_scales else ""
    return _missing(label, f"quote the question and every label of the scale{known}")


def _listeners(report: Report | None, facts: Facts) -> Iterator[Entry]:
    recruited = "How listeners were recruited and paid"
    if facts and (facts["sources"] or facts["recruitments"]):
        names = [source["name"] for source in facts["sources"]]
        names += ["Prolific"] * bool(facts["recruitments"])
        paid = "pay: see “Pay” below"
        yield fact(recruited, f"{enumerated(dict.fromkeys(names))}; {paid}")
    else:
        pay_is_known = facts is not None and paid_by_us(facts["pay"])
        gap = "the filters; pay: see “Pay” below" if pay_is_known else "the filters, and the pay"
        yield _missing(recruited, f"name the platform or group, {gap}")
    filters = [
        words for each in (facts["recruitments"] if facts else ()) for words in each["filters"]
    ]
    questions = [
        q["question"] for form in (facts["forms"] if facts else ()) for q in form["questions"]
    ]
    yield _known_or_missing(
        "Language background of listeners",
        [
            f"by filter or question: {text}"
            for text in (*filters, *questions)
            if "language" in text.lower()
        ],
        "say whether listeners are native speakers of the language tested",
    )
    number = "Number of listeners"
    if report is None:
        yield _missing(number, "finish an analysis of the study")
        return
    data = report["data"]
    words = f"{data['raters_kept']:,} in the estimates, of {data['raters']:,} who took part"
    yield fact(number, words, {"kept": data["raters_kept"], "all": data["raters"]})


def _listening(facts: Facts) -> Entry:
    # what nobody can fail, such as setting the volume, checks nothing
    checks = [check["title"] for check in (facts["checks"] if facts else ()) if check["trials"]]
    known = [f"checked: {enumerated(checks)}"] if checks else []
    known += [
        f"by question: {question['question']}"
        for form in (facts["forms"] if facts else ())
        for question in form["questions"]
        if question["key"] in _SURROUNDINGS
    ]
    remedy = "say what listeners wore, where they listened, and if it was checked"
    return _known_or_missing("Headphones and surroundings", known, remedy)


def _instructions(facts: Facts) -> Entry:
    label = "Instructions and training"
    if facts is None:
        return _missing(label, "give the complete instructions, and examples or training")
    with_words = [task for task in facts["tasks"] if task["instructions"]]
    if not with_words:
        return _missing(label, "the study has no instructions: state how listeners were instructed")
    training = sum(task["training"] + task["examples"] for task in facts["tasks"])
    return fact(label, f"complete text below; {counted(training, 'example or practice trial')}")


def _material(report: Report | None, facts: Facts) -> Iterator[Entry]:
    if report is None:
        yield _missing("Systems, sentences and ratings of each", "finish an analysis of the study")
    else:
        data = report["data"]
        per_clip = [short(each["ratings_per_clip"]) for each in report.get("design", ())]
        words = (
            f"{counted(data['conditions_kept'], 'condition')}, "
            f"{counted(data['items_kept'], 'item')}, {counted(data['stimuli_kept'], 'clip')}; "
            f"median ratings per clip: {enumerated(per_clip) or 'none'}"
        )
        yield fact("Systems, sentences and ratings of each", words)
    drawn = [task["drawn"] for task in (facts["tasks"] if facts else ()) if task["drawn"]]
    remedy = "name the source of the texts, and that they were not in training data"
    yield _known_or_missing("How sentences were chosen", drawn, remedy)
    level = "Level and sampling rate of clips"
    if facts is None or facts["loudness_lufs"] is None:
        yield _missing(
            level, "say whether the levels of all systems were made equal, and the rates"
        )
    else:
        rate = f"{facts['sample_rate_hz']:,} Hz" if facts["sample_rate_hz"] else "rates as imported"
        yield fact(level, f"all clips at {facts['loudness_lufs']:g} LUFS; {rate}")


def _baselines(facts: Facts) -> Entry:
    baselines = [
        f"{each['condition']}: {', '.join(f'{k} {v}' for k, v in each['attributes'].items())}"
        for each in (facts["conditions"] if facts else ())
        if each["attributes"]
    ]
    remedy = "give code, version, training data and settings of every system"
    return _known_or_missing(
        "Baselines described so that they can be made again", baselines, remedy
    )


def _design(facts: Facts) -> Entry:
    label = "Who heard what, and in which order"
    if facts is None:
        return _missing(
            label, "say how clips were assigned to listeners, and how they were ordered"
        )
    return fact(label, f"{order_words(facts)}.")


def _reference(report: Report | None) -> Entry:
    label = "Natural speech or another reference, and anchors"
    roles = names_by_role(report) if report else {}
    if not roles:
        return _missing(label, "add natural speech or say why there is no reference")
    words = [f"{role}: {listed(names, MOST_NAMED)}" for role, names in sorted(roles.items())]
    return fact(label, "; ".join(words))


def _screening(report: Report | None, facts: Facts) -> Entry:
    label = "Attention checks and exclusions"
    if report is None:
        return _missing(label, "finish an analysis of the study")
    data = report["data"]
    excluded = [f"{n:,} {resolve(words)}" for words, n in left_out_in_a_paper(report)]
    traps = f"{counted(data['trap_ratings'], 'answer')} to traps or practice trials"
    before = "rules set before opening: see “Planned and done”" if facts else ""
    words = [
        traps,
        f"excluded: {'; '.join(excluded)}" if excluded else "no rating was excluded",
        before,
    ]
    return fact(label, [text for text in words if text])


def _results(report: Report | None) -> Iterator[Entry]:
    tests, comparable = "Statistical test, correction and intervals", "Scores and other tests"
    if report is None or not report["estimates"]:
        yield _missing(tests, "finish an analysis with scores")
        return
    named = dict.fromkeys(
        figure.get("made_by", "")
        for part in report["parts"]
        if part["key"] == "answer" and not part["problem"]
        for figure in part["figures"]
    )
    level = f"{report['provenance']['level'] * 100:g} %"
    kinds = "; ".join(filter(None, named)) or "none could be made"
    families = dict.fromkeys(filter(None, (row.get("family") for row in report["contrasts"])))
    lines = [f"{level} intervals: {kinds}"]
    if families:
        lines.append(f"differences {enumerated(families)}: one family each, adjusted together")
    yield fact(tests, lines)
    names = dict.fromkeys(estimand_of(each["estimand"]).name for each in report.get("design", ()))
    comparability = (
        "hold relative to the systems of this test; compare them with no other test or paper"
    )
    yield fact(comparable, f"{enumerated(names)} scores {comparability}")


def _metrics(report: Report | None) -> Entry:
    label = "Objective metrics by name and version"
    parts: list[Any] = [p for p in (report["parts"] if report else ()) if p["key"] == OF_METRICS]
    if not parts:
        return fact(label, "none in this analysis; a predicted MOS is not to be called MOS", [])
    titles = report.get("metric_titles", {}) if report else {}
    named = listed([*titles.values()], MOST_NAMED) or "see the report"
    return fact(label, f"{named}; versions are in scores.csv", dict(titles))


def _ethics(facts: Facts) -> Entry:
    label = "Consent and ethics"
    if facts and facts["texts"].get("consent"):
        return fact(label, "listeners agreed to the text under “Consent”; add the approval, if any")
    return _missing(label, "say how listeners consented, and who approved the study")


def _data(report: Report | None) -> Entry:
    label = "Ratings and analysis for others to repeat"
    if report is None:
        return _missing(label, "finish an analysis, then publish ratings.csv")
    again = "the numbers follow from ratings.csv by the command under “Software”"
    return fact(label, f"publish ratings.csv: {again}")
