"""Tables 2, 3, 13, 14 and 15 of the paper, and the same by challenge and by scenario."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from analysis.report.content import Column, Content, Table
from analysis.report.emphasis import LEGEND, UNRANKED, with_best
from analysis.report.parts.lfs.lfs_clips import Cell, Clips, cells_of
from analysis.report.parts.lfs.lfs_measures import MEASURES, ONE_CONTENT, PAPER, WITH_SD, Measure

if TYPE_CHECKING:
    import pandas as pd

REFERENCES, AVERAGE = "References", "Average"
_SD = (
    "Mean ± SD over clips (n - 1). CER is of Chinese clips, WER of the others. The average is that "
    "of the systems, each with equal weight; neither it nor a reference has a place."
)
_CONTENT = "Content is CER of Chinese clips, WER of the others."
_MEAN = f"Means over clips. {_CONTENT} The average is that of the systems, each with equal weight."
_WITHIN = " Places are among the systems of one heading and, where it is a column, one language."
SPEAKERS = (  # key, words, numbers of speakers; as in the paper's tables
    ("table2", "Single speakers", lambda n: n == 1),
    ("table3", "Dialogues of two speakers", lambda n: n == 2),
    ("table13", "Dialogues of three speakers or more", lambda n: n >= 3),
)


def systems(clips: Clips) -> Content:
    """All tables of metrics by system that the clips allow; what is not there is said."""
    frame, tables, told = clips.frame, list[Table](), list[str]()
    numbers = frame["speakers"].where(frame["speakers"].str.isdigit(), "0").astype(int)
    for key, words, holds in SPEAKERS:
        tables += _systems(clips, frame[numbers.map(holds)], key, words)
    unknown = frame[numbers == 0]
    words = "Clips without a number of speakers" if len(unknown) < len(frame) else "All clips"
    tables += _systems(clips, unknown, "systems", words)
    if len(unknown):
        told.append(
            f"{len(unknown)} of {len(frame)} clips name no number of speakers (column speakers in "
            "stimuli.csv), by which Tables 2, 3 and 13 are split."
        )
    if frame["language"].nunique() > 1:
        one = numbers <= 1
        tables += _by_language(clips, frame[one], "table14", "Systems by language")
        tables += _by_language(clips, frame[~one], "table15", "Dialogues by language")
    else:
        told.append("All clips are of one language: Tables 14 and 15, by language, are not there.")
    for name, words in (("challenge", "challenge"), ("dimension", "scenario")):
        tables += _by_column(clips, name, words)
    if not clips.groups() or not any(clips.groups().values()):
        told.append(
            'No condition names a group (attributes = { group = "…" } in study.toml): all systems '
            "stand together."
        )
    return Content([*told, *[clips.left] * bool(clips.left)], tables=tables)


def _systems(clips: Clips, frame: pd.DataFrame, key: str, words: str) -> list[Table]:
    if not len(frame):
        return []
    measures = _known(frame, WITH_SD)
    rows, known = [], cells_of(frame, "condition")
    for head, named in _headed(clips, frame):
        cells = [_cells(known[n,], measures, True) for n in named]
        rows += _headed_rows(head, named, cells, measures)
    columns = [Column("condition", "Model"), *_columns(measures)]
    note = f"{_SD} {clips.taken} {LEGEND}{_WITHIN}"
    title = captioned(key, f"Metrics of the systems · {words}")
    return [Table(key, title, columns, rows, note, group="group")]


def _by_language(clips: Clips, frame: pd.DataFrame, key: str, words: str) -> list[Table]:
    if not len(frame):
        return []
    measures = _known(frame, ONE_CONTENT)
    rows: list[dict[str, Any]] = []
    known = cells_of(frame, "condition", "language")
    languages = clips.inputs.ordered("language", frame["language"].unique())
    for head, named in _headed(clips, frame):
        made: list[dict[str, Any]] = []
        for language in languages:
            there = [n for n in named if (n, language) in known]
            cells = [_cells(known[n, language], measures, False) for n in there]
            within = _headed_rows(head, there, cells, measures)
            made += [{**row, "language": language} for row in within]
        order = {name: place for place, name in enumerate([*named, AVERAGE])}
        rows += sorted(made, key=lambda row: order[row["condition"]])
    columns = [Column("condition", "Model"), Column("language", "Language")]
    columns += _columns(measures)
    note = f"{_MEAN} {clips.taken} {LEGEND}{_WITHIN}"
    return [Table(key, captioned(key, words), columns, rows, note, group="group")]


def _by_column(clips: Clips, name: str, words: str) -> list[Table]:
    """The systems under each challenge or scenario: the numbers of the radars before mapping."""
    frame = clips.frame[clips.frame[name] != ""]
    heads = clips.heads(name, frame)
    if not heads:
        return []
    measures = _known(frame, ONE_CONTENT)
    rows, known = [], cells_of(frame, "condition", name)
    named, beside = clips.conditions(frame), clips.beside()
    for head in heads:
        made = [
            {"group": head, "condition": n, UNRANKED: n in beside}
            | _cells(known[n, head], measures, False)
            for n in named
            if (n, head) in known
        ]
        rows += _marked(made, measures)
    columns = [Column("condition", "Model"), *_columns(measures)]
    note = f"Means over clips. {_CONTENT} {clips.taken} {LEGEND}{_WITHIN}"
    title = f"Metrics of the systems by {words}"
    folded = len(rows) > 40
    return [Table(f"{words}s", title, columns, rows, note, folded=folded, group="group")]


def captioned(key: str, words: str) -> str:
    """A table's title with its number in the paper, where it has one."""
    number = key.removeprefix("table")
    return f"Table {number} of {PAPER}: {words}" if number.isdigit() else words


def _headed(clips: Clips, frame: pd.DataFrame) -> list[tuple[str, list[str]]]:
    """The conditions under the headings of the table: their groups, then the references."""
    named, group, beside = clips.conditions(frame), clips.groups(), clips.beside()
    heads: dict[str, list[str]] = {}
    for name in named:
        heads.setdefault(REFERENCES if name in beside else group[name], []).append(name)
    return list(heads.items())


def _headed_rows(
    head: str, named: Sequence[str], cells: Sequence[dict[str, Any]], measures: Sequence[Measure]
) -> list[dict[str, Any]]:
    """The rows under one heading with their marks; of several systems with their average."""
    ranked = head != REFERENCES
    rows = [
        {"group": head, "condition": name, UNRANKED: not ranked, **own}
        for name, own in zip(named, cells, strict=True)
    ]
    rows = _marked(rows, measures)
    if ranked and len(rows) > 1:
        average: dict[str, Any] = {"group": head, "condition": AVERAGE, UNRANKED: True}
        for each in measures:
            known = [row[f"{each.key}_mean"] for row in rows if row[f"{each.key}_mean"] is not None]
            mean = sum(known) / len(known) if known else None
            average |= {f"{each.key}_mean": mean, each.key: _text(each, mean, None)}
        rows.append(average)
    return rows


def _cells(own: dict[str, Cell], measures: Sequence[Measure], spread: bool) -> dict[str, Any]:
    """The cells of one system: mean, SD and number of clips of each measure, and its text."""
    cells: dict[str, Any] = {}
    for each in measures:
        mean, sd, n = own[each.key]
        text = _text(each, mean, sd if spread and each.sd_decimals else None)
        cells |= {each.key: text, f"{each.key}_mean": mean, f"{each.key}_sd": sd}
        cells[f"{each.key}_n"] = n
    return cells


def _text(measure: Measure, mean: float | None, sd: float | None) -> str | None:
    if mean is None:
        return None
    text = f"{mean:.{measure.decimals}f}"
    return text if sd is None else f"{text}\u00a0±\u00a0{sd:.{measure.sd_decimals}f}"


def _marked(rows: list[dict[str, Any]], measures: Sequence[Measure]) -> list[dict[str, Any]]:
    for each in measures:
        mean = f"{each.key}_mean"
        rows = with_best(rows, [mean], decimals=each.decimals, lowest=[mean] if each.lowest else ())
        for row in rows:
            if mark := row.pop(f"{mean}_mark", ""):
                row[f"{each.key}_mark"] = mark
    return rows


def _known(frame: pd.DataFrame, measures: Sequence[Measure]) -> list[Measure]:
    """Those that have any value."""
    return [each for each in measures if frame[each.key].notna().any()]


def _columns(measures: Sequence[Measure]) -> list[Column]:
    return [Column(each.key, each.heading) for each in measures if each in MEASURES]
