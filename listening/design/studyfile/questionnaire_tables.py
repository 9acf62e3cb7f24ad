"""The questionnaires of study.toml read, checked against its tasks, and written back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from listening.design.occasions import (
    BETWEEN,
    BETWEEN_BLOCKS,
    Column,
    TaskPlan,
    columns_of,
    occasions_of,
)
from listening.design.questionnaires import (
    LONGEST_OTHER,
    OTHER_TEXT,
    PREFER_NOT,
    PREFER_NOT_TEXT,
    READY_MADE,
    SPECIFY,
    UNTOLD,
    other_key,
)
from listening.design.questions import QuestionKind, known_kind
from listening.design.questions.question_kind import FIELDS
from listening.design.spoken_languages import OTHER, THIS_LANGUAGE
from listening.design.studyfile.entries import TaskEntry
from listening.design.studyfile.problems import Notebook, did_you_mean, quoted
from listening.design.studyfile.reader import fields_of, read_table

MOST_QUESTIONS = 100
COMPARED = ("before", "after")  # when each rater gives one answer at most
FLAGS = ("other", "covariate")  # stored where they are set
DEFAULT_LONGEST = 500


def plans_of(tasks: Iterable[Any]) -> list[TaskPlan]:
    """Of tasks as a study folder or the database has them."""
    return [TaskPlan(task.key, task.blocks_per_session) for task in tasks]


def check_occasions(
    questionnaires: Sequence[Mapping[str, Any]], tasks: Sequence[TaskEntry], notes: Notebook
) -> None:
    """Every task that is named is one of the study's, and every questionnaire is asked at all."""
    plans = plans_of(tasks)
    known = [plan.key for plan in plans if plan.key]
    for n, questionnaire in enumerate(questionnaires, start=1):
        where = f"questionnaires[{n}]"
        strange = [key for key in questionnaire.get("task", ()) if key not in known]
        for key in strange:
            what = f"The study has no task “{key}”."
            notes.toml(f"{where}.task", what, did_you_mean(key, known))
        if questionnaire["when"] == BETWEEN_BLOCKS and not strange:
            _check_blocks(questionnaire, plans, where, notes)
    _check_columns(questionnaires, plans, notes)


def _check_blocks(
    questionnaire: Mapping[str, Any], plans: Sequence[TaskPlan], where: str, notes: Notebook
) -> None:
    task_keys = {occasion.task_key for occasion in occasions_of(questionnaire, plans)}
    named = questionnaire.get("task", ())
    never = [
        p for p in plans if p.key not in task_keys and (p.key in named or not (named or task_keys))
    ]
    if not never:
        return
    every = questionnaire["every"]
    counts = ", ".join(f"{plan.blocks} of {quoted([plan.key])}" for plan in never)
    what = f"This would never be asked: a session has no block after {every} ({counts})."
    remedy = 'Raise blocks_per_session, name other tasks, or write when = "after_task".'
    on_page = "Raise the blocks per session under Raters, or ask after each task."
    if any(plan.blocks > 1 for plan in never):
        remedy = f"Lower every. {remedy}"
    notes.toml(f"{where}.{'task' if named else 'when'}", what, remedy, on_page)


def _check_columns(
    questionnaires: Sequence[Mapping[str, Any]], plans: Sequence[TaskPlan], notes: Notebook
) -> None:
    """No two answers share a column of sessions.csv: one of them would be lost there."""
    first: dict[str, Column] = {}
    for n, questionnaire in enumerate(questionnaires, start=1):
        for column in columns_of(questionnaire, plans):
            if first.setdefault(column.name, column) != column:
                what = f"Other answers have the column {column.name} of sessions.csv already."
                notes.toml(f"questionnaires[{n}].key", what, "Give it another key.")
                break


def read_questionnaires(
    tables: Iterable[Mapping[str, Any]], notes: Notebook
) -> tuple[dict[str, Any], ...]:
    """The questionnaires as the database keeps them; every mistake is noted with its remedy."""
    questionnaires: list[dict[str, Any]] = []
    for n, table in enumerate(tables, start=1):
        questionnaire = _questionnaire(table, f"questionnaires[{n}]", notes)
        key = questionnaire["key"]
        if key and key in [other["key"] for other in questionnaires]:
            what = f"The questionnaire “{key}” stands already."
            notes.toml(f"questionnaires[{n}].key", what, "Give it another name or remove it.")
        questionnaires.append(questionnaire)
    return tuple(questionnaires)


def questionnaire_table(questionnaire: Mapping[str, Any]) -> dict[str, Any]:
    """The table of study.toml from which `read_questionnaires` makes this questionnaire again."""
    ready = _ready_tables(questionnaire["use"])
    questions = []
    others = {other_key(each) for each in questionnaire["questions"] if each.get("other")}
    for question in questionnaire["questions"]:
        if question["key"] in others:
            continue
        table = _question_table(question)
        known = ready.get(question["key"])
        if known is not None:
            plain = _question_table(
                _normal(read_table(known, "questionnaires.questions", "", Notebook()))
            )
            table = {"key": table["key"]} | _changes(plain, table)
        if known is None or len(table) > 1:
            questions.append(table)
    head = {name: questionnaire.get(name) for name in fields_of("questionnaires")}
    head.pop("questions")
    named = head["task"] or []
    head["task"] = named[0] if len(named) == 1 else named
    head["every"] = head["every"] if head["every"] != 1 else None
    return {name: value for name, value in head.items() if value} | {"questions": questions}


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """The fields to write so that the ready-made question becomes this one."""
    written = {name: value for name, value in after.items() if before.get(name) != value}
    defaults = {"help": "", "required": True, "prefer_not": False, "longest": DEFAULT_LONGEST}
    defaults_restored = {
        name: value for name, value in defaults.items() if name in before and name not in after
    }
    return written | defaults_restored


def _question_table(question: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a question that differ from their defaults."""
    values = [option["value"] for option in question["options"]]
    ours = (PREFER_NOT, OTHER) if question.get("other") else (PREFER_NOT,)
    options = [o for o in question["options"] if o["value"] not in ours and o["text"]]
    table = {**question, "options": options, "prefer_not": PREFER_NOT in values or None}
    table["required"] = None if question["required"] else False
    table["longest"] = None if question["longest"] == DEFAULT_LONGEST else question["longest"]
    names = fields_of("questionnaires.questions")
    return {name: table[name] for name in names if table.get(name) not in (None, "", [])}


def _questionnaire(table: Mapping[str, Any], where: str, notes: Notebook) -> dict[str, Any]:
    fields = read_table(table, "questionnaires", where, notes)
    ready, own = _ready_tables(fields["use"]), list(fields["questions"])
    questions: list[dict[str, Any]] = []
    others: list[str] = []  # keys of the questions that “Other” leads to
    for place, raw in _joined(ready, own, where):
        question = _question(raw, place, questions, notes)
        for name in UNTOLD:
            if fields["when"] != "before" and question[name]:
                what = "Once the trials have begun, nobody can be screened out any more."
                notes.toml(f"{place}.{name}", what, 'Remove it, or ask with when = "before".')
        _check_covariate(question, fields["when"], place, notes)
        questions.append(question)
        if question.get("other"):
            questions.append(_question(_other_table(question), place, questions, notes))
            others.append(questions[-1]["key"])
    if not questions:
        remedy = "Add [[questionnaires.questions]], or use = " + " | ".join(
            f'"{name}"' for name in READY_MADE
        )
        on_page = "Add a question, or remove the questionnaire."
        notes.toml(where, "The questionnaire asks nothing.", remedy, on_page)
    if len(questions) > MOST_QUESTIONS:
        what = f"There are {len(questions)} questions; {MOST_QUESTIONS} are allowed."
        notes.toml(where, what, "Ask for less, or make two questionnaires of it.")
    keys = [question["key"] for question in questions]
    ours = [*(key for key in ready if key in keys), *others]
    source = {"use": list(fields["use"]), "ready": ours, "questions": questions}
    return _occasion(fields, where, notes) | source


def _occasion(fields: dict[str, Any], where: str, notes: Notebook) -> dict[str, Any]:
    """Only what is asked between tasks or blocks says of which; only the latter, how often."""
    belongs = {"task": BETWEEN, "every": (BETWEEN_BLOCKS,)}
    for name, whens in belongs.items():
        if fields["when"] in whens:
            continue
        if fields[name]:
            what = f'A questionnaire with when = "{fields["when"]}" has no “{name}”.'
            remedy = "Remove it, or write when = " + " or ".join(f'"{when}"' for when in whens)
            notes.toml(f"{where}.{name}", what, f"{remedy}.")
        fields = {key: value for key, value in fields.items() if key != name}
    if fields["when"] == BETWEEN_BLOCKS:
        fields["every"] = fields["every"] or 1
    return fields


def _ready_tables(use: Sequence[str]) -> dict[str, dict[str, Any]]:
    return {question["key"]: question for name in use for question in READY_MADE[name]}


def _joined(
    ready: Mapping[str, Mapping[str, Any]], own: Sequence[Mapping[str, Any]], where: str
) -> list[tuple[str, dict[str, Any]]]:
    """Ready-made questions first, each with what the study changes about it; then its own."""
    places = {n: f"{where}.questions[{n}]" for n in range(1, len(own) + 1)}
    changes: dict[str, tuple[int, Mapping[str, Any]]] = {}
    for n, table in enumerate(own, start=1):
        key = table.get("key")
        if isinstance(key, str) and key in ready and key not in changes:
            changes[key] = (n, table)
    taken = [n for n, _ in changes.values()]
    questions = []
    for key, known in ready.items():
        n, table = changes.get(key, (0, {}))
        questions.append((places.get(n, f"{where}.use"), {**known, **table}))
    rest = [(n, table) for n, table in enumerate(own, start=1) if n not in taken]
    return [*questions, *((places[n], dict(table)) for n, table in rest)]


def _question(
    raw: Mapping[str, Any], where: str, before: Sequence[Mapping[str, Any]], notes: Notebook
) -> dict[str, Any]:
    fields = read_table(raw, "questionnaires.questions", where, notes)
    if fields["key"] and fields["key"] in [other["key"] for other in before]:
        what = f"The question “{fields['key']}” stands already in this questionnaire."
        notes.toml(f"{where}.key", what, "Give it another name or remove it.")
    _check_fields(fields, raw, where, notes)
    known_kind(fields["kind"]).check(fields, raw, where, notes)
    question = _normal(fields)
    question["show_if"] = _rule(fields["show_if"], where, before, notes)
    _check_screening(question, where, notes)
    return question


def _normal(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields as the database and the page know them."""
    other = [{"value": OTHER, "text": OTHER_TEXT}] if fields["other"] else []
    declining = [{"value": PREFER_NOT, "text": PREFER_NOT_TEXT}] if fields["prefer_not"] else []
    question = {
        name: value
        for name, value in fields.items()
        if name != "prefer_not" and (value or name not in FLAGS)
    }
    question["options"] = [*fields["options"], *other, *declining]
    question |= {name: list(fields[name]) for name in UNTOLD}
    question["longest"] = fields["longest"] or DEFAULT_LONGEST
    return question


def _kinds_that(fact: str) -> str:
    """The kinds of questions of which a fact is true, for a sentence."""
    *keys, last = (key for key, kind in QuestionKind.registry.items() if getattr(kind, fact))
    return f"{', '.join(keys)} or {last}"


def _check_fields(
    fields: Mapping[str, Any], raw: Mapping[str, Any], where: str, notes: Notebook
) -> None:
    """Fields that the kind of question does not use."""
    kind = fields["kind"]
    for name in FIELDS if kind else ():
        if raw.get(name) not in (None, False) and name not in known_kind(kind).fields:
            what = f"A question of the kind “{kind}” has no “{name}”."
            with_it = [each for each in QuestionKind.registry.values() if name in each.fields]
            kinds = [each.key for each in sorted(with_it, key=lambda e: e.fields.index(name))]
            notes.toml(f"{where}.{name}", what, f"Remove it; it belongs to {quoted(kinds)}.")
    if fields["other"] and OTHER in [option["value"] for option in fields["options"] or ()]:
        what = f"The value “{OTHER}” stands for the answer “{OTHER_TEXT}”, which is allowed."
        on_page = "Remove this answer, or give it another value."
        notes.toml(f"{where}.options", what, f"{on_page[:-1]}, or remove other = true.", on_page)


def _other_table(question: Mapping[str, Any]) -> dict[str, Any]:
    """The line in which raters say which other answer they mean, as a table of study.toml."""
    shown = {"question": question["key"], "answers": [OTHER]}
    return {"key": other_key(question), "question": SPECIFY, "kind": "text"} | {
        "longest": LONGEST_OTHER,
        "show_if": shown,
    }


def _check_covariate(question: Mapping[str, Any], when: str, where: str, notes: Notebook) -> None:
    """Each rater gives one answer, of a few or a number."""
    if not question.get("covariate"):
        return
    if question["kind"] and not known_kind(question["kind"]).covariate:
        what = f"Answers of the kind “{question['kind']}” cannot be a covariate."
        remedy = f"Remove it, or ask with the kind {_kinds_that('covariate')}."
        notes.toml(f"{where}.covariate", what, remedy)
    if when not in COMPARED:
        what = "Raters may give several answers between trials, so none can be a covariate."
        notes.toml(f"{where}.covariate", what, 'Remove it, or ask with when = "before".')


def _rule(
    table: Any, where: str, before: Sequence[Mapping[str, Any]], notes: Notebook
) -> dict[str, Any] | None:
    """The condition of a question: an earlier question, and the answers that lead here."""
    if table is None:
        return None
    where = f"{where}.show_if"
    rule = read_table(table, "questionnaires.questions.show_if", where, notes)
    known = {question["key"]: question for question in before}
    if not rule["question"] or not rule["answers"]:
        if rule["question"] and table.get("answers") == []:
            notes.toml(f"{where}.answers", "The list is empty.", "Name at least one answer.")
        return rule
    if rule["question"] not in known:
        what = f"No question “{rule['question']}” stands before this one."
        on_page = "Put the question that decides first."
        remedy = f"{on_page} {did_you_mean(rule['question'], known)}"
        notes.toml(f"{where}.question", what, remedy, on_page)
        return rule
    earlier = known[rule["question"]]
    chosen = known_kind(earlier["kind"]).chosen
    values = [o["value"] for o in earlier["options"] if chosen or o["value"] == PREFER_NOT]
    if not values and earlier["kind"] and not chosen:
        what = f"“{rule['question']}” has no answers to choose from."
        remedy = f"Name a question of the kind {_kinds_that('chosen')}."
        notes.toml(f"{where}.question", what, remedy)
    elif values:
        _check_values(rule["answers"], values, f"{where}.answers", notes)
    return rule


def _check_screening(question: Mapping[str, Any], where: str, notes: Notebook) -> None:
    values = [option["value"] for option in question["options"]]
    for name in UNTOLD:
        if question[name] and question["kind"] and not known_kind(question["kind"]).chosen:
            what = "Only answers that are chosen can screen out."
            notes.toml(f"{where}.{name}", what, f"Ask with the kind {_kinds_that('chosen')}.")
        elif values:
            named = [value for value in question[name] if value != THIS_LANGUAGE]
            _check_values(named, values, f"{where}.{name}", notes)


def _check_values(answers: Iterable[str], values: list[str], where: str, notes: Notebook) -> None:
    for value in answers:
        if value not in values:
            notes.toml(where, f"“{value}” is none of the answers.", did_you_mean(value, values))
