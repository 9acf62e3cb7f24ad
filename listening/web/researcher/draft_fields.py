"""The fields that the pages of a draft show: what is in study.toml, beside what it may be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from django.utils.translation import gettext

from listening.checks import Check
from listening.checks.check import Unfit, names_of
from listening.common.languages import name_of, speaking
from listening.common.plugins import purpose_of
from listening.design.consent import LONG, composed
from listening.design.draft_fields import (
    WITH,
    EditorField,
    comparisons_of,
    editor_field,
    field_value,
    fields_of_table,
    put,
    reasons_of,
)
from listening.design.draft_toml import Table, roles
from listening.design.providers import Provider
from listening.design.stop_rule import BUDGET, HALF_WIDTH, PLANNED_LOOKS, USUAL_LOOKS, takes
from listening.design.studyfile.fit import WatchedOptions
from listening.methods import Method, Scale, method_named
from listening.methods.estimand import PREFERENCE
from listening.methods.paired import ADAPTIVE, ALL, RANDOM, SWISS, Paired
from listening.web.researcher.checks_and_traps import chance_text
from listening.web.researcher.draft_places import further_fields, has_control

ROWS = {"welcome": 5, "consent": 8, "end": 2, "debrief": 3}  # lines of longer texts
SETTINGS = ("trials", "pass_at_least", "attempts", "on_fail")  # of a check, on the page for each
STOP_RULES = {
    "": "when every place is filled",
    PLANNED_LOOKS: "when the comparisons are decided, at planned looks",
    HALF_WIDTH: "when the means are precise enough",
    BUDGET: "when the budget is spent",
}
STOP_FURTHER = ("stop.futility", "stop.compare", "stop.criteria")  # folded
DRAWN_PAIRS = [
    (RANDOM, "random pairs, equally often"),
    (SWISS, "pairs of similar strength (Swiss)"),
    (ADAPTIVE, "informative pairs (adaptive)"),
]


# --- Questions ------------------------------------------------------------------------------------


def question_fields(
    top: Mapping[str, Any], rows: Sequence[Mapping[str, str]]
) -> list[dict[str, Any]]:
    """One for each task: its words, its scale with the words at its answers, its criteria."""
    conditions = list(dict.fromkeys(row["condition"] for row in rows if not row.get("trap")))
    return [_task(n, task, conditions, top) for n, task in enumerate(top.get("tasks", []))]


def _task(
    place: int, task: Mapping[str, Any], conditions: list[str], top: Mapping[str, Any]
) -> dict[str, Any]:
    key = task.get("method", "")
    method = method_named(key) if key in Method.registry else None
    options = task.get("options", {})
    role = roles(dict(top))
    steps, criteria = _steps(method, options), _criteria(method, task, place)
    steps += _labels_gone(method, options, options.get("names") or {})
    option_names = _options_of(method)
    return {
        "place": place,
        "anchor": f"task-{place}",
        "task": task,
        "method": method,
        "purpose": purpose_of(type(method)) if method else "",
        "steps": steps,
        "criteria": criteria,
        "comparisons": _comparisons(method, task, conditions),
        "conditions": conditions,
        "reference": [c for c in conditions if role.get(c) == "reference"],
        "may_open_reference": "open_reference" in option_names,
        "wants_reference": "reference" in option_names
        and options.get("open_reference") is not False,
        "options": option_names,
        "half_steps": options.get("step", getattr(method, "default_step", 1)) == 0.5,
        "reach": str(options.get("reach", getattr(method, "default_reach", ""))),
        "further": controls(
            [*_further_options(place, option_names), *further_fields(place)], dict(top)
        ),
        "reasons": _reasons(task, method),
        "languages": [_task_words(tag, place, task, steps, criteria) for tag in languages_of(top)],
    }


def _comparisons(
    method: Method | None, task: Mapping[str, Any], conditions: Sequence[str]
) -> list[tuple[str, str, bool]]:
    """Which systems a task may compare, in words, and whether it does; empty: no choice."""
    if not isinstance(method, Paired) or len(conditions) < 2:
        return []
    offered = [(ALL, "all pairs of systems")]
    if method.estimand.comparison == PREFERENCE:
        offered += DRAWN_PAIRS
    offered += [(WITH + key, f"all with {key}") for key in conditions]
    chosen = comparisons_of(task)
    if chosen not in dict(offered):
        offered.append((chosen, "pairs named in study.toml"))
    return [(value, words, value == chosen) for value, words in offered]


def _options_of(method: Method | None) -> tuple[str, ...]:
    """The names of the options that a method reads."""
    if method is None:
        return ()
    options = WatchedOptions({})
    for read in (method.scale, method.playback, lambda options: method.columns((), options)):
        with suppress(ValueError, TypeError, KeyError):  # it misses one that it needs
            read(options)
    return tuple(options.used)


def _further_options(place: int, option_names: Sequence[str]) -> list[EditorField]:
    """The options that the page has no control for by name."""
    at = f"tasks.{place}.options"
    fields = (
        editor_field(f"{at}.{name}") for name in option_names if not has_control(f"{at}.{name}")
    )
    return [field for field in fields if field]


def _reasons(task: Mapping[str, Any], method: Method | None) -> dict[str, Any]:
    own = task.get("justification", {})
    return {
        "asked": reasons_of(task),
        "usual": "required" if method and method.justification_required else "not asked",
        "own": own,
        "good": "\n".join(own.get("good", [])),
        "poor": "\n".join(own.get("poor", [])),
    }


def _task_words(
    tag: str,
    place: int,
    task: Mapping[str, Any],
    steps: Sequence[Mapping[str, Any]],
    criteria: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """The words of a task in one more language, beside those that they translate."""
    own = task.get("translations", {}).get(tag, {})
    at = f"tasks.{place}.translations.{tag}"
    fields = [
        translated_word(f"{at}.title", "Heading", task.get("title", ""), own.get("title", ""))
    ]
    words = (own.get("instructions", ""), True)
    fields.append(
        translated_word(f"{at}.instructions", "Instructions", task.get("instructions", ""), *words)
    )
    for each in criteria:
        mine, where = own.get("criteria", {}).get(each["key"], {}), f"{at}.criteria.{each['key']}"
        pair = (each["question"], mine.get("question", ""))
        fields.append(translated_word(f"{where}.question", "Question", *pair))
        pair = (each["entry"].get("help_text", ""), mine.get("help_text", ""))
        fields.append(translated_word(f"{where}.help_text", "Help text", *pair))
        for step in steps:
            pair = (step["words"] or step["own"], mine.get("names", {}).get(step["label"], ""))
            fields.append(
                translated_word(f"{where}.names.{step['label']}", f"At {step['label']}", *pair)
            )
    if "justification" in task:
        mine = own.get("justification", {}).get("prompt", "")
        pair = (task["justification"].get("prompt", ""), mine)
        fields.append(translated_word(f"{at}.justification.prompt", "Justification prompt", *pair))
    return language_words(tag, fields)


def translated_word(
    name: str, words: str, original: str, value: str, long: bool = False
) -> dict[str, Any]:
    return {
        "name": name,
        "words": words,
        "original": original,
        "value": value,
        "rows": 5 if long else 1,
    }


def language_words(tag: str, fields: list[dict[str, Any]]) -> dict[str, Any]:
    to_translate = [each for each in fields if each["original"]]
    missing = sum(not each["value"] for each in to_translate)
    return {"tag": tag, "name": name_of(tag), "fields": to_translate, "missing": missing}


def languages_of(top: Mapping[str, Any]) -> list[str]:
    """The further languages in which the study is offered."""
    return list(top.get("study", {}).get("translations", {}))


def _steps(method: Method | None, options: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The answers with their words; a scale of more than a dozen is a slider."""
    scale = _scale(method, options)
    if scale is None:
        return []
    named = options.get("names") or {}
    whole = [s for s in scale.steps if s.label.lstrip("-").isdecimal() or not _is_number(s.label)]
    return [
        {"label": step.label, "words": named.get(step.label, ""), "own": step.text}
        for step in whole
        if len(whole) <= 12
    ]


def _scale(method: Method | None, options: Mapping[str, Any]) -> Scale | None:
    """The scale of a method; None where its options do not fit it."""
    if method is None:
        return None
    try:
        return method.scale(options)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def _labels_gone(
    method: Method | None, options: Mapping[str, Any], named: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Words at points that the scale no longer has, so that they can be cleared."""
    scale = _scale(method, options)
    return [
        {"label": label, "words": words, "given": words, "own": "", "gone": True}
        for label, words in named.items()
        if scale is not None and label not in scale.labels
    ]


def _is_number(label: str) -> bool:
    return label.replace(".", "", 1).lstrip("-").isdecimal()


def _criteria(method: Method | None, task: Mapping[str, Any], place: int) -> list[dict[str, Any]]:
    own = method.question_for(task.get("options", {})) if method else ""
    return [
        {
            "place": n,
            "at": f"{place}.{n}",
            "anchor": f"t{place}-c{n}",
            "spoken": f"question {n + 1}",
            "key": criterion.get("key", ""),
            "question": criterion.get("question") or own,
            "entry": criterion,
            "steps": _own_steps(method, task.get("options", {}), criterion.get("options", {})),
        }
        for n, criterion in enumerate(task.get("criteria", []))
    ]


def _own_steps(
    method: Method | None, of_task: Mapping[str, Any], own: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """The answers of a criterion, with words of its own over those of the task."""
    named = own.get("names") or {}
    options = {**of_task, **{k: v for k, v in own.items() if k != "names"}}
    steps = [
        {
            "label": step["label"],
            "given": named.get(step["label"], ""),
            "own": step["words"] or step["own"],
        }
        for step in _steps(method, options)
    ]
    return steps + _labels_gone(method, options, named)


# --- Raters ---------------------------------------------------------------------------------------


def rater_fields(top: dict[str, Any]) -> dict[str, Any]:
    study = top.get("study", {})
    return {
        "study": study,
        "texts": [
            {"key": key, "words": label, "rows": ROWS.get(key, 1)}
            | {"value": study.get("texts", {}).get(key, "")}
            for key, label in _texts()
        ],
        "consent_version": study.get("texts", {}).get("consent_version", ""),
        "codes": [
            {"key": key, "words": label} | {"value": study.get("completion_codes", {}).get(key, "")}
            for key, label in _labels("study.completion_codes")
        ],
        "further": controls(further_fields(), top),
        "checks": [_check(key, top) for key in _in_order(Check.registry)],
        "tasks": [(n, task, _traps(task)) for n, task in enumerate(top.get("tasks", []))],
        "draw_pairs": [
            n
            for n, task in enumerate(top.get("tasks", []))
            if comparisons_of(task) in dict(DRAWN_PAIRS)
        ],
        "ethics": [
            {"name": key, "words": label, "long": key in LONG}
            | {"value": study.get("ethics", {}).get(key, "")}
            for key, label in _labels("study.ethics")
        ],
        "has_ethics": bool(study.get("ethics")),
        "composed": consent_text(top, study.get("language", "en")),
        "payment": study.get("payment", {}),
        "stop": _stop(top),
        "sources": [
            {
                "entry": each,
                "kind": Provider.registry[each.get("kind", "link")].title,
                "further": controls(_further_of_source(f"sources.{each.get('key', '')}"), top),
            }
            for each in top.get("sources", [])
            if each.get("kind", "link") in Provider.registry
        ],
        "source_kinds": [(key, each.title) for key, each in Provider.registry.items()],
        "languages": [_study_words(tag, study) for tag in languages_of(top)],
    }


def _further_of_source(prefix: str) -> Iterator[EditorField]:
    """The fields of a source that stand folded: its parameters, exits and codes."""
    for table in ("", ".return_urls", ".codes"):
        fields = fields_of_table(f"sources{table}", prefix + table)
        yield from (field for field in fields if not field.name.endswith(".quota"))


def _stop(top: Table) -> dict[str, Any]:
    """The stop rule's fields as they are, the rules to choose from, and what stands folded."""
    rule = str(top.get("stop", {}).get("rule", ""))
    fields = fields_of_table("stop", "stop")
    further = [f for f in fields if f.name in STOP_FURTHER and takes(rule, f.name[len("stop.") :])]
    return {field.name.removeprefix("stop."): field_value(top, field.name) for field in fields} | {
        "rules": list(STOP_RULES.items()),
        "usual_looks": USUAL_LOOKS.get(rule, ""),
        "further": controls(further, top),
    }


def _in_order(keys: Any) -> list[str]:
    """The volume first, as raters meet it."""
    return sorted(keys, key=lambda key: (key != "volume", key))


def _labels(table: str) -> list[tuple[str, str]]:
    """The fields of a table of the schema with their labels."""
    return [(f.name.removeprefix(f"{table}."), f.label) for f in fields_of_table(table, table)]


def _texts() -> list[tuple[str, str]]:
    """The texts that raters read, with their labels; who agreed to which is counted by itself."""
    return [each for each in _labels("study.texts") if each[0] != "consent_version"]


def controls(fields: Iterable[EditorField], top: Table) -> list[dict[str, Any]]:
    """Fields with what they hold: for those that no template has by name."""
    return [
        {
            "field": field,
            "value": _ticked(field, top)
            if field.control == "flag"
            else field_value(top, field.name),
        }
        for field in fields
    ]


def _ticked(field: EditorField, top: Table) -> bool:
    value = field_value(top, field.name)
    return value if isinstance(value, bool) else field.usual.lower() == "true"


def _check(key: str, top: Table) -> dict[str, Any]:
    study = top.get("study", {})
    entry = next((c for c in study.get("checks", []) if c.get("key") == key), None)
    check = Check.registry[key]()
    try:
        settings = check.settings(entry or {}, language=study.get("language", "en"))
    except Unfit:  # said under Review; the page shows what was typed
        settings = check.settings({}, language=study.get("language", "en"))
    return {
        "key": key,
        "title": settings.title,
        "purpose": purpose_of(Check.registry[key]),
        "ticked": entry is not None,
        "given": entry or {},
        "asked": settings,
        "guessing": chance_text(check.odds(settings)) if settings.trials else "",
        "further": controls(_further_settings(check), top),
    }


def _further_settings(check: Check) -> list[EditorField]:
    """What a study may set of a check, beside what the page asks of each."""
    names = [name for name in names_of(check) if name not in SETTINGS]
    fields = (editor_field(f"checks.{check.key}.{name}") for name in names)
    return [field for field in fields if field]


def _traps(task: Mapping[str, Any]) -> dict[str, Any]:
    plan = task.get("traps", {})
    kinds = [
        {"place": n, "entry": kind, "expected": ", ".join(map(str, kind.get("expected", [])))}
        for n, kind in enumerate(plan.get("kinds", []))
    ]
    return {"per": plan.get("per", 10), "placement": plan.get("placement"), "kinds": kinds}


def _study_words(tag: str, study: Mapping[str, Any]) -> dict[str, Any]:
    own = study.get("translations", {}).get(tag, {})
    at = f"study.translations.{tag}"
    fields = [translated_word(f"{at}.title", "Title", study.get("title", ""), own.get("title", ""))]
    for key, label in _texts():
        original = study.get("texts", {}).get(key, "")
        value = own.get("texts", {}).get(key, "")
        rows = {"rows": ROWS.get(key, 1)}
        fields.append(translated_word(f"{at}.texts.{key}", label, original, value) | rows)
    return language_words(tag, fields)


def consent_text(top: Table, language: str) -> str:
    study: dict[str, Any] = top.get("study", {})
    texts = study.get("texts", {})
    own = study.get("translations", {}).get(language, {}).get("texts", {})
    days = study.get("erase_after_days")
    with speaking(language):
        return composed(
            study.get("ethics", {}),
            own.get("contact") or texts.get("contact", ""),
            days if isinstance(days, int) else None,
            gettext,
        )


def compose_consent(top: Table) -> bool:
    """Puts the text into the study's language and every other in which it is offered."""
    study = top.setdefault("study", {})
    put(top, "study.texts.consent", consent_text(top, study.get("language", "en")))
    for tag in study.get("translations", {}):
        put(top, f"study.translations.{tag}.texts.consent", consent_text(top, tag))
    return True
