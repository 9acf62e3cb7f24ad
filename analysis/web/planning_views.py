"""The planning page of a study, and its comparisons while recruiting is open."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import ceil
from typing import Any

from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from redis.exceptions import RedisError

from analysis.citations import work_of
from analysis.ratings.estimands import estimand_of
from analysis.web.job_states import RUNNING, State
from analysis.web.planning_jobs import check_state, pilot_state, start_pilot
from listening.common.command_name import command
from listening.common.views import logged_in_get, logged_in_page, logged_in_post
from listening.selectors import (
    DraftPlan,
    DraftStop,
    TaskPlan,
    draft_plans,
    earlier_with,
    interim_questions,
    ratings_state,
    study_head_or_404,
    task_plans,
)

CACHE_AT_LEAST_S = 5.0
PILOT = "pilot:"  # begins the form's value of components that were estimated
PRESET_WORDS = {
    "att": "Audio Turing Test (Human 1, Unclear 0.5, Machine 0)",
    "long_form": f"Long-form MOS, 1 to 5 (after {work_of('clark2019').citation})",
    "lfs": "LFS-Bench: long-form speech, 1 to 5",
    "nvv": "NVV-SuperBench: naturalness with vocalisations, 1 to 5",
}

# --- Planning ------------------------------------------------------------------------------------


@logged_in_get
def planning(request: HttpRequest, key: str) -> HttpResponse:
    head = study_head_or_404(key, request.user)
    plans = task_plans(key)
    task = next((p for p in plans if p["task"] == request.GET.get("task")), None)
    task = task or (plans[0] if plans else None)
    pilot, before = pilot_state(key), version_before(key, request.user)
    known = known_pilots(pilot, before)
    design = before.plan_of(task) if before and not (task and task["conditions"]) else task
    values = _values(request, design, _pilot_of(design, known))
    context = {
        "study": head,
        "tasks": plans,
        "task": task,
        "design": design,
        "before": before,
        "values": values,
        "sources": _sources(known),
        "pilot": pilot,
        "pilot_waits": bool(pilot and pilot["state"] == RUNNING),
        "from_before": values["source"].startswith(f"{PILOT}v"),
        "query": request.GET.urlencode(),
        "pair_advice": _pair_advice(design),
    }
    context |= _result(values, known) if "size" in request.GET else {}
    status = 400 if context.get("problem") else 200
    return render(request, "analysis/planning.html", context, status=status)


@logged_in_post
def pilot(request: HttpRequest, key: str) -> HttpResponse:
    """Estimate the components of this study's ratings in a job; the page waits for them."""
    study_head_or_404(key, request.user, "analyse")
    start_pilot(key)
    query = request.POST.get("query", "")[:2000]
    return redirect(
        reverse("planning", args=[key]) + (f"?{query}" if query else "") + "#components"
    )


def _values(request: HttpRequest, task: TaskPlan | None, pilot: str) -> dict[str, str]:
    """What the form shows: what was asked, else the design of this study or of the version before
    it, with the components of its ratings where they are known, else the usual."""
    from analysis.report.planning.form_fields import SDS, starting_values

    known: dict[str, Any] = {}
    if task and task["conditions"]:
        compared = estimand_of(task["estimand"]).in_pairs  # one mean, against no preference
        per_clip = task["seconds_per_trial"] / max(task["clips_together"], 1.0)
        known = {
            "conditions": task["conditions"],
            "items": task["items"],
            "clips_per_rater": task["clips_per_rater"],
            "traps": task["traps_per_rater"],
            "seconds_per_clip": round(per_clip, 1),
            "of": "mean" if compared or task["conditions"] < 2 else None,
        }
    if task and task["estimand"] == "hls":
        known |= {"source": "att", "size": 0.05}
    if pilot:
        known |= {"source": pilot}
    values = starting_values(**known) | {f"sd_{name}": "" for name in SDS}
    if old := request.GET.get("ratings_per_clip"):  # the field's old name, in saved links
        values["ratings_per_stimulus"] = old
    return values | {k: v for k in values if (v := request.GET.get(k)) is not None}


def _pair_advice(task: TaskPlan | None) -> str:
    """Whether adaptive pairs pay where the task compares systems in pairs; else empty."""
    from analysis.statistics.planning.pair_choice import FEWEST, pair_advice

    systems = task.get("systems", 0) if task else 0
    return pair_advice(systems) if systems >= FEWEST else ""


def _pilot_of(task: TaskPlan | None, known: Sequence[KnownPilot]) -> str:
    """The components of the same task, as the form names them; "" where there are none."""
    same = [pilot.value for pilot in known if task and pilot.row["task"] == task["task"]]
    return next(iter(same), "")


def _sources(known: Sequence[KnownPilot]) -> list[tuple[str, str]]:
    """Where components may come from: value of the form, and its words."""
    rows = [(pilot.value, pilot.words) for pilot in known]
    return [*rows, *PRESET_WORDS.items(), ("own", "Own standard deviations")]


def _result(values: Mapping[str, str], known: Sequence[KnownPilot]) -> dict[str, Any]:
    """The plan that was asked for, or in words why there is none."""
    from analysis.report.figures import figure_svg
    from analysis.report.html.part_html import table_html
    from analysis.report.planning.form_fields import requirements_from
    from analysis.report.planning.plan_content import content_of
    from analysis.report.planning.planning_narrative import assumptions
    from analysis.statistics.planning.proposal import propose
    from analysis.statistics.planning.simulated_check import SimulatedCheck
    from analysis.statistics.planning.study_design import PlanningError

    try:
        components = _components(values, known)
        proposal = propose(requirements_from(values, components))
    except PlanningError as error:
        return {"problem": str(error)}
    sds = components.row() | {"degrees": None}
    state = check_state({"form": dict(values), "components": sds})
    checked = SimulatedCheck(**state["check"]) if state and "check" in state else None
    content = content_of(proposal, checked)
    return {
        "made": content,
        "figures": [figure_svg(figure, f"plan-{figure.key}") for figure in content.figures],
        "tables": {table.key: table_html(table) for table in content.tables},
        "assumptions": assumptions(proposal),
        "check": state,
        "check_waits": bool(state and state["state"] == RUNNING),
        "no_fee": proposal.requirements.payment.fee == 0
        and proposal.requirements.payment.pay_per_hour > 0,
        "command": _command(values, proposal.requirements.components.source),
    }


def _components(values: Mapping[str, str], known: Sequence[KnownPilot]) -> Any:
    from analysis.report.planning.form_fields import own_components
    from analysis.statistics.planning.study_design import PlanningError
    from analysis.statistics.planning.variance_components import Components, preset

    source = values["source"]
    if source == "own":
        return own_components(values)
    if not source.startswith(PILOT):
        return preset(source)
    row = next((pilot.row for pilot in known if pilot.value == source), None)
    if row is None:
        raise PlanningError(
            "The variances from these ratings are no longer stored. Estimate them again."
        )
    names = ("rater", "rater_condition", "item", "stimulus", "residual", "source", "note")
    return Components(**{name: row[name] for name in names}, degrees=row["degrees"])


def _command(values: Mapping[str, str], source: str) -> str:
    """The same plan on the command line, as far as it can be said there."""
    goal = "--half-width" if values["goal"] == "half_width" else "--difference"
    known = values["source"]
    origin = f"--preset {known}" if known in PRESET_WORDS else "--pilot ratings.csv"
    return command(
        f"plan {origin} {goal} {values['size']} --of {values['of']} "
        f"--conditions {values['conditions']} --items {values['items']} "
        f"--clips-per-rater {values['clips_per_rater']}"
    )


# --- Interim comparisons -------------------------------------------------------------------------


@logged_in_get
def interim_page(request: HttpRequest, key: str) -> HttpResponse:
    """The sequential intervals of the comparisons, on a page of their own."""
    return render(request, "analysis/interim.html", _interim(request, key))


@logged_in_get
def interim_box(request: HttpRequest, key: str) -> HttpResponse:
    """The same as a fragment of the study's page."""
    return render(request, "analysis/_interim.html", _interim(request, key))


def _interim(request: HttpRequest, key: str) -> dict[str, Any]:
    from analysis.statistics.planning.study_design import PlanningError

    head = study_head_or_404(key, request.user)
    written = request.GET.get("matters", "").strip()[:20]
    problem, matters = "", None
    try:
        matters = float(written.replace(",", ".")) if written else None
        boxes = _boxes(key, matters)
    except PlanningError as error:
        problem, boxes = str(error), _boxes(key, None)
    except ValueError:
        problem, boxes = f"“{written}” is not a number.", _boxes(key, None)
    return {"study": head, "boxes": boxes, "matters": written, "problem": problem}


def _boxes(key: str, matters: float | None) -> list[dict[str, Any]]:
    """Each task and criterion with its comparisons, cached for four times as long as it took."""
    name = f"planning/so-far/{key}/{matters}"
    cached: list[dict[str, Any]] | None = None
    with suppress(RedisError):
        cached = cache.get(name)
    if cached is not None:
        return cached
    began = time.monotonic()
    boxes = [_box(question, matters) for question in interim_questions(key)]
    took = time.monotonic() - began
    with suppress(RedisError):
        cache.set(name, boxes, timeout=max(CACHE_AT_LEAST_S, 4 * took))
    return boxes


def _box(question: Any, matters: float | None) -> dict[str, Any]:
    from analysis.report.planning.interim_narrative import box
    from analysis.statistics.planning.interim import interim

    so_far = interim(
        question["means"],
        question["ends"],
        columns=question["columns"],
        estimand=question["estimand"],
        references=question["references"],
        matters=matters,
    )
    return box(so_far, question)


@dataclass(frozen=True)
class KnownPilot:
    """Components that were estimated: their value in the form, its words, and the estimates."""

    value: str
    words: str
    row: Mapping[str, Any]


@dataclass(frozen=True)
class VersionBefore:
    """The newest earlier version with ratings, and its components as far as they are known."""

    key: str
    version: int
    pilot: State | None

    @property
    def waits(self) -> bool:
        return bool(self.pilot and self.pilot["state"] == RUNNING)

    def plan_of(self, task: TaskPlan | None) -> TaskPlan | None:
        """The plan of the same task in that version."""
        plans = task_plans(self.key)
        same = [plan for plan in plans if task and plan["task"] == task["task"]]
        return next(iter(same or plans), None)


def version_before(key: str, user: Any) -> VersionBefore | None:
    """The version whose ratings are the pilot of this one; its components are estimated unasked.

    Only where they may be analysed by who looks: what is estimated says something of its ratings.
    """
    for each in earlier_with(key, user, "analyse"):
        if ratings_state(each["key"])["ratings"]:
            if pilot_state(each["key"]) is None:
                start_pilot(each["key"])
            return VersionBefore(each["key"], each["version"], pilot_state(each["key"]))
    return None


def known_pilots(pilot: State | None, before: VersionBefore | None) -> list[KnownPilot]:
    """The estimates there are; those of an earlier version first where this study has none."""
    own = [
        KnownPilot(f"{PILOT}{n}", f"This study: {row['title']}", row)
        for n, row in enumerate(_rows(pilot))
    ]
    if before is None:
        return own
    name = f"Version {before.version}"
    return own + [
        KnownPilot(f"{PILOT}v{before.version}:{n}", f"{name}: {row['title']}", row)
        for n, row in enumerate(_rows(before.pilot))
    ]


def _rows(pilot: State | None) -> list[dict[str, Any]]:
    done = pilot if pilot and "pilots" in pilot else (pilot or {}).get("before") or {}
    rows: list[dict[str, Any]] = done.get("pilots", [])
    return rows


@logged_in_page
def precision(request: HttpRequest, code: str) -> HttpResponse:
    plans, stop = draft_plans(code, request.user)
    context = {"rows": [_row(plan) for plan in plans], "stop": _raters_with(stop) if stop else None}
    return render(request, "analysis/_draft_precision.html", context)


def _raters_with(stop: DraftStop) -> dict[str, Any]:
    """How many raters a study with this stop rule needs: expected, and at most."""
    from analysis.report.stop_words import BUDGET, PLANNED_LOOKS
    from analysis.statistics.planning.group_sequential import looks_design
    from analysis.statistics.planning.study_design import PlanningError

    most = stop["raters"]
    if stop["rule"] == BUDGET:
        affordable = stop["affordable"]
        return {"most": most if affordable is None else min(affordable, most)}
    found = {"most": most, "fewest": ceil(stop["looks"][0] * most - 1e-9)}
    if stop["rule"] != PLANNED_LOOKS:
        return found
    try:
        design = looks_design(tuple(stop["looks"]), futility=stop["futility"])
    except PlanningError:
        return found
    for name, effect in (("none", 0.0), ("planned", 1.0)):
        found[name] = round(design.expected_share(effect) * most)
    return found


def _row(plan: DraftPlan) -> dict[str, Any]:
    """The half width of a mean and of a difference, or why there is none."""
    from analysis.formatting import number
    from analysis.ratings.estimands import estimand_of
    from analysis.statistics.planning.precision import (
        DIFFERENCE,
        MEAN,
        half_width,
        shared_level,
    )
    from analysis.statistics.planning.study_design import PlanningError, design_of
    from analysis.statistics.planning.variance_components import assumed_components

    estimand = estimand_of(plan["estimand"])
    row: dict[str, Any] = {"title": plan["title"], "name": estimand.name}
    low, high = plan["low"], plan["high"]
    if low is None or high is None:
        return row | {"problem": "the answers are not numeric"}
    try:
        components = assumed_components(estimand.key, low, high, plan["answers"])
        design = design_of(
            plan["ratings_per_stimulus"],
            items=plan["items"],
            conditions=max(plan["conditions"], 1),
            clips_per_rater=max(plan["clips_per_rater"], 1),
        )
        row["mean"] = number(half_width(design, components, of=MEAN), decimals=estimand.decimals)
        if plan["conditions"] > 1 and not estimand.in_pairs:
            pairs = plan["conditions"] * (plan["conditions"] - 1) // 2
            level = shared_level(0.95, pairs)
            both = half_width(design, components, of=DIFFERENCE, level=level)
            row["difference"] = number(both, decimals=estimand.decimals)
    except PlanningError as error:
        return row | {"problem": str(error)}
    return row | {"source": components.source, "items": plan["items"]}
