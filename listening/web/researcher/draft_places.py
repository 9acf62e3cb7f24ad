"""Where the pages of a draft have the fields of study.toml: the page, and the id of the control.

What has no control in a template is shown by what the schema says of it, among further settings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from listening.design.draft_fields import EditorField, editor_field, fields_of_table
from listening.studies.findings import CLIPS
from listening.studies.findings import TEXTS as TEXTS_OF_CLIPS

SOUNDS, QUESTIONS, RATERS = "draft", "draft-questions", "draft-raters"
QUESTIONNAIRES = "draft-questionnaires"
REVIEW = "draft-review"
NOWHERE = (REVIEW, "")  # page and label of what no page changes
PAGES = {
    SOUNDS: "Sounds",
    QUESTIONS: "Questions",
    QUESTIONNAIRES: "Questionnaires",
    RATERS: "Raters",
    REVIEW: "Review and open",
}
TASK = r"tasks\[(?P<n>\d+)\]"
CRITERION = rf"{TASK}\.criteria\[(?P<c>\d+)\]"
FORM = r"questionnaires\[(?P<n>\d+)\]"
QUESTION = rf"{FORM}\.questions\[(?P<q>\d+)\]"
Place = tuple[str, str, str]  # a pattern of places in study.toml, the page, the id of the control
CONTROLS: tuple[Place, ...] = (  # in templates
    (rf"{TASK}\.ratings_per_stimulus", RATERS, "r{n}"),
    (rf"{TASK}\.block_size", RATERS, "b{n}"),
    (rf"{TASK}\.(repeat_items|autoplay|reopen_invalid)", RATERS, "b{n}"),
    (rf"{TASK}\.blocks_per_session", RATERS, "bs{n}"),
    (rf"{TASK}\.blocks_per_rater", RATERS, "br{n}"),
    (rf"{TASK}\.repeats", RATERS, "rp{n}"),
    (rf"{TASK}\.traps\.placement", RATERS, "tl{n}"),
    (rf"{TASK}\.traps\.per", RATERS, "tp{n}"),
    (rf"{TASK}\.title", QUESTIONS, "t{n}-title"),
    (rf"{TASK}\.instructions", QUESTIONS, "t{n}-instructions"),
    (rf"{TASK}\.options\.points", QUESTIONS, "t{n}-points"),
    (rf"{TASK}\.options\.step", QUESTIONS, "t{n}-step"),
    (rf"{TASK}\.options\.reach", QUESTIONS, "t{n}-reach"),
    (rf"{TASK}\.options\.(versus|pairs)", QUESTIONS, "t{n}-comparisons"),
    (rf"{TASK}\.options\.uniform_share", QUESTIONS, "t{n}-uniform"),
    (rf"{TASK}\.options\.(tie|names.*)", QUESTIONS, "task-{n}"),
    (rf"{TASK}\.options\.open_reference", QUESTIONS, "t{n}-open-reference"),
    (rf"{TASK}\.options\.reference", SOUNDS, "systems"),
    (rf"{CRITERION}\.options\.names.*", QUESTIONS, "t{n}-c{c}-names"),
    (rf"{CRITERION}\.options\.points", QUESTIONS, "t{n}-p{c}"),
    (rf"{CRITERION}\.key", QUESTIONS, "t{n}-k{c}"),
    (rf"{TASK}\.show_(text|caption)", QUESTIONS, "task-{n}"),
    (rf"{TASK}\.(conditions|dimensions|allow_missing)", QUESTIONS, "task-{n}"),  # by the sounds
    (rf"{TASK}\.justification\.prompt", QUESTIONS, "t{n}-prompt"),
    (rf"{TASK}\.justification\.min_chars", QUESTIONS, "t{n}-chars"),
    (rf"{TASK}\.justification\.good", QUESTIONS, "t{n}-good"),
    (rf"{TASK}\.justification\.poor", QUESTIONS, "t{n}-poor"),
    (rf"{QUESTION}\.(?P<key>show_if|screen_out)\b.*", QUESTIONNAIRES, "q{n}-{q}-{key}"),
    (rf"{QUESTION}\.(?P<key>\w+)", QUESTIONNAIRES, "q{n}-{q}-{key}"),
    (rf"{FORM}\.(?P<key>key|when|task|every|title|text)", QUESTIONNAIRES, "q{n}-{key}"),
    (r"stop\.(?P<key>\w+)", RATERS, "stop-{key}"),
    (r"study\.key", REVIEW, "key"),
    (r"study\.title", RATERS, "title"),
    (r"study\.language", QUESTIONS, "language"),
    (r"study\.hypotheses.*", QUESTIONS, "hypotheses"),
    (r"study\.break_every", RATERS, "break"),
    (r"study\.lease_minutes", RATERS, "lease"),
    (r"study\.task_plan", RATERS, "plan"),
    (r"study\.sessions_per_rater", RATERS, "sessions"),
    (r"study\.loudness_lufs", SOUNDS, "loudness"),
    (r"study\.sample_rate_hz", SOUNDS, "rate"),
    (r"study\.low_cut_hz", SOUNDS, "low-cut"),
    (r"study\.ends", SOUNDS, "ends"),
    (r"study\.erase_after_days", RATERS, "erase"),
    (r"study\.payment\.(by|currency)", RATERS, "pay-by"),
    (r"study\.payment\.per_hour", RATERS, "pay-hour"),
    (r"study\.texts\.consent_version", RATERS, "consent"),
    (r"study\.texts\.(?P<key>\w+)", RATERS, "{key}"),
    (r"study\.ethics\.(?P<key>\w+)", RATERS, "e-{key}"),
    (r"study\.completion_codes\.(?P<key>\w+)", RATERS, "code-{key}"),
)
NEAR: tuple[Place, ...] = (  # for what has no control of its own
    (rf"{TASK}\.traps.*", RATERS, "tp{n}"),
    (rf"{CRITERION}.*", QUESTIONS, "t{n}-c{c}"),
    (rf"{TASK}\.criteria.*", QUESTIONS, "t{n}-c0"),
    (rf"{TASK}\.justification.*", QUESTIONS, "t{n}-reasons"),
    (rf"{TASK}.*", QUESTIONS, "task-{n}"),
    (r"study\.erase.*", RATERS, "erase"),
    (r"study\.payment.*", RATERS, "pay-by"),
    (r"study\.checks.*", RATERS, "before"),
    (r"study\.texts\.(?P<key>\w+).*", RATERS, "{key}"),
    (r"stop.*", RATERS, "stop-rule"),
    (rf"{QUESTION}.*", QUESTIONNAIRES, "q{n}-{q}-question"),
    (rf"{FORM}.*", QUESTIONNAIRES, "q{n}-title"),
    (r"(sources|study).*", RATERS, ""),
    (r"(conditions|dimensions|settings).*", SOUNDS, "systems"),
    (re.escape(TEXTS_OF_CLIPS), SOUNDS, "texts"),
    (re.escape(CLIPS), SOUNDS, "systems"),
)
LABELS = {"tasks": "", "dimensions": "Systems", TEXTS_OF_CLIPS: "Texts"}  # of what is no field


def field_at(place: str) -> tuple[str, str, str]:
    """The page that changes a place of study.toml, the label of its field, and its id there."""
    location = _match_place(CONTROLS, place) or _further(place) or _match_place(NEAR, place)
    if location is None:
        return (*NOWHERE, "")
    page, anchor = location
    return page, _label(place), anchor


def further_fields(task: int | None = None) -> list[EditorField]:
    """The fields of a task, or of [study] and its tables, that have no control in a template."""
    tables = [("tasks", f"tasks.{task}")] if task is not None else list(_study_tables())
    fields = [field for table, prefix in tables for field in fields_of_table(table, prefix)]
    return [field for field in fields if not has_control(field.name)]


def has_control(name: str) -> bool:
    """Whether a template has a control for this field: tasks.0.title is tasks[1].title there."""
    place = re.sub(r"^tasks\.(\d+)", lambda n: f"tasks[{int(n[1]) + 1}]", name)
    return _match_place(CONTROLS, place) is not None


def _study_tables() -> Iterator[tuple[str, str]]:
    """[study] and the tables in it, by their paths in the schema and their names on pages."""
    from listening.design.studyfile.schema import Study, inner_table  # takes 0.2 s to load

    yield "study", "study"
    for key, field in Study.model_fields.items():
        inner, several = inner_table(field)
        if inner and not several:
            yield f"study.{key}", f"study.{key}"


def _further(place: str) -> tuple[str, str] | None:
    """Of a field among further settings."""
    if not re.fullmatch(rf"{TASK}\.\w+|study\.\w+(\.\w+)?", place):
        return None
    field = editor_field(re.sub(r"\[(\d+)\]", lambda n: f".{int(n[1]) - 1}", place))
    return (QUESTIONS if place.startswith("tasks") else RATERS, field.anchor) if field else None


def _match_place(places: tuple[Place, ...], place: str) -> tuple[str, str] | None:
    for pattern, page, anchor in places:
        if match := re.fullmatch(pattern, place):
            named = match.groupdict()
            from_0 = {name: str(int(named[name]) - 1) for name in "ncq" if named.get(name)}
            return page, anchor.format(**named | from_0)
    return None


def _label(place: str) -> str:
    from listening.design.studyfile.schema import label_at  # pydantic takes 0.2 s to load

    plain = re.sub(r"\[\d+\]", "", place)
    return LABELS[plain] if plain in LABELS else label_at(plain)
