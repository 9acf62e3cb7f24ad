"""study.toml read: the study, its conditions, tasks, criteria and traps."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from listening.common.plain_toml import TomlError, read_toml
from listening.design.analysis_rules import LONGEST, rule_read
from listening.design.consent import ETHICS
from listening.design.studyfile import shapes
from listening.design.studyfile.entries import (
    OUTCOMES,
    ConditionEntry,
    CriterionEntry,
    StudyFile,
    TaskEntry,
)
from listening.design.studyfile.faint_sounds import ALIKE, AS_IS, asks_for_faint_sounds
from listening.design.studyfile.occasionpart import check_occasions
from listening.design.studyfile.problems import Notebook, did_you_mean
from listening.design.studyfile.questionpart import read_questionnaires
from listening.design.studyfile.rubricpart import with_rubric
from listening.design.studyfile.settingspart import read_settings
from listening.design.studyfile.shapes import Field, Wrong, read_table
from listening.design.studyfile.sourcepart import read_sources
from listening.design.studyfile.translationpart import (
    check_offered,
    read_study_words,
    read_task_words,
)
from listening.methods import Method, method_named

ROLES = ("test", "reference", "anchor", "trap")
MOST_HYPOTHESES, LONGEST_HYPOTHESIS = 30, 1000
SMALL = 32_767  # the largest number of a small column of the database

TOP = {
    "study": Field(shapes.raw_table, required=True, default={}),
    "conditions": Field(shapes.raw_tables, default=()),
    "tasks": Field(shapes.raw_tables, required=True, default=()),
    "questionnaires": Field(shapes.raw_tables, default=()),
    "settings": Field(shapes.raw_tables, default=()),
    "sources": Field(shapes.raw_tables, default=()),
    "analysis_rules": Field(shapes.raw_tables, default=()),
}
STUDY = {
    "key": Field(shapes.slug, required=True, longest=80, default=""),
    "title": Field(shapes.text, required=True, longest=200, default=""),
    "language": Field(shapes.language, default="en", longest=16),
    "seed": Field(shapes.whole, default=0, low=-(2**62), high=2**62),
    "task_plan": Field(shapes.choice, default="all", choices=("one", "all")),
    "sessions_per_rater": Field(shapes.whole, default=1, low=1, high=1000),
    "lease_minutes": Field(shapes.number, default=30, low=1, high=7 * 24 * 60),
    "break_every": Field(shapes.whole, default=0, low=0, high=1000),
    "loudness_lufs": Field(shapes.number, low=-50, high=-10),
    "sample_rate_hz": Field(shapes.whole, low=8_000, high=192_000),
    "erase_after_days": Field(shapes.whole, low=0, high=36_500),
    "erase_on": Field(shapes.day),
    "erase_reasons": Field(shapes.flag, default=False),
    "ends": Field(shapes.choice, choices=(ALIKE, AS_IS)),
    "hypotheses": Field(shapes.texts, default=(), longest=LONGEST_HYPOTHESIS),
    "texts": Field(shapes.raw_table, default={}),
    "translations": Field(shapes.raw_table, default={}),
    "completion_codes": Field(shapes.raw_table, default={}),
    "publication": Field(shapes.raw_table, default={}),
    "ethics": Field(shapes.raw_table, default={}),
    "payment": Field(shapes.raw_table, default={}),
    "checks": Field(shapes.raw_tables, default=()),
}
TEXT_KEYS = (
    *("welcome", "consent", "consent_version", "end", "contact", "debrief", "comment_prompt"),
)
TEXTS = {key: Field(shapes.text) for key in TEXT_KEYS} | {
    "consent_version": Field(shapes.text, longest=40)
}
CODES = {key: Field(shapes.code, longest=64) for key in OUTCOMES}
CONDITION = {
    "key": Field(shapes.identifier, required=True, longest=80, default=""),
    "label": Field(shapes.text, default="", longest=120),
    "system": Field(shapes.text, default="", longest=80),
    "voice": Field(shapes.text, default="", longest=80),
    "role": Field(shapes.choice, default="test", choices=ROLES),
    "attributes": Field(shapes.words, default={}, longest=2000),
}
TASK = {
    "key": Field(shapes.slug, required=True, longest=80, default=""),
    "title": Field(shapes.text, default="", longest=200),
    "instructions": Field(shapes.text, default=""),
    "method": Field(shapes.text, required=True, longest=40, default=""),
    "options": Field(shapes.table, default={}),
    "conditions": Field(shapes.texts, default=(), longest=80),
    "dimensions": Field(shapes.texts, default=(), longest=80),
    "draw": Field(shapes.raw_table, default={}),
    "block_size": Field(shapes.whole, required=True, low=1, high=1000),
    "ratings_per_stimulus": Field(shapes.whole, required=True, low=1, high=10_000),
    "blocks_per_session": Field(shapes.whole, default=1, low=1, high=1000),
    "blocks_per_rater": Field(shapes.whole, low=1, high=SMALL),
    "repeat_items": Field(shapes.flag, default=False),
    "allow_missing": Field(shapes.flag, default=False),
    "show_text": Field(shapes.flag, default=False),
    "show_caption": Field(shapes.flag, default=False),
    "autoplay": Field(shapes.flag, default=False),
    "reopen_invalid": Field(shapes.flag, default=False),
    "repeats": Field(shapes.whole, default=0, low=0, high=1000),
    "examples": Field(shapes.raw_tables, default=()),
    "training": Field(shapes.raw_tables, default=()),
    "justification": Field(shapes.raw_table),
    "traps": Field(shapes.raw_table),
    "criteria": Field(shapes.raw_tables, default=()),
    "translations": Field(shapes.raw_table, default={}),
}
CRITERION = {
    "key": Field(shapes.slug, required=True, longest=80, default=""),
    "question": Field(shapes.text, default="", longest=300),
    "help_text": Field(shapes.text, default=""),
    "options": Field(shapes.table, default={}),
}
EXAMPLE = {
    "stimulus": Field(shapes.identifier, required=True, longest=120, default=""),
    "caption": Field(shapes.text, default="", longest=500),
}
TRAINING = {
    "stimulus": Field(shapes.identifier, required=True, longest=120, default=""),
    "expected": Field(shapes.texts, default=(), longest=80),
    "right": Field(shapes.text, default="", longest=500),
    "wrong": Field(shapes.text, default="", longest=500),
}
JUSTIFICATION = {
    "required": Field(shapes.flag, default=True),
    "min_chars": Field(shapes.whole, default=10, low=0, high=2000),
    "prompt": Field(shapes.text, default="", longest=300),
    "good": Field(shapes.texts, default=(), longest=1000),
    "poor": Field(shapes.texts, default=(), longest=1000),
}
TRAPS = {
    "placement": Field(shapes.choice, default="outside", choices=("outside", "inside")),
    "per": Field(shapes.whole, default=10, low=1, high=1000),
    "kinds": Field(shapes.raw_tables, required=True, default=()),
}
KIND = {
    "kind": Field(shapes.identifier, required=True, longest=40, default=""),
    "count": Field(shapes.whole, default=1, low=1, high=100),
    "expected": Field(shapes.texts, default=(), longest=80),
    "pass_at_least": Field(shapes.whole, low=1, high=100),
    "tolerance": Field(shapes.number, low=0, high=100),
    "criterion": Field(shapes.text, longest=80),
    "text": Field(shapes.flag),
}
CHECK_KEY = Field(shapes.slug, required=True, longest=40, default="")
ANYTHING = Field(shapes.plain)  # the settings of a check are its own affair
HEADPHONES = "Headphones are tested by “huggins”, or by “antiphase”."
CRITERION_KEYS = {"att": "human_likeness"}  # for a task that names no criterion; else naturalness


def read_study_toml(data: bytes, notes: Notebook) -> StudyFile | None:
    """The study without its material; None when the file is no TOML at all."""
    top = _parsed(data, notes)
    if top is None:
        return None
    parts = read_table(top, TOP, "", notes)
    study = read_table(parts["study"], STUDY, "study", notes) if "study" in top else {}
    if not study:
        return None
    if study["erase_on"] is not None and study["erase_after_days"] is not None:
        what = "The study has erase_after_days, too, and one of them would be ignored."
        notes.toml("study.erase_on", what, "Keep one of them.")
    if len(study["hypotheses"]) > MOST_HYPOTHESES:
        what = f"There are more than {MOST_HYPOTHESES} hypotheses."
        notes.toml("study.hypotheses", what, "Keep those that the study is to decide.")
    study["texts"] = _without_blanks(read_table(study["texts"], TEXTS, "study.texts", notes))
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
        f'ends = "{ALIKE}" in [study].'
    )
    return AS_IS


def _parsed(data: bytes, notes: Notebook) -> dict[str, Any] | None:
    try:
        return read_toml(data)
    except TomlError as error:
        notes.toml(error.place, error.what, error.remedy)
        return None


def _without_blanks(fields: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value not in (None, "")}


def _codes(table: Any, notes: Notebook) -> dict[str, str]:
    codes = _without_blanks(read_table(table, CODES, "study.completion_codes", notes))
    for key, value in codes.items():
        same = [other for other in codes if other < key and codes[other] == value]
        if same:
            notes.toml(
                f"study.completion_codes.{key}",
                f"The code “{value}” is also that of “{same[0]}”, so the outcomes look alike.",
                "Give each outcome a code of its own.",
            )
    return codes


def _checks(tables: Iterable[dict[str, Any]], notes: Notebook) -> tuple[dict[str, Any], ...]:
    from listening.checks import Check, check_named  # brings numpy along
    from listening.checks.check_settings import Unfit

    checks: list[dict[str, Any]] = []
    for n, raw in enumerate(tables, start=1):
        where = f"study.checks[{n}]"
        shape = dict.fromkeys(raw, ANYTHING) | {"key": CHECK_KEY}
        fields = read_table(raw, shape, where, notes)
        check = {name: value for name, value in fields.items() if value is not None}
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
        fields = read_table(table, CONDITION, f"conditions[{n}]", notes)
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
    fields = read_table(table, TASK, where, notes)
    method = _method(fields["method"], where, notes)
    fields = with_rubric(fields, where, language, notes)
    fields["block_size"] = fields["block_size"] or 0  # 0: missing, and said so
    fields["ratings_per_stimulus"] = fields["ratings_per_stimulus"] or 0
    fields["blocks_per_rater"] = fields["blocks_per_rater"] or fields["blocks_per_session"]
    fields["justification"] = _justification(fields["justification"], method, where, notes)
    fields["traps"] = _traps(fields["traps"], where, notes)
    fields["examples"] = _entries(fields["examples"], EXAMPLE, f"{where}.examples", notes)
    fields["training"] = _entries(fields["training"], TRAINING, f"{where}.training", notes)
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
    fields = read_table(table, JUSTIFICATION, f"{where}.justification", notes)
    lists = {"good": list(fields["good"]), "poor": list(fields["poor"])}
    return fields | lists


def _traps(table: Any, where: str, notes: Notebook) -> dict[str, Any]:
    if table is None:
        return {}
    where = f"{where}.traps"
    fields = read_table(table, TRAPS, where, notes)
    kinds = []
    for n, entry in enumerate(fields["kinds"], start=1):
        kind = read_table(entry, KIND, f"{where}.kinds[{n}]", notes)
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
    tables: Iterable[Any], shape: shapes.Shape, where: str, notes: Notebook
) -> tuple[dict[str, Any], ...]:
    """Tables that are kept as they are: what was left out stays away."""
    entries = []
    for n, table in enumerate(tables, start=1):
        fields = read_table(table, shape, f"{where}[{n}]", notes)
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
        fields = read_table(table, CRITERION, f"{where}.criteria[{n}]", notes)
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


LICENCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+-]*")


def _licence(value: Any, field: Field) -> str:
    """A licence's short name, as SPDX and archives of data write it."""
    clean = shapes.text(value, field)
    if clean and not LICENCE.fullmatch(clean):
        raise Wrong(
            f"“{clean}” is no short name of a licence.",
            "Write it as spdx.org/licenses does, like CC-BY-4.0.",
        )
    return clean


PUBLICATION = {
    "audio_licence": Field(_licence, default="", longest=60),
    "ratings_licence": Field(_licence, default="", longest=60),
    "consent_covers_ratings": Field(shapes.flag, default=False),
    "consent_covers_words": Field(shapes.flag, default=False),
}


def read_publication(
    table: Any, texts: Mapping[str, str], notes: Notebook
) -> dict[str, str | bool]:
    """What may leave; what is not said is left out of it, and does not."""
    fields = read_table(table, PUBLICATION, "study.publication", notes)
    said = {name: value for name, value in fields.items() if value}
    covered = [name for name in said if name.startswith("consent_covers_")]
    if covered and not texts.get("consent"):
        what = "There is no consent text that could cover it."
        remedy = "Write it in [study.texts], consent."
        notes.toml(f"study.publication.{covered[0]}", what, remedy)
    if said.get("consent_covers_words") and not said.get("consent_covers_ratings"):
        what = "Raters’ words are published with their ratings, or not at all."
        notes.toml(
            "study.publication.consent_covers_words", what, "Write consent_covers_ratings = true."
        )
    return said


CURRENCIES = ("GBP", "USD")  # of Prolific
CURRENCY = re.compile(r"[A-Z]{3}")
AMOUNTS = ("per_hour", "per_session", "per_clip")
PAID_BY = ("prolific", "us", "nobody")
ETHICS_FIELDS = {name: Field(shapes.text, default="", longest=2000) for name in ETHICS}


def _currency(value: Any, field: Field) -> str:
    clean = shapes.text(value, field)
    if not CURRENCY.fullmatch(clean):
        raise Wrong(f"“{clean}” is no code of a currency.", "Write three capitals, like CNY.")
    return clean


PAYMENT = {
    "by": Field(shapes.choice, default="prolific", choices=PAID_BY),
    "per_hour": Field(shapes.number, low=0, high=1_000_000),
    "per_session": Field(shapes.number, low=0, high=1_000_000),
    "per_clip": Field(shapes.number, low=0, high=1_000_000),
    "currency": Field(_currency, default="GBP"),
}


def read_ethics(table: Any, notes: Notebook) -> dict[str, str]:
    """What is said; the consent text is composed of it where its researcher asks for that."""
    fields = read_table(table, ETHICS_FIELDS, "study.ethics", notes)
    return {name: value for name, value in fields.items() if value}


def read_payment(table: Any, notes: Notebook) -> dict[str, Any]:
    """Who pays raters, and how much for what; empty where nothing is said."""
    if not table:
        return {}
    fields = read_table(table, PAYMENT, "study.payment", notes)
    said = {name: value for name, value in fields.items() if value is not None}
    amounts = [name for name in AMOUNTS if name in said]
    if len(amounts) > 1:
        what = f"It has {' and '.join(amounts)}."
        notes.toml("study.payment", what, "Keep one amount; the results tell the others.")
    if said["by"] == "prolific" and {"per_session", "per_clip"} & set(amounts):
        remedy = 'Write per_hour, or by = "us" where you pay in another way.'
        notes.toml(f"study.payment.{amounts[-1]}", "At Prolific you pay by the hour.", remedy)
    if said["by"] == "prolific" and said["currency"] not in CURRENCIES:
        remedy = f'Write {" or ".join(CURRENCIES)}, or by = "us".'
        notes.toml("study.payment.currency", "Prolific does not pay in it.", remedy)
    return said


MOST_RULES = 30
RULE = {
    "rule": Field(shapes.text, required=True, default="", longest=LONGEST),
    "why": Field(shapes.text, default="", longest=300),
}


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
        fields = read_table(table, RULE, where, notes)
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
