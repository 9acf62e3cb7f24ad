"""study.toml read: the study, its conditions, tasks, criteria, traps, sources and translations.

A task may name the rubric of a judge, whose words become its own; settings say which long-form
conditions are made of the study's lines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from listening.common.plain_toml import TomlError, read_toml
from listening.common.plugins import left_out
from listening.design.analysis_rules import versioned_rule
from listening.design.sources import Source
from listening.design.stop_rule import (
    BUDGET,
    FIELDS_OF_RULES,
    HALF_WIDTH,
    REFERENCE,
    RULES,
    takes,
)
from listening.design.studyfile import values
from listening.design.studyfile.entries import (
    MOST_HYPOTHESES,
    ConditionEntry,
    CriterionEntry,
    StudyFile,
    TaskEntry,
)
from listening.design.studyfile.problems import Notebook, did_you_mean, quoted
from listening.design.studyfile.questionnaire_tables import check_occasions, read_questionnaires
from listening.design.studyfile.reader import read_table
from listening.design.studyfile.values import Wrong
from listening.methods import Method, method_named
from listening.methods.rubrics import RubricError, RubricQuestion, Shared, shared_rubric

OPTION = "rubric"
MARKED = "@"  # in the full name of one's own, which a study has once it was read
SCALED = "mos"  # the method whose scale a rubric may name; of others raters read the criteria alone
REMEDY = "Remove it here, or remove the option rubric."
ALIKE, AS_IS = "alike", "as_is"
VOCALISATIONS = "nvv"  # begins criteria and attributes that are about them
FAINT_SOUND = re.compile(  # in a question; a breathy voice is not one
    r"\b(?:breath(?:s|e|es|ing)?|(?:in|ex)hal\w+|laugh(?:s|ter|ing)?|sigh(?:s|ing)?|"
    r"cough(?:s|ing)?|gasp(?:s|ing)?|sob(?:s|bing)?|sniff\w*)\b|呼吸|吸气|笑声|叹气|咳嗽|抽泣",
    re.IGNORECASE,
)
Words = dict[str, Any]
HEADPHONES = "Headphones are tested by “huggins”, or by “antiphase”."
CURRENCIES = ("GBP", "USD")  # of Prolific
AMOUNTS = {"per_hour": "per hour", "per_session": "per session", "per_clip": "per clip"}
MOST_RULES = 30


def with_rubric(
    fields: Mapping[str, Any], where: str, language: str, notes: Notebook
) -> dict[str, Any]:
    """The fields of a task with the words of its rubric; as they are where it names none."""
    options = dict(fields["options"])
    named = options.get(OPTION)
    if named is None:
        return dict(fields)
    try:
        full, shared = shared_rubric(str(named), language)
    except RubricError as error:
        if MARKED in str(named) and fields["instructions"]:
            return dict(fields)  # of a file that is not here, its words already are
        notes.toml(f"{where}.options.{OPTION}", f"{error}.", "Name one of these, or remove it.")
        return dict(fields)
    scaled = fields["method"] == SCALED and bool(shared.points)
    own: dict[str, Any] = {OPTION: full}
    if scaled:
        own |= {"names": dict(shared.points), "step": shared.step}
    for name, value in own.items():
        if name != OPTION and name in options and options[name] != value:
            what = f"The rubric {full} has {name} of its own: {_format_value(value)}."
            notes.toml(f"{where}.options.{name}", what, REMEDY)
    return {
        **fields,
        "options": {**options, **own},
        "instructions": _instructions(fields["instructions"], shared.instructions(scale=scaled)),
        "criteria": tuple(_rubric_criteria(fields["criteria"], shared, full, where, notes)),
    }


def rubric_paths(task: TaskEntry) -> set[tuple[str, ...]]:
    """What of a task is its rubric's, by paths below it: its words change with the rubric alone."""
    try:
        _, shared = shared_rubric(str(task.options[OPTION]))
    except (KeyError, RubricError):
        return set()
    places: set[tuple[str, ...]] = {("instructions",)} if shared.criteria else set()
    scaled = task.method == SCALED and bool(shared.points)
    for each in task.criteria if scaled else ():
        places |= {("criteria", each.key, "words", label) for label in shared.points}
    for question in shared.questions:
        places |= {("criteria", question.key, name) for name in ("question", "help_text")}
        places |= {("criteria", question.key, "words", "0")} if question.absent else set()
    return places


def _instructions(own: str, shared: str) -> str:
    """The study's instructions, then the rubric's text, unless it stands there already."""
    return own if shared in own else "\n\n".join(filter(None, [own.strip(), shared]))


def _rubric_criteria(
    tables: Any, shared: Shared, full: str, where: str, notes: Notebook
) -> Iterator[dict[str, Any]]:
    """The task's criteria, asked as the rubric asks them; without any, all of the rubric's."""
    questions = {each.key: each for each in shared.questions}
    if not tables:
        yield from (_with_question({"key": key}, each) for key, each in questions.items())
        return
    for n, table in enumerate(tables, start=1):
        each = questions.get(table.get("key", "")) if isinstance(table, Mapping) else None
        if each is None:
            yield table
            continue
        filled = _with_question(table, each)
        for name in ("question", "help_text"):
            if table.get(name) not in (None, filled[name]):
                what = f"The rubric {full} asks: “{filled[name]}”."
                notes.toml(f"{where}.criteria[{n}].{name}", what, REMEDY)
        yield filled


def _with_question(table: Mapping[str, Any], each: RubricQuestion) -> dict[str, Any]:
    options = {**table.get("options", {})}
    if each.absent:
        options["absent"] = each.absent
    return {**table, "question": each.question, "help_text": each.help_text, "options": options}


def _format_value(value: Any) -> str:
    return ", ".join(map(str, value.values())) if isinstance(value, Mapping) else str(value)


def asks_for_faint_sounds(tasks: Iterable[TaskEntry], conditions: Iterable[ConditionEntry]) -> str:
    """Why a study is taken to ask for faint sounds, for a sentence; empty where it is not."""
    for task in tasks:
        for criterion in task.criteria:
            if criterion.options.get("absent"):
                return f"the question “{criterion.key}” asks whether a sound is there"
            if criterion.key.startswith(VOCALISATIONS):
                return f"the question “{criterion.key}” is about nonverbal vocalisations"
            if named := FAINT_SOUND.search(criterion.question):
                return f"the question “{criterion.key}” mentions “{named[0]}”"
    for condition in conditions:
        if any(name.startswith(VOCALISATIONS) for name in condition.attributes):
            return f"the condition “{condition.key}” is asked for nonverbal vocalisations"
    return ""


def usual_ends(study: StudyFile) -> str:
    """What `ends` is where study.toml does not say."""
    return AS_IS if asks_for_faint_sounds(study.tasks, study.conditions) else ALIKE


def read_sources(tables: Iterable[Any], notes: Notebook) -> tuple[dict[str, Any], ...]:
    """The sources as the database keeps them."""
    sources: list[Source] = []
    for n, table in enumerate(tables, start=1):
        where = f"sources[{n}]"
        fields = read_table(table, "sources", where, notes)
        for name in ("codes", "return_urls"):
            place = f"{where}.{name}"
            by_outcome = read_table(fields[name], f"sources.{name}", place, notes)
            fields[name] = {outcome: word for outcome, word in by_outcome.items() if word}
        source = Source(**fields)
        _check(source, where, sources, notes)
        sources.append(source)
    return tuple(source.as_dict() for source in sources)


def _check(source: Source, where: str, before: list[Source], notes: Notebook) -> None:
    if source.key and source.key in [other.key for other in before]:
        notes.toml(f"{where}.key", f"There are two sources “{source.key}”.", "Rename one.")
    if source.provider.found_without_name and source.kind in [other.kind for other in before]:
        remedy = 'Keep one, or make the other kind = "other" or "panel".'
        what = f"There are two sources of the kind “{source.kind}”."
        notes.toml(f"{where}.kind", what, remedy, "Keep one.")
    for name, what, remedy in source.provider.mistakes(source):
        notes.toml(f"{where}.{name}", what, remedy)
    if source.invited_only and not source.provider.invitations:
        what = "Only a panel takes invitations."
        notes.toml(f"{where}.invited_only", what, 'Write kind = "panel", or leave it out.')
    for name, parameter in source.parameters.items():
        for outcome, address in source.return_urls.items():
            if "{" + name + "}" in address and not parameter:
                what = f"{{{name}}} stands here, and no parameter brings it."
                remedy = f'Name the parameter: {name} = "…".'
                notes.toml(f"{where}.return_urls.{outcome}", what, remedy)
    named: dict[str, str] = {}
    for name, parameter in {**source.parameters, "signature": source.signature}.items():
        if parameter in named:
            what = f"{named[parameter].capitalize()} and {name} are the same parameter."
            notes.toml(f"{where}.{name}", what, f"Leave {name} out, or name another parameter.")
        elif parameter:
            named[parameter] = name


def read_settings(tables: Iterable[Any], notes: Notebook) -> tuple[dict[str, Any], ...]:
    """The settings as the database keeps them; listening.design.settings makes sense of them."""
    return tuple(
        {
            name: list(value) if isinstance(value, list) else value
            for name, value in read_table(table, "settings", f"settings[{n}]", notes).items()
        }
        for n, table in enumerate(tables, start=1)
    )


def setting_table(setting: Mapping[str, Any]) -> dict[str, Any]:
    """The table of study.toml from which `read_settings` makes this setting again."""
    return {
        name: value
        for name, value in setting.items()
        if value not in ("", None, []) and value is not False
    }


def read_study_words(study: Mapping[str, Any], notes: Notebook) -> dict[str, Words]:
    """Language tag → what the study says; an empty table offers it in that language too."""
    checks = [check["key"] for check in study["checks"]]
    questions = {each["key"]: each["questions"] for each in study["questionnaires"]}

    def words(raw: Any, where: str) -> Words:
        fields = read_table(raw, "study.translations.*", where, notes)
        fields["texts"] = _without_blanks(
            read_table(fields["texts"], "study.translations.*.texts", f"{where}.texts", notes)
        )
        known = _KeyedTables(checks, "The study has no check", f"{where}.checks", notes)
        fields["checks"] = known.read(fields["checks"], "study.translations.*.checks.*")
        known = _KeyedTables(
            questions, "The study has no questionnaire", f"{where}.questionnaires", notes
        )
        forms = known.read(fields["questionnaires"], "study.translations.*.questionnaires.*")
        for key, form in forms.items():
            place = f"{where}.questionnaires.{key}.questions"
            _read_questions(form, questions[key], place, notes)
        return _without_blanks(fields | {"questionnaires": forms})

    translations = _by_language(study["translations"], "study.translations", notes, words)
    if study["language"] in translations:
        what = f"“{study['language']}” is the language of the study itself."
        place = f"study.translations.{study['language']}"
        on_page = "Remove this one of the further languages."
        notes.toml(place, what, "Write its words in [study].", on_page)
    return translations


def _read_questions(
    form: Words, questions: Sequence[Mapping[str, Any]], where: str, notes: Notebook
) -> None:
    values = {q["key"]: [option["value"] for option in q["options"]] for q in questions}
    known = _KeyedTables(values, "The questionnaire has no question", where, notes)
    read = known.read(
        form.pop("questions", {}), "study.translations.*.questionnaires.*.questions.*"
    )
    for key, words in read.items():
        _check_names(words.get("options", {}), values[key], f"{where}.{key}.options", notes)
    if read:
        form["questions"] = read


def read_task_words(
    task: Mapping[str, Any], where: str, method: Method | None, notes: Notebook
) -> dict[str, Words]:
    """Language tag → what the task says in that language."""
    criteria: Sequence[CriterionEntry] = task["criteria"]
    labels = {c.key: _labels(method, {**task["options"], **c.options}) for c in criteria}
    shown = [example["stimulus"] for example in task["examples"]]
    trained = [entry["stimulus"] for entry in task["training"]]

    def words(raw: Any, place: str) -> Words:
        fields = read_table(raw, "tasks.translations.*", place, notes)
        reason = read_table(
            fields["justification"],
            "tasks.translations.*.justification",
            f"{place}.justification",
            notes,
        )
        reason |= {name: list(reason[name]) for name in ("good", "poor")}
        for stimulus in [each for each in fields["captions"] if each not in shown]:
            what = f"“{stimulus}” is no example of this task."
            notes.toml(f"{place}.captions.{stimulus}", what, did_you_mean(stimulus, shown))
        known = _KeyedTables(trained, "The task has no training with", f"{place}.training", notes)
        fields["training"] = known.read(fields["training"], "tasks.translations.*.training.*")
        known = _KeyedTables(labels, "The task has no criterion", f"{place}.criteria", notes)
        criteria_words = known.read(fields["criteria"], "tasks.translations.*.criteria.*")
        for key, each in criteria_words.items():
            at = f"{place}.criteria.{key}.names"
            _check_names(each.get("names", {}), labels[key], at, notes)
        return _without_blanks(
            fields | {"justification": _without_blanks(reason), "criteria": criteria_words}
        )

    return _by_language(task["translations"], f"{where}.translations", notes, words)


@dataclass(frozen=True)
class _KeyedTables:
    """Tables by keys that the study has; other keys are mistakes."""

    keys: Collection[str]
    lacking: str
    where: str
    notes: Notebook

    def read(self, table: Mapping[str, Any], schema_path: str) -> dict[str, Words]:
        words_by_key = {}
        for key, raw in table.items():
            place = f"{self.where}.{key}"
            if key in self.keys:
                words_by_key[key] = _without_blanks(read_table(raw, schema_path, place, self.notes))
            else:
                what = f"{self.lacking} “{key}”."
                self.notes.toml(place, what, did_you_mean(key, self.keys))
        return words_by_key


def check_offered(
    study: Mapping[str, Any], tasks: Sequence[Mapping[str, Any]], notes: Notebook
) -> None:
    """A task speaks no language in which the study is not offered."""
    for n, translations in enumerate(tasks, start=1):
        for tag in translations:
            if tag not in study:
                what = f"The study is not offered in “{tag}”."
                remedy = f"Add a table [study.translations.{tag}]; it may be empty."
                on_page = "Add it to the further languages."
                notes.toml(f"tasks[{n}].translations.{tag}", what, remedy, on_page)


def _by_language(
    table: Any, where: str, notes: Notebook, words: Callable[[Any, str], Words]
) -> dict[str, Words]:
    by_language: dict[str, Words] = {}
    for tag, raw in table.items():
        place = f"{where}.{tag}"
        try:
            clean = values.language(tag, longest=16)
        except Wrong as wrong:
            notes.toml(place, wrong.what, wrong.remedy)
            continue
        by_language[clean] = words(raw, place)
    return by_language


def _labels(method: Method | None, options: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The labels of a criterion's scale; None where there is no telling."""
    try:
        return method.scale(options).labels if method else None
    except (ValueError, TypeError, KeyError):  # said where the scale is checked
        return None


def _check_names(
    names: Mapping[str, str], labels: Sequence[str] | None, where: str, notes: Notebook
) -> None:
    for label in names:
        if labels is not None and label not in labels:
            remedy = f"There are: {quoted(labels)}." if labels else "Remove it: there are none."
            notes.toml(f"{where}.{label}", f"There is no answer “{label}”.", remedy)


def _without_blanks(fields: Mapping[str, Any]) -> Words:
    return {name: value for name, value in fields.items() if value not in ("", (), [], {})}


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
    study["stop"] = read_stop(parts["stop"], study, notes)
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
    from listening.checks.check import Unfit

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
            what = f"There is no check “{key}”{left_out(Check.registry)}."
            notes.toml(f"{where}.key", what, known)
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
    fields["criteria"] = _criteria(
        fields["criteria"], method, fields["options"] or {}, where, notes
    )
    fields["translations"] = read_task_words(fields, where, method, notes)
    return TaskEntry(**fields)


def _method(key: str, where: str, notes: Notebook) -> Method | None:
    if not key:
        return None
    try:
        return method_named(key)
    except KeyError:
        known = did_you_mean(key, sorted(Method.registry))
        what = f"There is no method “{key}”{left_out(Method.registry)}."
        notes.toml(f"{where}.method", what, known)
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
    if fields["voids"] == "set":
        del fields["voids"]  # as in studies from before there was a choice
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
    tables: Iterable[Any],
    method: Method | None,
    options: Mapping[str, Any],
    where: str,
    notes: Notebook,
) -> tuple[CriterionEntry, ...]:
    """What the study leaves out is the method's own."""
    known = {c.key: c for c in default_criteria(method, options)} if method else {}
    criteria = []
    for n, table in enumerate(tables, start=1):
        fields = read_table(table, "tasks.criteria", f"{where}.criteria[{n}]", notes)
        own = known.get(fields["key"])
        if own:
            fields["options"] = {**own.options, **fields["options"]}
        plain = method.question_for(options) if method else ""
        fields["question"] = fields["question"] or (own.question if own else plain)
        criteria.append(CriterionEntry(**fields))
    _say_duplicates([c.key for c in criteria], f"{where}.criteria", "criterion", notes)
    return tuple(criteria) or tuple(known.values())


def default_criteria(method: Method, options: Mapping[str, Any]) -> tuple[CriterionEntry, ...]:
    """The criteria of a task that names none."""
    return tuple(
        CriterionEntry(key, question, options=dict(own))
        for key, question, own in method.criteria_for(options)
    )


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
    permissions = {name: value for name, value in fields.items() if value}
    covered = [name for name in permissions if name.startswith("consent_covers_")]
    if covered and not texts.get("consent"):
        what = "There is no consent text that could cover it."
        remedy = "Write it in [study.texts], consent."
        on_page = "Write it under Raters: Consent."
        notes.toml(f"study.publication.{covered[0]}", what, remedy, on_page)
    if permissions.get("consent_covers_words") and not permissions.get("consent_covers_ratings"):
        what = "Raters’ words are published with their ratings, or not at all."
        notes.toml(
            "study.publication.consent_covers_words", what, "Write consent_covers_ratings = true."
        )
    return permissions


def read_ethics(table: Any, notes: Notebook) -> dict[str, str]:
    """What is said; the consent text is composed of it where its researcher asks for that."""
    fields = read_table(table, "study.ethics", "study.ethics", notes)
    return {name: value for name, value in fields.items() if value}


def read_payment(table: Any, notes: Notebook) -> dict[str, Any]:
    """Who pays raters, and how much for what; empty where nothing is said."""
    if not table:
        return {}
    fields = read_table(table, "study.payment", "study.payment", notes)
    payment = {name: value for name, value in fields.items() if value is not None}
    amounts = [name for name in AMOUNTS if name in payment]
    if len(amounts) > 1:
        what = f"It has an amount {' and one '.join(AMOUNTS[name] for name in amounts)}."
        notes.toml("study.payment", what, "Keep one amount; the results tell the others.")
    if payment["by"] == "prolific" and {"per_session", "per_clip"} & set(amounts):
        remedy = 'Write per_hour, or by = "us" where you pay in another way.'
        on_page = "Fill in the pay per hour, or choose another way to pay."
        notes.toml(
            f"study.payment.{amounts[-1]}", "At Prolific you pay by the hour.", remedy, on_page
        )
    if payment["by"] == "prolific" and payment["currency"] not in CURRENCIES:
        known = " or ".join(CURRENCIES)
        remedy, on_page = f'Write {known}, or by = "us".', f"Choose {known}, or another way to pay."
        notes.toml("study.payment.currency", "Prolific does not pay in it.", remedy, on_page)
    return payment


def read_stop(table: Any, study: Mapping[str, Any], notes: Notebook) -> dict[str, Any]:
    """The stop rule as the database keeps it; empty where the study has none."""
    if not table:
        return {}
    fields = read_table(table, "stop", "stop", notes)
    fields["criteria"] = list(fields["criteria"])
    rule = fields["rule"]
    for name in table:
        if rule in RULES and not takes(rule, name):
            what = f"The rule “{rule}” takes no {name}."
            others = " or ".join(f'"{other}"' for other in FIELDS_OF_RULES[name])
            notes.toml(f"stop.{name}", what, f"Remove it, or write rule = {others}.")
    for needs, name in ((HALF_WIDTH, "target"), (BUDGET, "amount")):
        if rule == needs and fields[name] is None and name not in table:
            what = f"The rule “{rule}” needs the field {name}."
            notes.toml(f"stop.{name}", what, f"Add {name} = …")
    known = [criterion.key for task in study["tasks"] for criterion in task.criteria]
    for key in [key for key in fields["criteria"] if key not in known]:
        notes.toml("stop.criteria", f"There is no criterion “{key}”.", did_you_mean(key, known))
    roles = [condition.role for condition in study["conditions"]]
    if fields["compare"] == REFERENCE and REFERENCE not in roles:
        what = "No condition has the role “reference”."
        notes.toml("stop.compare", what, 'Give one the role, or write compare = "systems".')
    payment = study["payment"]
    if rule == BUDGET and not (payment.get("by") == "us" and set(AMOUNTS) & set(payment)):
        what = "What a session costs is not known."
        remedy = 'Write by = "us" and an amount in [study.payment]; at Prolific set a budget there.'
        notes.toml("stop.rule", what, remedy)
    own = {name: value for name, value in fields.items() if takes(rule, name)}
    return {name: value for name, value in own.items() if value not in (None, [])}


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
            text = versioned_rule(fields["rule"])
        except ValueError as error:
            notes.toml(f"{where}.rule", f"{error}.", "docs/estimators.md lists the rules.")
            continue
        if text in [rule["rule"] for rule in rules]:
            notes.toml(f"{where}.rule", f"The rule “{text}” stands here twice.", "Remove one.")
            continue
        rules.append({"rule": text, **({"why": fields["why"]} if fields["why"] else {})})
    return tuple(rules)
