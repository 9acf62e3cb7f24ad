"""study.toml read: the study, its conditions, tasks, criteria and traps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from listening.common.plain_toml import TomlError, read_toml
from listening.design.analysis_rules import rule_read
from listening.design.studyfile.entries import (
    MOST_HYPOTHESES,
    ConditionEntry,
    CriterionEntry,
    StudyFile,
    TaskEntry,
)
from listening.design.studyfile.faint_sounds import ALIKE, AS_IS, asks_for_faint_sounds
from listening.design.studyfile.occasionpart import check_occasions
from listening.design.studyfile.problems import Notebook, did_you_mean
from listening.design.studyfile.questionpart import read_questionnaires
from listening.design.studyfile.reader import read_table
from listening.design.studyfile.rubricpart import with_rubric
from listening.design.studyfile.settingspart import read_settings
from listening.design.studyfile.sourcepart import read_sources
from listening.design.studyfile.translationpart import (
    check_offered,
    read_study_words,
    read_task_words,
)
from listening.methods import Method, method_named

HEADPHONES = "Headphones are tested by “huggins”, or by “antiphase”."
CRITERION_KEYS = {"att": "human_likeness"}  # for a task that names no criterion; else naturalness


def read_study_toml(data: bytes, notes: Notebook) -> StudyFile | None:
    """The study without its material; None when the file is no TOML at all."""
    top = _parsed(data, notes)
    if top is None:
        return None
    parts = read_table(top, "", "", notes)
    study = read_table(parts["study"], "study", "study", notes) if "study" in top else {}
    if not study:
        return None
    if study["erase_on"] is not None and study["erase_after_days"] is not None:
        what = "The study has a number of days, too, and one of them would be ignored."
        notes.toml("study.erase_on", what, "Keep one of them.")
    if len(study["hypotheses"]) > MOST_HYPOTHESES:
        what = f"There are more than {MOST_HYPOTHESES} hypotheses."
        notes.toml("study.hypotheses", what, "Keep those that the study is to decide.")
    study["texts"] = _filled(study["texts"], "study.texts", notes)
    study["completion_codes"] = _codes(study["completion_codes"], notes)
    study["publication"] = read_publication(study["publication"], study["texts"], notes)
    study["ethics"] = read_ethics(study["ethics"], notes)
    study["payment"] = read_payment(study["payment"], notes)
    study["checks"] = _checks(study["checks"], notes)
    study["conditions"] = _conditions(parts["conditions"], notes)
    study["tasks"] = _tasks(parts["tasks"], study["language"], notes)
    study["ends"] = study["ends"] or _usual_ends(study, notes)
    study["questionnaires"] = read_questionnaires(parts["questionnaires"], notes)
    check_occasions(study["questionnaires"], study["tasks"], notes)
    study["translations"] = read_study_words(study, notes)
    check_offered(study["translations"], [t.translations for t in study["tasks"]], notes)
    study["settings"] = read_settings(parts["settings"], notes)
    study["sources"] = read_sources(parts["sources"], notes)
    study["analysis_rules"] = read_rules(parts["analysis_rules"], notes)
    return StudyFile(**study)


def _usual_ends(study: dict[str, Any], notes: Notebook) -> str:
    why = asks_for_faint_sounds(study["tasks"], study["conditions"])
    if not why:
        return ALIKE
    notes.remarks.append(
        f"The ends of clips are not trimmed: {why}, and it may be too faint. To trim them, set "
        f"ends (in the browser: Ends of clips) to “{ALIKE}”."
    )
    return AS_IS


def _parsed(data: bytes, notes: Notebook) -> dict[str, Any] | None:
    try:
        return read_toml(data)
    except TomlError as error:
        notes.toml(error.place, error.what, error.remedy)
        return None


def _filled(table: Any, path: str, notes: Notebook) -> dict[str, str]:
    fields = read_table(table, path, path, notes)
    return {key: value for key, value in fields.items() if value not in (None, "")}


def _codes(table: Any, notes: Notebook) -> dict[str, str]:
    codes = _filled(table, "study.completion_codes", notes)
    for key, value in codes.items():
        same = [other for other in codes if other < key and codes[other] == value]
        if same:
            notes.toml(
                f"study.completion_codes.{key}",
                f"The code “{value}” is also that of another outcome, so both look alike.",
                f"Give each outcome a code of its own: this is that of “{same[0]}”, too.",
                "Give each outcome a code of its own.",
            )
    return codes


def _checks(tables: Iterable[dict[str, Any]], notes: Notebook) -> tuple[dict[str, Any], ...]:
    from listening.checks import Check, check_named  # brings numpy along
    from listening.checks.check_settings import Unfit

    checks: list[dict[str, Any]] = []
    for n, raw in enumerate(tables, start=1):
        where = f"study.checks[{n}]"
        fields = read_table(raw, "study.checks", where, notes)
        check = {name: fields.get(name, raw[name]) for name in raw}
        check = {name: value for name, value in check.items() if value is not None}
        key = check.get("key", "")
        if key and key not in Check.registry:
            named = HEADPHONES if "headphone" in key.casefold() else ""
            known = named or did_you_mean(key, Check.registry)
            notes.toml(f"{where}.key", f"There is no check “{key}”.", known)
        elif key in [other["key"] for other in checks]:
            notes.toml(f"{where}.key", f"The check “{key}” stands here twice.", "Remove one.")
        elif key:
            try:
                check_named(key).settings(check)
            except Unfit as unfit:
                notes.toml(f"{where}.{unfit.field}", unfit.problem, unfit.remedy)
            checks.append(check)
    return tuple(checks)


def _conditions(tables: Iterable[Any], notes: Notebook) -> tuple[ConditionEntry, ...]:
    conditions = []
    for n, table in enumerate(tables, start=1):
        fields = read_table(table, "conditions", f"conditions[{n}]", notes)
        if " ~ " in fields["key"]:
            remedy = "It joins the two conditions of a pair; choose another name."
            notes.toml(f"conditions[{n}].key", "A condition's key may not hold “ ~ ”.", remedy)
        conditions.append(ConditionEntry(**fields))
    _say_duplicates([c.key for c in conditions], "conditions", "condition", notes)
    return tuple(c for c in conditions if c.key)


def _tasks(tables: Iterable[Any], language: str, notes: Notebook) -> tuple[TaskEntry, ...]:
    places = enumerate(tables, start=1)
    tasks = [_task(table, f"tasks[{n}]", language, notes) for n, table in places]
    _say_duplicates([t.key for t in tasks], "tasks", "task", notes)
    return tuple(tasks)


def _task(table: Any, where: str, language: str, notes: Notebook) -> TaskEntry:
    fields = read_table(table, "tasks", where, notes)
    method = _method(fields["method"], where, notes)
    fields = with_rubric(fields, where, language, notes)
    fields["block_size"] = fields["block_size"] or 0  # 0: missing, and said so
    fields["ratings_per_stimulus"] = fields["ratings_per_stimulus"] or 0
    fields["blocks_per_rater"] = fields["blocks_per_rater"] or fields["blocks_per_session"]
    fields["justification"] = _justification(fields["justification"], method, where, notes)
    fields["traps"] = _traps(fields["traps"], where, notes)
    fields["examples"] = _entries(fields["examples"], "examples", where, notes)
    fields["training"] = _entries(fields["training"], "training", where, notes)
    fields["criteria"] = _criteria(fields["criteria"], method, where, notes)
    fields["translations"] = read_task_words(fields, where, method, notes)
    return TaskEntry(**fields)


def _method(key: str, where: str, notes: Notebook) -> Method | None:
    if not key:
        return None
    try:
        return method_named(key)
    except KeyError:
        known = did_you_mean(key, sorted(Method.registry))
        notes.toml(f"{where}.method", f"There is no method “{key}”.", known)
        return None


def _justification(
    table: Any, method: Method | None, where: str, notes: Notebook
) -> dict[str, Any]:
    if table is None:
        if method is None or not method.justification_required:
            return {}
        table = {}
    fields = read_table(table, "tasks.justification", f"{where}.justification", notes)
    lists = {"good": list(fields["good"]), "poor": list(fields["poor"])}
    return fields | lists


def _traps(table: Any, where: str, notes: Notebook) -> dict[str, Any]:
    if table is None:
        return {}
    where = f"{where}.traps"
    fields = read_table(table, "tasks.traps", where, notes)
    kinds = []
    for n, entry in enumerate(fields["kinds"], start=1):
        kind = read_table(entry, "tasks.traps.kinds", f"{where}.kinds[{n}]", notes)
        kind["expected"] = list(kind["expected"])
        kind["pass_at_least"] = kind["pass_at_least"] or kind["count"]
        kind = {key: value for key, value in kind.items() if value not in (None, "", False, 0)}
        kind.setdefault("kind", "")
        if kind["pass_at_least"] > kind["count"]:
            notes.toml(
                f"{where}.kinds[{n}].pass_at_least",
                f"{kind['pass_at_least']} must pass of {kind['count']} traps: nobody can.",
                f"Choose at most {kind['count']}.",
            )
        kinds.append(kind)
    _say_duplicates([k["kind"] for k in kinds], f"{where}.kinds", "kind of trap", notes, "kind")
    return fields | {"kinds": kinds} if kinds else {}


def _entries(
    tables: Iterable[Any], name: str, where: str, notes: Notebook
) -> tuple[dict[str, Any], ...]:
    """Tables that are kept as they are: what was left out stays away."""
    entries = []
    for n, table in enumerate(tables, start=1):
        fields = read_table(table, f"tasks.{name}", f"{where}.{name}[{n}]", notes)
        lists = {key: list(value) for key, value in fields.items() if isinstance(value, tuple)}
        entries.append({k: v for k, v in (fields | lists).items() if v not in (None, "", [])})
    return tuple(entry for entry in entries if entry.get("stimulus"))


def _criteria(
    tables: Iterable[Any], method: Method | None, where: str, notes: Notebook
) -> tuple[CriterionEntry, ...]:
    """What the study leaves out is the method's own."""
    known = {c.key: c for c in _default_criteria(method)} if method else {}
    criteria = []
    for n, table in enumerate(tables, start=1):
        fields = read_table(table, "tasks.criteria", f"{where}.criteria[{n}]", notes)
        own = known.get(fields["key"])
        if own:
            fields["options"] = {**own.options, **fields["options"]}
        plain = method.default_question if method else ""
        fields["question"] = fields["question"] or (own.question if own else plain)
        criteria.append(CriterionEntry(**fields))
    _say_duplicates([c.key for c in criteria], f"{where}.criteria", "criterion", notes)
    return tuple(criteria) or tuple(known.values())


def _default_criteria(method: Method) -> tuple[CriterionEntry, ...]:
    if method.default_criteria:
        return tuple(
            CriterionEntry(key, question, options=dict(options))
            for key, question, options in method.default_criteria
        )
    key = CRITERION_KEYS.get(method.key, "naturalness")
    return (CriterionEntry(key, method.default_question),)


def _say_duplicates(
    keys: list[str], where: str, noun: str, notes: Notebook, field: str = "key"
) -> None:
    first: dict[str, int] = {}
    for n, key in enumerate(keys, start=1):
        if key and key in first:
            what = f"The {noun} “{key}” stands already at number {first[key]}."
            notes.toml(f"{where}[{n}].{field}", what, "Give it another name or remove it.")
        first.setdefault(key, n)


def read_publication(
    table: Any, texts: Mapping[str, str], notes: Notebook
) -> dict[str, str | bool]:
    """What may leave; what is not said is left out of it, and does not."""
    fields = read_table(table, "study.publication", "study.publication", notes)
    said = {name: value for name, value in fields.items() if value}
    covered = [name for name in said if name.startswith("consent_covers_")]
    if covered and not texts.get("consent"):
        what = "There is no consent text that could cover it."
        remedy = "Write it in [study.texts], consent."
        on_page = "Write it under Raters: Consent."
        notes.toml(f"study.publication.{covered[0]}", what, remedy, on_page)
    if said.get("consent_covers_words") and not said.get("consent_covers_ratings"):
        what = "Raters’ words are published with their ratings, or not at all."
        notes.toml(
            "study.publication.consent_covers_words", what, "Write consent_covers_ratings = true."
        )
    return said


CURRENCIES = ("GBP", "USD")  # of Prolific
AMOUNTS = {"per_hour": "per hour", "per_session": "per session", "per_clip": "per clip"}


def read_ethics(table: Any, notes: Notebook) -> dict[str, str]:
    """What is said; the consent text is composed of it where its researcher asks for that."""
    fields = read_table(table, "study.ethics", "study.ethics", notes)
    return {name: value for name, value in fields.items() if value}


def read_payment(table: Any, notes: Notebook) -> dict[str, Any]:
    """Who pays raters, and how much for what; empty where nothing is said."""
    if not table:
        return {}
    fields = read_table(table, "study.payment", "study.payment", notes)
    said = {name: value for name, value in fields.items() if value is not None}
    amounts = [name for name in AMOUNTS if name in said]
    if len(amounts) > 1:
        what = f"It has an amount {' and one '.join(AMOUNTS[name] for name in amounts)}."
        notes.toml("study.payment", what, "Keep one amount; the results tell the others.")
    if said["by"] == "prolific" and {"per_session", "per_clip"} & set(amounts):
        remedy = 'Write per_hour, or by = "us" where you pay in another way.'
        on_page = "Fill in the pay per hour, or choose another way to pay."
        notes.toml(
            f"study.payment.{amounts[-1]}", "At Prolific you pay by the hour.", remedy, on_page
        )
    if said["by"] == "prolific" and said["currency"] not in CURRENCIES:
        known = " or ".join(CURRENCIES)
        remedy, on_page = f'Write {known}, or by = "us".', f"Choose {known}, or another way to pay."
        notes.toml("study.payment.currency", "Prolific does not pay in it.", remedy, on_page)
    return said


MOST_RULES = 30


def read_rules(tables: Iterable[Any], notes: Notebook) -> tuple[dict[str, str], ...]:
    """Each rule as its text with its version, and why it is there."""
    rules: list[dict[str, str]] = []
    for n, table in enumerate(tables, start=1):
        where = f"analysis_rules[{n}]"
        if n > MOST_RULES:
            notes.toml(
                where, f"There are more than {MOST_RULES} rules.", "Keep those that you need."
            )
            break
        fields = read_table(table, "analysis_rules", where, notes)
        if not fields["rule"]:
            continue
        try:
            text = rule_read(fields["rule"])
        except ValueError as error:
            notes.toml(f"{where}.rule", f"{error}.", "docs/estimators.md lists the rules.")
            continue
        if text in [rule["rule"] for rule in rules]:
            notes.toml(f"{where}.rule", f"The rule “{text}” stands here twice.", "Remove one.")
            continue
        rules.append({"rule": text, **({"why": fields["why"]} if fields["why"] else {})})
    return tuple(rules)
