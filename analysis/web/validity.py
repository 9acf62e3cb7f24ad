"""The page Validity: which rules hold since when, what they take, and what is valid, used, paid."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from analysis.formatting import words_of
from analysis.statistics.comparisons.hypothesis_sentences import can_be_tested
from analysis.statistics.screening.rule import Rule
from analysis.statistics.screening.rule_text import (
    as_it_is_here,
    other_version,
    rule_from,
    rule_text,
)
from analysis.statistics.screening.screened import STRUCTURAL
from analysis.web.forms import rules_on_offer
from analysis.web.job_states import AWAY, DONE, RUNNING, State
from analysis.web.study_tables import rules_in_force, study_rules
from analysis.web.validity_jobs import effects_state, tried_state
from listening.common.signals import acted
from listening.common.views import attachment, logged_in_page
from listening.selectors import (
    RuleFacts,
    analysis_rules,
    condition_labels,
    declared_state,
    hypotheses,
    pay_of_sessions,
    ratings_state,
    spared_raters,
    study_head_or_404,
    task_titles,
    trap_plans,
)

NOTHING: State = {"state": "none", "mark": ""}  # without ratings there is nothing to try
MOST_EXCLUDED = 50  # raters of one page; the rest is named
PLAN_WORDS = {"all": "all", "some": "part", "none": "none"}


@logged_in_page
def page(request: HttpRequest, key: str) -> HttpResponse:
    head = study_head_or_404(key, request.user)
    rated = ratings_state(key)["ratings"]
    state = effects_state(key) if rated else NOTHING
    effects = state.get("effects") or state.get("before")
    every = study_rules(key)
    own = _rules(key, effects)
    tried = _trial_context(request, key, every)
    context = {
        "study": head,
        "declared": declared_state(key),
        "ratings": rated,
        "state": state,
        "effects": effects,
        "waits": state["state"] == RUNNING,
        "away": state["state"] == AWAY,
        "rules": own,
        "always": _always(every, own, effects),
        "overlap": (effects or {}).get("overlap", []),
        "ended": [each for each in analysis_rules(key) if each["ended_on"]],
        "offered": _offered_rules(key, every),
        "excluded": _excluded_raters(key, effects),
        "spared": spared_raters(key),
        "hypotheses": [{**each, "tested": can_be_tested(each["text"])} for each in hypotheses(key)],
        "sessions": _sessions(key, effects),
        "traps": trap_plans(key),
        "why": request.GET.get("why", ""),
        **tried,
    }
    status = 400 if tried.get("problem") else 200
    return render(request, "analysis/validity.html", context, status=status)


@logged_in_page
def preregistration(request: HttpRequest, key: str) -> HttpResponse:
    """The plan as text for a registry: what the study knows, and what is missing by name."""
    from analysis.report.preregistration import preregistration_text
    from listening.selectors import method_facts, task_plans

    head = study_head_or_404(key, request.user, "analyse")
    text = preregistration_text(
        method_facts(key), task_plans(key), declared_state(key), list(condition_labels(key))
    )
    details = {"file": "preregistration.md"}
    by = request.user.get_username()
    acted.send(sender=__name__, study_id=head["pk"], by=by, what="exported", details=details)
    return attachment(text, f"{key}-preregistration.md", "text/markdown; charset=utf-8")


def _trial_context(request: HttpRequest, key: str, every: Sequence[Rule]) -> dict[str, Any]:
    """What the form asks to be tried: a rule more, or one less; and what would change."""
    add, end = (request.GET.get(name, "").strip()[:500] for name in ("rule", "end"))
    if not add and not end:
        return {"asked": ""}
    try:
        rule = rule_from(add) if add else as_it_is_here(end)
    except ValueError as error:
        return {"asked": add or end, "problem": str(error)}
    if add and rule in every:
        return {"asked": add, "problem": "this rule is already active"}
    state = NOTHING
    if ratings_state(key)["ratings"]:
        state = tried_state(key, rule_text(rule) if add else "", rule_text(rule) if end else "")
    effects = state.get("effects") if state["state"] == DONE else None
    return {
        "asked": add or end,
        "asked_rule": rule,
        "asked_text": rule_text(rule),
        "ending": _in_force(key, rule_text(rule)) if end else None,
        "tried_state": state,
        "tried_waits": state["state"] == RUNNING,
        "tried": _label_effects(key, effects["tried"]) if effects else None,
        "tried_of": effects,
        "tried_takes": _row(effects, rule_text(rule)),
    }


def _label_effects(key: str, tried: Mapping[str, Any]) -> dict[str, Any]:
    """What would change, with labels of conditions and titles of tasks in place of keys."""
    names = {each: label for each, label in condition_labels(key).items() if label}
    titles = task_titles(key)

    def family(about: str) -> str:
        first, *rest = about.split(" · ")
        return " · ".join([first, *map(called, rest)])

    def called(each: str) -> str:
        versus = each.removeprefix("versus ")
        return f"versus {names.get(versus, versus)}" if versus != each else titled(each)

    def titled(each: str) -> str:
        return titles.get(each) or words_of(each)

    def row(each: Mapping[str, Any]) -> dict[str, Any]:
        named = {
            k: names.get(each[k], each[k]) for k in ("condition", "first", "second") if k in each
        }
        return {**each, **named, "about": family(each["about"])}

    rows = {k: list(map(row, tried[k])) for k in ("means", "swapped", "gained", "lost")}
    return {**tried, **rows, "gone": list(map(family, tried["gone"]))}


def _in_force(key: str, text: str) -> RuleFacts | None:
    same = (each for each in rules_in_force(key) if rule_text(as_it_is_here(each["rule"])) == text)
    return next(same, None)


def _row(effects: Mapping[str, Any] | None, text: str) -> dict[str, Any] | None:
    rows = effects["taken"] if effects else []
    return next((row for row in rows if row["text"] == text), None)


def _rules(key: str, effects: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """The study's own rules in force, with what they take."""
    rows = []
    for each in rules_in_force(key):
        rule = as_it_is_here(each["rule"])
        rows.append(
            {
                "facts": each,
                "rule": rule,
                "text": rule_text(rule),
                "other_version": other_version(each["rule"]),
                "takes": _row(effects, rule_text(rule)),
            }
        )
    return rows


def _always(
    every: Sequence[Rule], own: Sequence[Mapping[str, Any]], effects: Mapping[str, Any] | None
) -> list[dict[str, Any]]:
    """The rules that hold in every study, and by its traps, with what they take."""
    added = {row["text"] for row in own}
    rules = [rule for rule in (*STRUCTURAL, *every) if rule_text(rule) not in added]
    return [{"rule": rule, "takes": _row(effects, rule_text(rule))} for rule in rules]


def _offered_rules(key: str, every: Sequence[Rule]) -> list[tuple[str, str]]:
    held = {rule_text(rule) for rule in every}
    return [(text, words) for text, words in rules_on_offer(key) if text not in held]


def _excluded_raters(key: str, effects: Mapping[str, Any] | None) -> dict[str, Any]:
    """Raters of whom a rule that can be undone leaves something out."""
    undone_elsewhere = ("session_status", "not_counted")
    rows = [r for r in (effects or {}).get("excluded", []) if r["rule"] not in undone_elsewhere]
    more = len(rows) - MOST_EXCLUDED + (effects or {}).get("excluded_more", 0)
    return {"rows": rows[:MOST_EXCLUDED], "more": max(more, 0)}


def _sessions(key: str, effects: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """How many sessions count for the plan, are used and are paid, in each combination."""
    if not effects:
        return []
    pay = pay_of_sessions(key)
    counts = Counter(
        (plan, used, pay.get(session, "unknown"))
        for session, (plan, used) in effects["sessions"].items()
    )
    order = list(PLAN_WORDS)
    return [
        {"plan": PLAN_WORDS[plan], "used": PLAN_WORDS[used], "paid": paid, "sessions": n}
        for (plan, used, paid), n in sorted(
            counts.items(), key=lambda each: (order.index(each[0][0]), order.index(each[0][1]))
        )
    ]
