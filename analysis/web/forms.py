"""The form of the results page: what it offers, and the options that somebody asked for with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.http import QueryDict

from analysis.ratings.grouping import CROSSABLE, OFFERED
from analysis.report import catalogue
from analysis.statistics.options import INTERVALS, Options, OptionsError, options_from
from analysis.statistics.screening.offered import offered_rules
from analysis.statistics.screening.rule_text import rule_text
from analysis.web.study_tables import (
    study_covariates,
    study_hypotheses,
    study_rules,
    study_spared,
)

LEVELS = ("0.9", "0.95", "0.99")
IN_WORDS = {
    "two_way": "two-way clustered by raters and items (fast, default)",
    "bootstrap": "bootstrap over raters and items (wide, conservative)",
    "mixed": "mixed model",
    "these_items": "clustered by raters (for these items only)",
}
REPORTS = {
    "att": "Audio Turing Test",
    "lfs": "LFS-Bench",
    "long_form": "long-form (Clark et al.)",
    "nvv": "NVV-SuperBench",
}


def form_of(study_key: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """What the form shows: everything that is offered, and what of it these parameters chose."""
    from listening.selectors import condition_labels

    by = [name.partition(":")[2] for name in parameters["by"]]
    own = [rule_text(rule) for rule in study_rules(study_key)]
    rules = [text for text in parameters["rules"] if text not in own]
    parts = catalogue.optional_parts()
    return {
        "asked": parameters,
        "offered": OFFERED,
        "chosen": [name for crossing in by for name in crossing.split(",")],
        "crossed": any("," in crossing for crossing in by),
        "levels": LEVELS,
        "chosen_level": f"{parameters['level']:g}",
        "intervals": [
            (key, IN_WORDS.get(key, key.replace("_", " ")), key in parameters["intervals"])
            for key in INTERVALS
        ],
        "presets": [(key, REPORTS.get(key, key)) for key in catalogue.presets()],
        "parts": [(part, part.key in parameters.get("parts", ())) for part in parts],
        "parts_chosen": bool(parameters.get("parts")),
        "conditions": list(condition_labels(study_key).items()),
        "without_own": bool(own) and not set(own) & set(parameters["rules"]),
        "rules": [
            (text, words, text in rules)
            for text, words in rules_on_offer(study_key)
            if text not in own
        ],
    }


def options_of(form: QueryDict, study_key: str) -> Options:
    """The options of a sent form; raises OptionsError for what the form does not offer."""
    parameters: dict[str, Any] = {
        "level": form.get("level") or 0.95,
        "seed": form.get("seed") or 0,
        "preset": form.get("preset", ""),
        "reference": form.get("reference", ""),
        "parts": _known(
            form.getlist("part"), [part.key for part in catalogue.optional_parts()], "part"
        ),
    }
    if form.get("rope", "").strip():
        parameters["rope"] = form.get("rope", "").strip().replace(",", ".")
    if form.getlist("interval"):
        parameters["intervals"] = _known(form.getlist("interval"), INTERVALS, "interval")
    if parameters["preset"] and parameters["preset"] not in catalogue.presets():
        raise OptionsError(f"The report {parameters['preset']} does not exist.")
    tested = study_hypotheses(study_key)
    parameters |= {"hypotheses": list(tested)} if tested else {}
    covariates = study_covariates(study_key)
    parameters |= {"covariates": list(covariates)} if covariates else {}
    return options_from(parameters | _breakdowns(form) | _screening(form, study_key))


def _breakdowns(form: QueryDict) -> dict[str, list[str]]:
    chosen = [name for name in form.getlist("by") if name]
    if set(chosen) - set(CROSSABLE):
        raise OptionsError(f"Results cannot be broken down by {', '.join(chosen)}.")
    if not chosen:
        return {}
    return {"by": [",".join(chosen)] if form.get("crossed") else chosen}


def _screening(form: QueryDict, study_key: str) -> dict[str, Any]:
    """The rules that are asked for; with the study's own, exclusions that were undone stay so."""
    rules = _rules(form, study_key)
    undone = () if form.get("screening") == "none" else study_spared(study_key)
    return {"rules": rules} | ({"spared": list(map("/".join, undone))} if undone else {})


def _rules(form: QueryDict, study_key: str) -> list[str]:
    own = [] if form.get("screening") == "none" else study_rules(study_key)
    texts = [rule_text(rule) for rule in own]
    offered = [text for text, _ in rules_on_offer(study_key)]
    return list(dict.fromkeys([*texts, *_known(form.getlist("rule"), offered, "rule")]))


def rules_on_offer(study_key: str) -> list[tuple[str, str]]:
    """(text, words) of the rules that this study's traps allow."""
    from listening.selectors import trap_plans

    kinds = {kind["kind"] for plan in trap_plans(study_key).values() for kind in plan}
    return offered_rules(kinds=kinds)


def _known(chosen: Iterable[str], known: Iterable[str], what: str) -> list[str]:
    known, chosen = list(known), list(dict.fromkeys(chosen))
    wrong = [name for name in chosen if name not in known]
    if wrong:
        raise OptionsError(f"Unknown {what} {', '.join(wrong)}. Choose from {', '.join(known)}.")
    return chosen
