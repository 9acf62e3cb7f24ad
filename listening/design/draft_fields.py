"""The fields of study.toml that the pages of a draft change, one by one, by their names.

Pages also tick checks, ready-made questions and screening answers, and add or remove sources,
languages and tasks. A field that holds something wrong keeps it: what is wrong is said by the same
reading as at import.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from typing import Any

from listening.checks import Check
from listening.design import draft_questionnaires
from listening.design.draft_toml import Table, entry_of, value_at
from listening.design.providers import Provider
from listening.design.questionnaires import READY_MADE
from listening.design.spoken_languages import THIS_LANGUAGE
from listening.design.stop_rule import RULES as STOP_RULES
from listening.design.stop_rule import takes
from listening.design.studyfile.reader import fields_of
from listening.methods.paired import ALL, AT_CLAIM, RULES

FORM = "about-you"  # the questionnaire that ticked questions go into
KEYED = {"checks": ("study", "checks"), "sources": ("sources",)}  # lists whose entries have keys
OF_TASK = re.compile(r"tasks\.(\d+)\.(reasons|comparisons)")
LANGUAGE_TAG = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,2}")


class _Check:
    """Whether a check is made before the first clip."""

    def __init__(self, key: str) -> None:
        self.key = key

    def shown(self, top: Table) -> bool:
        return value_at(top, ("study", "checks", self.key)) is not None

    def put(self, top: Table, wanted: Any) -> None:
        checks = top.setdefault("study", {}).setdefault("checks", [])
        if not wanted:
            checks[:] = [check for check in checks if check.get("key") != self.key]
        elif not self.shown(top):
            checks.append({"key": self.key})


def _forms(top: Table) -> list[Table]:
    """Questionnaires before the clips that use ready-made questions, or may."""
    return [q for q in top.get("questionnaires", []) if q.get("when", "before") == "before"]


def _used(form: Mapping[str, Any]) -> list[str]:
    use = form.get("use", [])
    return [use] if isinstance(use, str) else list(use)


class _Form:
    """Whether a ready-made set of questions is asked before the clips."""

    def __init__(self, key: str) -> None:
        self.key = key

    def shown(self, top: Table) -> bool:
        return any(self.key in _used(form) for form in _forms(top))

    def put(self, top: Table, wanted: Any) -> None:
        if not wanted:
            self._take_out(top)
        elif not self.shown(top):
            forms = top.setdefault("questionnaires", [])
            own = next((f for f in _forms(top) if _used(f)), None)
            if own is None:
                taken = {form.get("key") for form in forms}
                name = next(n for n in (FORM, f"{FORM}-2", f"{FORM}-3") if n not in taken)
                own = {"key": name, "when": "before"}
                forms.append(own)
            own["use"] = [name for name in READY_MADE if name in (*_used(own), self.key)]

    def _take_out(self, top: Table) -> None:
        """With what was changed of its questions; a questionnaire that asks nothing goes."""
        removed_keys = {question["key"] for question in READY_MADE[self.key]}
        for form in _forms(top):
            if self.key in _used(form):
                form["use"] = [name for name in _used(form) if name != self.key]
                left = [q for q in form.get("questions", []) if q.get("key") not in removed_keys]
                form["questions"] = left
                for name in ("use", "questions"):
                    if not form[name]:
                        form.pop(name)
        if "questionnaires" in top:
            forms = [f for f in top["questionnaires"] if "use" in f or "questions" in f]
            top["questionnaires"] = forms


class _ScreenOut:
    """Whether an answer to a ready-made question ends the session; the question is asked then."""

    def __init__(self, form: str, question: str, answer: str, field: str = "screen_out") -> None:
        self.form, self.question, self.answer, self.field = form, question, answer, field

    def _own(self, top: Table) -> tuple[Table | None, Table | None]:
        form = next((f for f in _forms(top) if self.form in _used(f)), None)
        questions = form.get("questions", []) if form else []
        return form, next((q for q in questions if q.get("key") == self.question), None)

    def shown(self, top: Table) -> bool:
        _, question = self._own(top)
        return self.answer in (question or {}).get(self.field, [])

    def put(self, top: Table, wanted: Any) -> None:
        if bool(wanted) == self.shown(top):
            return
        if wanted:
            _Form(self.form).put(top, True)
        form, question = self._own(top)
        if form is None:
            return
        if question is None:
            question = {"key": self.question}
            form.setdefault("questions", []).append(question)
        answers = [a for a in question.get(self.field, []) if a != self.answer]
        question[self.field] = [*answers, *([self.answer] if wanted else [])]
        if not question[self.field]:
            del question[self.field]
        if set(question) == {"key"}:
            form["questions"].remove(question)
        if not form["questions"]:
            del form["questions"]


SCREEN_OUTS = {
    "screen.loudspeaker": _ScreenOut("device", "listening_device", "loudspeaker"),
    "screen.loss": _ScreenOut("hearing", "hearing", "loss"),
    "screen.not_native": _ScreenOut("demographics", "native_speaker", "no"),
    "screen.not_fluent": _ScreenOut(
        "fluent_languages", "fluent_languages", THIS_LANGUAGE, "screen_out_unless"
    ),
    "screen.under_18": _ScreenOut("demographics", "age", "under_18"),
}
Tick = _Check | _Form | _ScreenOut
TICKS: dict[str, Tick] = {
    **{f"checks.{key}": _Check(key) for key in Check.registry},
    **{f"forms.{key}": _Form(key) for key in READY_MADE},
    **SCREEN_OUTS,
}


class UnknownField(ValueError):
    """No page asks for this change."""


# --- What was typed -------------------------------------------------------------------------------


def _text(value: Any) -> str:
    return str(value).replace("\r\n", "\n")


def _whole(value: Any) -> int | str:
    """A number where it is one; else the words as they are, which the reading then names."""
    words = str(value).strip()
    return int(words) if re.fullmatch(r"-?\d{1,9}", words) else words


def _number(value: Any) -> float | int | str:
    words = str(value).strip().replace(",", ".")
    if not re.fullmatch(r"-?\d{1,9}(\.\d{1,6})?", words):
        return words
    return int(float(words)) if float(words).is_integer() else float(words)


def _lines(value: Any) -> list[str]:
    return [line.strip() for line in str(value).splitlines() if line.strip()]


def _shares(value: Any) -> Any:
    """A number of looks, or their shares; words that are neither stay as they are."""
    words = [word for word in re.split(r"[,;\s]+", str(value).strip().strip("[]")) if word]
    shares = [_number(word) for word in words]
    return shares[0] if len(shares) == 1 else shares


def _labels(value: Any) -> list[str]:
    return [word.strip() for word in re.split(r"[,|\n]", str(value)) if word.strip()]


# --- What the schema says of a field --------------------------------------------------------------

TABLES = (
    "study",
    "tasks",
    "sources",
    "stop",
    "questionnaires",
)  # of study.toml, with fields that pages change
IDENTIFYING = ("key", "kind", "method", "stimulus")  # what entries are called, and what they are
NAME = re.compile(r"[-\w]+")
LABELLED = re.compile(r"(?P<before>.+?\.(names|questions\.[^.]+\.options))\.(?P<label>.+)")
LABEL = re.compile(r"-?[^.]{1,40}(\.\d+)?")
ANSWER = re.compile(r"[^\n]{1,300}")
KEYS = {
    "translations": LANGUAGE_TAG,
    "names": LABEL,
    "options": ANSWER,
}  # a table by keys -> what its keys may be
CASTS: dict[Any, Callable[[Any], Any]] = {
    int: _whole,
    float: _number,
    bool: bool,
    str: _text,
    date: _text,
    list[str]: _lines,
    int | list[float]: _shares,
    bool | str: lambda value: value if isinstance(value, bool) else _text(value),
}
CONTROLS = {bool: "flag", bool | str: "flag", list[str]: "lines"}  # all others are typed


@dataclass(frozen=True)
class EditorField:
    """A field of study.toml as pages show and change it; the schema says all of it."""

    name: str  # such as tasks.0.block_size
    label: str
    help: str
    control: str  # flag, lines, choice or typed
    choices: tuple[str, ...]
    usual: str  # the default in words
    default: Any
    cast: Callable[[Any], Any]

    @property
    def anchor(self) -> str:
        """The id of its control."""
        return self.name.replace(".", "-")

    def is_empty(self, value: Any) -> bool:
        """Whether a value says no more than a field that is not there."""
        return value in ("", []) or (value is False and self.default is False)


def editor_field(name: str) -> EditorField | None:
    """A field by its name on a page; None where the schema has none that a page may change."""
    from listening.design.studyfile.schema import LABELS, field_at, own  # takes 0.2 s to load

    way = _way(name)
    if way[0] not in TABLES or (way[-1] in IDENTIFYING and name != "study.key"):
        return None
    for before, step in pairwise(way):
        if not KEYS.get(before, NAME).fullmatch(step):
            return None
    field = field_at(way)
    if field is None:
        return None
    kind: Any = field.annotation
    if kind == dict[str, str] and field_at(way[:-1]) is field:  # the words of one label
        kind = str
    if kind not in CASTS:
        return None
    choices = next((m.limits["enum"] for m in field.metadata if "enum" in _limits(m)), ())
    default = None if field.is_required() else field.get_default(call_default_factory=True)
    usual = own(field)["usual"] or ("" if default in (None, "", ()) else str(default))
    return EditorField(
        name,
        field.title or "",
        _plain(field.description or ""),
        "choice" if choices else CONTROLS.get(kind, "typed"),
        tuple(map(str, choices)),
        _plain(usual),
        default,
        _labels if LABELS in field.metadata else CASTS[kind],
    )


def _limits(mark: object) -> Mapping[str, Any]:
    """What a mark of the schema says of the values that a field may have."""
    limits: Mapping[str, Any] = getattr(mark, "limits", {})
    return limits


def _plain(markdown: str) -> str:
    """A sentence of the guide as a page shows it: without links and code."""
    return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", markdown).replace("`", "").replace("*", "")


def fields_of_table(table: str, prefix: str) -> list[EditorField]:
    """Every field of a table of the schema that a page may change, by its name below a prefix."""
    names = (f"{prefix}.{key}" for key in fields_of(table))
    return [field for name in names if (field := editor_field(name))]


# --- Fields ---------------------------------------------------------------------------------------


def put(top: Table, name: str, value: Any) -> None:
    """Sets one field; an empty value takes it away. UnknownField where no page asks for it."""
    if name in TICKS:
        TICKS[name].put(top, value)
        return
    if match := draft_questionnaires.OWN.fullmatch(name):
        if not draft_questionnaires.put_own(top, match, value):
            raise UnknownField(name)
        return
    if match := OF_TASK.fullmatch(name):
        put_choice = {"reasons": _put_reasons, "comparisons": _put_comparisons}[match[2]]
        return put_choice(_inside(top, ("tasks", match[1]), name), str(value))
    field = editor_field(name)
    if field is None:
        raise UnknownField(name)
    *way, last = _way(name)
    table = _inside(top, way, name)
    written = field.cast(value)
    if field.is_empty(written):
        table.pop(last, None)
    else:
        table[last] = written
    if name == "study.texts.consent":  # who agreed to what is told apart by it
        table["consent_version"] = _next_version(str(table.get("consent_version", "0")))


def field_value(top: Table, name: str) -> Any:
    """The value of a field as its page has it: words, or whether it is ticked."""
    if name in TICKS:
        return TICKS[name].shown(top)
    if match := draft_questionnaires.OWN.fullmatch(name):
        return draft_questionnaires.own_value(top, match)
    if match := OF_TASK.fullmatch(name):
        choice_of = {"reasons": reasons_of, "comparisons": comparisons_of}[match[2]]
        return choice_of(value_at(top, ("tasks", match[1])) or {})
    value = value_at(top, _way(name))
    if isinstance(value, bool):
        return value
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return "\n".join(value)
    if isinstance(value, list) and all(isinstance(each, int | float) for each in value):
        return ", ".join(map(str, value))
    return "" if value is None or isinstance(value, dict | list) else str(value)


def _way(name: str) -> list[str]:
    """The names on the way to a field; a label or an answer may hold a point."""
    labelled = LABELLED.fullmatch(name)
    first, *rest = (labelled["before"] if labelled else name).split(".")
    return [*KEYED.get(first, (first,)), *rest, *([labelled["label"]] if labelled else [])]


def _inside(top: Table, way: Any, name: str) -> Table:
    table: Any = top
    for each in way:
        if isinstance(table, list):
            table = entry_of(table, each)
        elif isinstance(table, dict):
            table = table.setdefault(each, {})
        if not isinstance(table, dict | list):
            raise UnknownField(name)
    if not isinstance(table, dict):
        raise UnknownField(name)
    return table


def _next_version(version: str) -> str:
    return str(int(version) + 1) if version.isdecimal() and len(version) < 20 else f"{version}+"


# --- Reasons: a table that is there or not --------------------------------------------------------


def reasons_of(task: Mapping[str, Any]) -> str:
    """Whether a task asks for reasons: "", optional or required; "usual" where it does not say."""
    own = task.get("justification")
    if own is None:
        return "usual"
    return "required" if own.get("required", True) else "optional"


def _put_reasons(task: Table, wanted: str) -> None:
    own = task.get("justification", {})
    if wanted in ("required", "optional"):
        task["justification"] = {**own, "required": wanted == "required"}
    else:
        task.pop("justification", None)


def choose_stop_rule(top: Table, rule: str) -> bool:
    """A stop rule, with what the one before said that this one takes, too; "": none."""
    if rule and rule not in STOP_RULES:
        return False
    before = top.pop("stop", {})
    if rule:
        own = {name: value for name, value in before.items() if takes(rule, name)}
        top["stop"] = own | {"rule": rule}
    return True


# --- Which systems are compared: two options that exclude each other ------------------------------

NAMED, WITH = "named", "with "


def comparisons_of(task: Mapping[str, Any]) -> str:
    """A rule of `RULES`; the pairs ``named`` in study.toml; or ``with`` one system."""
    options = task.get("options", {})
    pairs = options.get("pairs", ALL)
    if pairs not in RULES:
        return NAMED
    return WITH + str(options["versus"]) if pairs == ALL and "versus" in options else str(pairs)


def _put_comparisons(task: Table, wanted: str) -> None:
    if wanted == comparisons_of(task):
        return
    options = task.setdefault("options", {})
    for name in ("pairs", "versus", *(() if wanted in AT_CLAIM else ("uniform_share",))):
        options.pop(name, None)
    if wanted.startswith(WITH):
        options["versus"] = wanted.removeprefix(WITH)
    elif wanted in RULES and wanted != ALL:
        options["pairs"] = wanted


def add_source(top: Table, kind: str) -> bool:
    """A way into the study, of a kind, called after it; whether there is such a kind."""
    if kind not in Provider.registry:
        return False
    sources: list[dict[str, Any]] = top.setdefault("sources", [])
    taken = {source.get("key") for source in sources}
    names = (kind, *(f"{kind}-{n}" for n in range(2, len(sources) + 3)))
    sources.append({"key": next(name for name in names if name not in taken), "kind": kind})
    return True


def remove_source(top: Table, key: str) -> bool:
    """Without any way in, the study is open by its link and by Prolific again."""
    sources = top.get("sources", [])
    left = [source for source in sources if source.get("key") != key]
    removed = len(left) < len(sources)
    top["sources"] = left
    if not left:
        top.pop("sources")
    return removed


def add_language(top: Table, tag: str) -> bool:
    """The study is offered in one language more; its words are still to be written."""
    study = top.setdefault("study", {})
    offered = study.setdefault("translations", {})
    tag = tag.strip()
    if not LANGUAGE_TAG.fullmatch(tag) or tag in offered or tag == study.get("language", "en"):
        return False
    offered[tag] = {}
    return True


def remove_language(top: Table, tag: str) -> bool:
    """With all that was written in it."""
    removed = top.get("study", {}).get("translations", {}).pop(tag, None) is not None
    for task in top.get("tasks", []):
        task.get("translations", {}).pop(tag, None)
    return removed


def remove_task(top: Table, place: str) -> bool:
    """The last one stays: a study asks something."""
    tasks = top.get("tasks", [])
    if len(tasks) < 2 or not place.isdecimal() or len(place) > 9:
        return False
    if int(place) >= len(tasks):
        return False
    del tasks[int(place)]
    return True
