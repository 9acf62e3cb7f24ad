"""A study's own questionnaires and criteria as the pages of a draft add, move and change them.

A place is that of a questionnaire or a question in study.toml, from 0: "1" or "1.3".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from listening.design.draft_toml import Table, entry_of
from listening.design.occasions import AFTER_TASK, BETWEEN, BETWEEN_BLOCKS
from listening.design.questionnaires import READY_MADE, UNTOLD
from listening.design.questions import QuestionKind, known_kind
from listening.design.studyfile.study_toml import default_criteria
from listening.methods import Method, method_named

VARIANTS = {  # of kinds of questions: the kind, its words, and the fields of a new question
    name: (kind, *words_and_fields)
    for kind in QuestionKind.registry.values()
    for name, words_and_fields in kind.variants.items()
}
KINDS = {name: words for name, (_, words, _) in VARIANTS.items()}  # as researchers choose them
WHENS = {
    "before": "before the first trial",
    AFTER_TASK: "after each task",
    BETWEEN_BLOCKS: "between blocks",
    "after": "after the last trial",
}
OF_ALL = ("key", "question", "help", "required", "prefer_not", "show_if")  # fields of all kinds
OWN = re.compile(
    r"tasks\.(?P<of_task>\d+)\.criteria\.(?P<criterion>\d+)\.key"
    r"|questionnaires\.(?P<form>\d+)\.((?P<of_form>key|when|of\.(?P<task>\d+))"
    r"|questions\.(?P<question>\d+)\.(?P<of_question>key|options"
    r"|(leads|refused)\.((?P<answer>\d+)|gone\.(?P<gone>.+))))",
    re.DOTALL,
)
PLACEHOLDER = "Your question"  # of a question that was just added
PAIR = " = "  # between the stored value and the words of an answer
LONGEST_PLACE = 9


def forms_of(top: Mapping[str, Any]) -> list[Table]:
    """The questionnaires of a study, whatever else stands in the place of one left out."""
    return [form for form in top.get("questionnaires", []) if isinstance(form, dict)]


def options_of(question: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The values and words that a question has of its own, of a scale those of some points."""
    return [_pair(each) for each in question.get("options", [])]


def questions_of(form: Mapping[str, Any]) -> list[Table]:
    return [each for each in form.get("questions", []) if isinstance(each, dict)]


def used_sets(form: Mapping[str, Any]) -> list[str]:
    """The ready-made sets that a questionnaire begins with."""
    use = form.get("use", [])
    return [name for name in ([use] if isinstance(use, str) else use) if name in READY_MADE]


def kind_of(question: Mapping[str, Any]) -> str:
    """The kind as researchers choose it; "" of a changed ready-made question."""
    return known_kind(question.get("kind")).variant_of(question)


def answers_of(question: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The answers to choose from, each as it is stored and as raters read it."""
    kind = known_kind(question.get("kind"))
    if not kind.chosen:
        return []
    if kind.labels_points:
        return [(point, point) for point in kind.points_of(question)]
    return options_of(question) + [("other", "Other")] * bool(question.get("other"))


def _pair(option: Any) -> tuple[str, str]:
    if isinstance(option, dict):
        return str(option.get("value", "")), str(option.get("text", ""))
    return str(option), str(option)


def deciders(form: Mapping[str, Any], place: int) -> list[Table]:
    """The questions before this one whose answers may decide whether it is asked."""
    return [each for each in questions_of(form)[:place] if known_kind(each.get("kind")).chosen]


def named_question(form: Mapping[str, Any], key: Any) -> Mapping[str, Any]:
    """The question of a questionnaire with this key, its own or a ready-made one; {}: none."""
    ready = [each for name in used_sets(form) for each in READY_MADE[name]]
    named = [each for each in (*ready, *questions_of(form)) if each.get("key") == key]
    return {name: value for each in named[:2] for name, value in each.items()}


def answers_gone(question: Mapping[str, Any], given: Any) -> list[str]:
    """The answers of a rule that are no longer answers of the question."""
    known = [value for value, _ in answers_of(question)]
    return [value for value in map(str, given or ()) if value not in known]


# --- Fields that are no value of study.toml by themselves -----------------------------------------


def own_value(top: Table, match: re.Match[str]) -> Any:
    """What a page shows of such a field; "" where it is not there."""
    if match["criterion"]:
        _, criterion = _criterion_at(top, match)
        return str((criterion or {}).get("key", ""))
    form, question = _at(top, match)
    if form is None or (match["question"] and question is None):
        return ""
    if match["of_form"]:
        if match["task"]:
            return _task_key(top, match) in _tasks_of(form)
        return str(form.get(match["of_form"], "before" if match["of_form"] == "when" else ""))
    assert question is not None
    if match["of_question"] == "options":
        return "\n".join(_line(option) for option in question.get("options", []))
    if match["of_question"] == "key":
        return str(question.get("key", ""))
    table, name, values = _chosen(form, question, match)
    given = [str(each) for each in (table or {}).get(name, [])]
    return _value_at(values, match) in given


def put_own(top: Table, match: re.Match[str], value: Any) -> bool:
    """Set such a field; whether it is there."""
    if match["criterion"]:
        return _rename_criterion(top, match, str(value).strip())
    form, question = _at(top, match)
    if form is None or (match["question"] and question is None):
        return False
    if match["of_form"] == "key":
        _rename_form(top, form, str(value).strip())
    elif match["of_form"] == "when":
        _put_when(form, str(value))
    elif match["of_form"]:
        _put_task(form, _task_key(top, match), bool(value))
    elif question is not None and match["of_question"] == "key":
        _rename_question(top, form, question, str(value).strip())
    elif question is not None and match["of_question"] == "options":
        _put_options(top, form, question, str(value))
    elif question is not None:
        _put_answer(form, question, match, bool(value))
    return True


def _at(top: Table, match: re.Match[str]) -> tuple[Table | None, Table | None]:
    form = entry_of(top.get("questionnaires", []), match["form"])
    form = form if isinstance(form, dict) else None
    if form is None or match["question"] is None:
        return form, None
    question = entry_of(form.get("questions", []), match["question"])
    return form, question if isinstance(question, dict) else None


def _line(option: Any) -> str:
    value, text = _pair(option)
    return text if value == text else f"{value}{PAIR}{text}"


def _put_options(top: Table, form: Table, question: Table, lines: str) -> None:
    """Answers by their lines; where a value is replaced at its place, what refers to it follows."""
    before = [value for value, _ in options_of(question)]
    options: list[Any] = []
    for line in filter(None, map(str.strip, lines.splitlines())):
        value, _, text = line.partition(PAIR)
        pair = {"value": value.strip(), "text": text.strip()}
        options.append(pair if text.strip() and value.strip() != text.strip() else value.strip())
    question["options"] = options
    kind = known_kind(question.get("kind"))
    if not options and kind.labels_points:
        del question["options"]
    after = [value for value, _ in map(_pair, options)]
    pairs = zip(before, after, strict=True) if len(before) == len(after) else ()
    renamed = {old: new for old, new in pairs if old not in after and new not in before}
    if kind.chosen and not kind.labels_points:
        _follow(form, question, renamed)
    for words in _translated(top, form):
        own = words.get("questions", {}).get(question.get("key"), {})
        texts = {renamed.get(value, value): text for value, text in own.get("options", {}).items()}
        if "options" in own:
            own["options"] = {value: text for value, text in texts.items() if value in after}


def _follow(form: Table, question: Table, renamed: Mapping[str, str]) -> None:
    lists = [(question, name) for name in UNTOLD]
    lists += [(rule, "answers") for rule in _rules_of(form, question.get("key"))]
    for table, name in lists:
        if name in table:
            table[name] = [renamed.get(str(each), each) for each in table[name]]


def _translated(top: Table, form: Mapping[str, Any]) -> Iterator[Table]:
    """The words of a questionnaire in each further language that has some."""
    for words in top.get("study", {}).get("translations", {}).values():
        own = words.get("questionnaires", {}).get(form.get("key"))
        if isinstance(own, dict):
            yield own


def _rules_of(form: Mapping[str, Any], key: Any) -> Iterator[Table]:
    """The conditions that ask for answers to this question."""
    for each in questions_of(form):
        rule = each.get("show_if")
        if isinstance(rule, dict) and rule.get("question") == key:
            yield rule


def _rename_question(top: Table, form: Table, question: Table, key: str) -> None:
    """With its translations and the conditions on it, unless another question has its name."""
    questions = questions_of(form)
    others = {each.get("key") for each in questions if each is not question}
    others |= {each["key"] for name in used_sets(form) for each in READY_MADE[name]}
    words = [own["questions"] for own in _translated(top, form) if "questions" in own]
    rules = [rule for each in questions if isinstance(rule := each.get("show_if"), dict)]
    named = [*(name for each in words for name in each), *(rule.get("question") for rule in rules)]
    moving = _name_to_move(question.get("key"), key, others, named)
    _rekey(words, moving, key)
    for rule in rules:
        if moving is not None and rule.get("question") == moving:
            rule["question"] = key
    question["key"] = key


def _rename_form(top: Table, form: Table, key: str) -> None:
    translations = top.get("study", {}).get("translations", {}).values()
    words = [own["questionnaires"] for own in translations if "questionnaires" in own]
    _rekey_entry(form, forms_of(top), words, key)


def _rekey_entry(entry: Table, entries: list[Table], words: list[Table], key: str) -> None:
    """Rename an entry with its translations."""
    others = {each.get("key") for each in entries if each is not entry}
    named = [name for each in words for name in each]
    _rekey(words, _name_to_move(entry.get("key"), key, others, named), key)
    entry["key"] = key


def _name_to_move(old: Any, new: str, others: set[Any], named: Iterable[Any]) -> Any:
    """The name under which a renamed entry is referred to; None while another entry has it.

    An entry that leaves a shared name gets back what it was referred to by before it took it.
    """
    if new in others:
        return None
    if old not in others:
        return old
    left = {name for name in named if name not in others}
    return left.pop() if len(left) == 1 else None


def _rekey(words: Iterable[Table], old: Any, new: str) -> None:
    for each in words:
        if old in each:
            each[new] = each.pop(old)


def _put_when(form: Table, when: str) -> None:
    """With what belongs to another time taken out."""
    form["when"] = when
    for name, whens in (("task", BETWEEN), ("every", (BETWEEN_BLOCKS,))):
        if when not in whens:
            form.pop(name, None)
    for question in questions_of(form):
        for name in UNTOLD if when != "before" else ():
            question.pop(name, None)
        if when in BETWEEN:
            question.pop("covariate", None)


def _tasks_of(form: Mapping[str, Any]) -> list[str]:
    named = form.get("task", [])
    return [named] if isinstance(named, str) else [str(each) for each in named]


def _task_key(top: Table, match: re.Match[str]) -> str:
    task = entry_of(top.get("tasks", []), match["task"])
    return str(task.get("key", "")) if isinstance(task, dict) else ""


def _put_task(form: Table, key: str, wanted: bool) -> None:
    form["task"] = [each for each in _tasks_of(form) if each != key] + [key] * wanted
    if not form["task"]:
        del form["task"]


def _chosen(
    form: Mapping[str, Any], question: Table, match: re.Match[str]
) -> tuple[Table | None, str, list[str]]:
    """The table and list that hold ticked answers, and the answers that may be ticked."""
    if match["of_question"].startswith("refused"):
        return question, "screen_out", [value for value, _ in answers_of(question)]
    rule = question.get("show_if")
    if not isinstance(rule, dict):
        return None, "answers", []
    decider = named_question(form, rule.get("question"))
    return rule, "answers", [value for value, _ in answers_of(decider)]


def _value_at(values: list[str], match: re.Match[str]) -> str | None:
    if match["gone"] is not None:
        return match["gone"]
    place = int(match["answer"])
    return values[place] if place < len(values) else None


def _put_answer(form: Table, question: Table, match: re.Match[str], wanted: bool) -> None:
    table, name, values = _chosen(form, question, match)
    value = _value_at(values, match)
    if table is None or value is None:
        return
    table[name] = [each for each in map(str, table.get(name, [])) if each != value]
    table[name] += [value] * wanted
    if name == "screen_out" and not table[name]:
        del table[name]


# --- Parts that are added, moved and removed ------------------------------------------------------


def add_form(top: Table, when: str) -> str:
    """A questionnaire with one question; the id of its first control."""
    if when not in WHENS:
        return ""
    forms = top.setdefault("questionnaires", [])
    form = {"key": _free("questionnaire", forms), "when": when, "questions": []}
    forms.append(form)
    place = len(forms) - 1
    add_question(top, str(place), "one")
    return f"q{place}-title"


def add_question(top: Table, place: str, kind: str) -> str:
    """A question of this kind, at the end; the id of its text."""
    form, _ = _found(top, place)
    if form is None or kind not in KINDS:
        return ""
    questions = form.setdefault("questions", [])
    question: Table = {"key": _free("question", questions), "question": PLACEHOLDER}
    questions.append(question)
    _set_kind(question, kind)
    return f"q{place}-{len(questions) - 1}-question"


def _free(name: str, entries: list[Table]) -> str:
    taken = {each.get("key") for each in entries}
    return next(key for n in range(1, len(entries) + 2) if (key := f"{name}-{n}") not in taken)


def choose_kind(top: Table, place: str, kind: str) -> str:
    """Another kind of the question; what only the kind before had goes."""
    form, question = _found(top, place)
    if form is None or question is None or kind not in KINDS:
        return ""
    if kind != kind_of(question):
        _set_kind(question, kind)
        kept = [value for value, _ in options_of(question)]
        for words in _translated(top, form):
            own = words.get("questions", {}).get(question.get("key"), {})
            for value in [each for each in own.get("options", {}) if each not in kept]:
                del own["options"][value]
        _forget(form, question.get("key"), keep=[value for value, _ in answers_of(question)])
    return f"q{place.replace('.', '-')}-kind"


def _set_kind(question: Table, kind: str) -> None:
    before = known_kind(question.get("kind"))
    now, _, starts = VARIANTS[kind]
    keeps = list(OF_ALL)
    keeps += ["covariate"] * bool(now.covariate)
    if before.options_title == now.options_title:
        keeps += {"options", "other"} & {*before.fields} & {*now.fields}
    if "other" in keeps:
        keeps += UNTOLD
    if now.fits(question.get("low"), question.get("high")):
        keeps += {"low", "high"} & {*before.fields} & {*now.fields}
    own = {name: value for name, value in question.items() if name in keeps}
    question.clear()
    question.update({**starts, **own, "kind": now.key})
    if now.labels_points and "options" in question:
        points = now.points_of(question)
        question["options"] = [each for each in question["options"] if _pair(each)[0] in points]


def choose_rule(top: Table, place: str, key: str) -> str:
    """Ask the question only after some answers to an earlier one, its first to begin with."""
    form, question = _found(top, place)
    if form is None or question is None:
        return ""
    earlier = deciders(form, int(place.partition(".")[2]))
    answers = next((answers_of(each) for each in earlier if each.get("key") == key), [])
    if not key:
        question.pop("show_if", None)
    elif answers:
        question["show_if"] = {"question": key, "answers": [answers[0][0]]}
    else:
        return ""
    return f"q{place.replace('.', '-')}-show_if"


def move(top: Table, place: str, way: str) -> str:
    """A questionnaire or question one place up or down; the id of the button to press again."""
    form, question = _found(top, place)
    if form is None or way not in ("up", "down"):
        return ""
    entries = form["questions"] if question is not None else top["questionnaires"]
    before, _, last = place.rpartition(".")
    there = moved(entries, last, way)
    return "" if there is None else f"q{f'{before}-' * bool(before)}{there}-{way}"


def moved(entries: list[Any], place: str, way: str) -> int | None:
    """Exchange an entry with the one above or below it; its new place, None where there is none."""
    here = int(place)
    there = here + (1 if way == "down" else -1)
    if not 0 <= there < len(entries):
        return None
    entries[here], entries[there] = entries[there], entries[here]
    return there


def remove(top: Table, place: str) -> str:
    """Without a questionnaire or question, and what asked for answers to it; what comes next."""
    form, question = _found(top, place)
    if form is None:
        return ""
    if question is None:
        for words in top.get("study", {}).get("translations", {}).values():
            words.get("questionnaires", {}).pop(form.get("key"), None)
        top["questionnaires"].remove(form)
        if not top["questionnaires"]:
            del top["questionnaires"]
        return "add-form"
    for words in _translated(top, form):
        words.get("questions", {}).pop(question.get("key"), None)
    form["questions"].remove(question)
    _forget(form, question.get("key"))
    return f"q{place.partition('.')[0]}-add"


def _forget(form: Table, key: Any, keep: Collection[str] = ()) -> None:
    """Without the conditions on a question, but for those on answers to keep."""
    for each in questions_of(form):
        rule = each.get("show_if")
        if isinstance(rule, dict) and rule.get("question") == key:
            rule["answers"] = [value for value in rule.get("answers", []) if str(value) in keep]
            if not rule["answers"]:
                del each["show_if"]


def _found(top: Table, place: str) -> tuple[Table | None, Table | None]:
    """The questionnaire and, where the place has two numbers, its question; else None."""
    numbers = place.split(".")
    if not all(map(_is_place, numbers)):
        return None, None
    form = entry_of(top.get("questionnaires", []), numbers[0])
    if not isinstance(form, dict) or len(numbers) > 2:
        return None, None
    if len(numbers) == 1:
        return form, None
    question = entry_of(form.get("questions", []), numbers[1])
    return (form, question) if isinstance(question, dict) else (None, None)


# --- Criteria of a task ---------------------------------------------------------------------------


def add_criterion(top: Table, place: str) -> str:
    """One more question about each clip; the id of its text."""
    criteria = _criteria(top, place)
    if criteria is None:
        return ""
    criteria.append({"key": _free("criterion", criteria), "question": PLACEHOLDER})
    return f"t{place}-c{len(criteria) - 1}"


def move_criterion(top: Table, place: str, way: str) -> str:
    """One place up or down; the id of the button to press again."""
    task, _, own = place.partition(".")
    criteria = _criteria(top, task)
    if not criteria or not _is_place(own) or int(own) >= len(criteria):
        return ""
    there = moved(criteria, own, way)
    return "" if there is None else f"t{task}-c{there}-{way}"


def remove_criterion(top: Table, place: str) -> str:
    """The last one stays: a task asks something."""
    task, _, own = place.partition(".")
    criteria = _criteria(top, task)
    if not criteria or not _is_place(own) or len(criteria) <= max(1, int(own)):
        return ""
    del criteria[int(own)]
    return f"t{task}-c0"


def _criteria(top: Table, place: str) -> list[Table] | None:
    task = entry_of(top.get("tasks", []), place) if _is_place(place) else None
    if not isinstance(task, dict):
        return None
    method = task.get("method", "")
    if not task.get("criteria") and method in Method.registry:
        own = default_criteria(method_named(method), task.get("options", {}))
        task["criteria"] = [{"key": each.key} for each in own]
    criteria: list[Table] = task.setdefault("criteria", [])
    return criteria


def _criterion_at(top: Table, match: re.Match[str]) -> tuple[Table | None, Table | None]:
    task = entry_of(top.get("tasks", []), match["of_task"])
    if not isinstance(task, dict):
        return None, None
    criterion = entry_of(task.get("criteria", []), match["criterion"])
    return task, criterion if isinstance(criterion, dict) else None


def _rename_criterion(top: Table, match: re.Match[str], key: str) -> bool:
    """With its translations, which go by its key."""
    task, criterion = _criterion_at(top, match)
    if task is None or criterion is None:
        return False
    translations = task.get("translations", {}).values()
    words = [own["criteria"] for own in translations if "criteria" in own]
    _rekey_entry(criterion, task["criteria"], words, key)
    return True


def _is_place(text: str) -> bool:
    return text.isdecimal() and len(text) <= LONGEST_PLACE


PARTS: Mapping[str, Callable[[Table, Mapping[str, str]], str]] = {  # button -> what it does
    "add-form": lambda top, form: add_form(top, form.get("when", "")),
    "add-question": lambda top, form: add_question(
        top, form.get("place", ""), form.get("kind", "")
    ),
    "question-kind": lambda top, form: choose_kind(
        top, form.get("place", ""), form.get("kind", "")
    ),
    "question-rule": lambda top, form: choose_rule(
        top, form.get("place", ""), form.get("rule", "")
    ),
    "move-up": lambda top, form: move(top, form.get("place", ""), "up"),
    "move-down": lambda top, form: move(top, form.get("place", ""), "down"),
    "remove": lambda top, form: remove(top, form.get("place", "")),
}
OF_CRITERIA: Mapping[str, Callable[[Table, Mapping[str, str]], str]] = {
    "add-criterion": lambda top, form: add_criterion(top, form.get("place", "")),
    "criterion-up": lambda top, form: move_criterion(top, form.get("place", ""), "up"),
    "criterion-down": lambda top, form: move_criterion(top, form.get("place", ""), "down"),
    "remove-criterion": lambda top, form: remove_criterion(top, form.get("place", "")),
}
