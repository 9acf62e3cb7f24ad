"""The tables and figures of LFS-Bench, in the order of the paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from analysis.formatting import enumerated
from analysis.ratings.estimands import estimand_of
from analysis.ratings.metric_scores import metrics_of
from analysis.report.content import Column, Content, Figure, Table, together
from analysis.report.emphasis import LEGEND, UNRANKED, with_best
from analysis.report.part import FamilyInput, FamilyPart, PartInput
from analysis.report.parts.against_people.ceiling_tables import ceilings_of, preferences
from analysis.report.parts.against_people.metric_data import gathered
from analysis.report.parts.lfs.lfs_alignment import against_people, own_scores, two_instruments
from analysis.report.parts.lfs.lfs_clips import (
    MEASURES,
    ONE_CONTENT,
    PAPER,
    WITH_SD,
    Cell,
    Clips,
    Measure,
    cells_of,
    clips_of,
)

if TYPE_CHECKING:
    import pandas as pd


_FIVE_POINTS = (1.0, 5.0)
_NO_SCORES = (
    "There are no metric scores: score the clips, or give a CSV of scores (stimulus, metric, "
    "version, value), to see how they agree with people."
)


class Lfs(FamilyPart):
    """Tables 2, 3, 13 to 15, radars and length plots of LFS-Bench; then metrics against people."""

    key = "lfs"
    version = "4"
    title = "LFS-Bench: the paper's tables"
    order = 44
    always = False
    presets = frozenset({"lfs"})

    def make(self, inputs: PartInput) -> Content:
        """The metrics of the systems first, as in the paper; then tasks with ratings."""
        clips = clips_of(inputs)
        of_systems = []
        if clips is not None:
            of_systems = [systems(clips), by_challenge(clips), by_length(clips)]
        return together([*of_systems, super().make(inputs)])

    def of_family(self, each: FamilyInput) -> Content:
        """Scores and raters against means; of pairs differences of scores against preferences."""
        family, inputs = each.family, each.inputs
        suffix = f"-{each.place + 1}" if each.place else ""
        if family.in_pairs and bool((family.table["versus_stimulus"] != "").any()):
            if metrics_of(inputs.scores):
                of = gathered(family, inputs)
                own = own_scores(of)
                shown = preferences(of, ceilings_of(of, inputs), inputs, suffix, own)
                return replace(shown, warnings=two_instruments(each, own or ()))
        elif estimand_of(family.estimand).ends == _FIVE_POINTS:
            return against_people(each, suffix)
        return Content()

    def of_all(self, contents: Sequence[Content], inputs: PartInput) -> Content:
        """Titles say already what they are about."""
        content = together(contents)
        warnings = [*content.warnings]
        if not metrics_of(inputs.scores):
            warnings.append(_NO_SCORES)
        if not content.tables:
            warnings.append("No task has scores of 1 to 5 or comparisons of pairs.")
        return replace(content, warnings=warnings)


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


ENDS = (1.0, 5.0)
LEAST_AXES = 3
_NOTE = (
    "1 to 5, more is better. Judges as they are; fidelity (PESQ) + 0.5; timbre, reverb and content "
    "mapped from the least and the greatest mean of any system in any {} to 1 to 5, turned round "
    "where lower is better. Places on mapped axes are relative to what is compared here."
)


def by_challenge(clips: Clips) -> Content:
    """Figure 3, a radar of all measures per challenge; Figure 11, of scenarios per measure."""
    scenarios = clips.frame["dimension"].nunique() > 1
    unit, words = ("dimension", "scenario") if scenarios else ("challenge", "challenge")
    limits, flat = _limits(clips.frame, unit)
    told = []
    if flat:
        told.append(f"Radars leave out {enumerated(flat)}: all means are equal, nothing to map.")
    told += _not_drawn(clips.frame, limits)
    figures = [*_figure3(clips, limits, words), *_figure11(clips, limits, words)]
    return Content(told, figures)


def _not_drawn(frame: pd.DataFrame, limits: Mapping[str, Any]) -> list[str]:
    """Why there are no radars."""
    told = []
    measures = _drawn(frame, limits)
    if len(measures) < LEAST_AXES:
        which = f" ({enumerated([each.name for each in measures])})" * bool(measures)
        told.append(
            f"Figure 3 is not there: a radar needs {LEAST_AXES} measures with scores, and there "
            f"{'is' if len(measures) == 1 else 'are'} {len(measures)}{which}."
        )
    scenarios = frame["dimension"][frame["dimension"] != ""].nunique()
    if scenarios < LEAST_AXES:
        told.append(
            f"Figure 11 is not there: a radar needs {LEAST_AXES} scenarios (column dimension), and "
            f"there {'is' if scenarios == 1 else 'are'} {scenarios}."
        )
    if not (frame["challenge"] != "").any():
        told.append(
            "Figure 3 is not there: no scenario is one of the paper's, and no clip names a "
            "challenge (column challenge in stimuli.csv)."
        )
    return told


def mapped(measure: Measure, value: float, limits: Mapping[str, tuple[float, float]]) -> float:
    """A mean on the radar's 1 to 5."""
    if measure.shift is not None:
        return value + measure.shift
    low, high = limits[measure.key]
    share = (value - low) / (high - low)
    return ENDS[0] + (ENDS[1] - ENDS[0]) * (1 - share if measure.lowest else share)


def _limits(frame: pd.DataFrame, unit: str) -> tuple[dict[str, tuple[float, float]], list[str]]:
    """The least and the greatest mean of the mapped measures; and those without a range."""
    limits, flat = {}, []
    for each in ONE_CONTENT:
        if each.shift is None and frame[each.key].notna().any():
            means = frame.groupby(["condition", unit], observed=True)[each.key].mean().dropna()
            low, high = float(means.min()), float(means.max())
            if high > low:
                limits[each.key] = (low, high)
            else:
                flat.append(each.name)
    return limits, flat


def _drawn(frame: pd.DataFrame, limits: Mapping[str, Any]) -> list[Measure]:
    return [
        each
        for each in ONE_CONTENT
        if frame[each.key].notna().any() and (each.shift is not None or each.key in limits)
    ]


def _figure3(clips: Clips, limits: Mapping[str, Any], words: str) -> list[Figure]:
    figures: list[Figure] = []
    measures = _drawn(clips.frame, limits)
    challenges = clips.frame["challenge"]
    known = cells_of(clips.frame, "condition", "challenge")
    named = clips.heads("challenge", clips.frame)
    for challenge in named if len(measures) >= LEAST_AXES else ():
        own = clips.frame[challenges == challenge]
        for head, conditions in clips.panels(own):
            rows = [
                {"group": name, "name": each.name, "value": value}
                for name in conditions
                for each in measures
                if (value := _mean(known[name, challenge], each, limits)) is not None
            ]
            title = f"Figure 3 of {PAPER}: {challenge} challenge{f' · {head}' * bool(head)}"
            figures.append(_radar("figure3", len(figures), title, rows, words))
    return figures


def _figure11(clips: Clips, limits: Mapping[str, Any], words: str) -> list[Figure]:
    frame = clips.frame[clips.frame["dimension"] != ""]
    scenarios = clips.inputs.ordered("dimension", frame["dimension"].unique())
    figures: list[Figure] = []
    known = cells_of(frame, "condition", "dimension")
    for each in _drawn(frame, limits) if len(scenarios) >= LEAST_AXES else ():
        for head, conditions in clips.panels(frame):
            rows = []
            for name in conditions:
                for scenario in scenarios:
                    value = _mean(known.get((name, scenario), {}), each, limits)
                    if value is not None:
                        rows.append({"group": name, "name": scenario, "value": value})
            title = f"Figure 11 of {PAPER}: {each.name} by scenario{f' · {head}' * bool(head)}"
            figures.append(_radar("figure11", len(figures), title, rows, words))
    return figures


def _mean(own: Mapping[str, Cell], measure: Measure, limits: Mapping[str, Any]) -> float | None:
    mean = own.get(measure.key, Cell()).mean
    return None if mean is None else mapped(measure, mean, limits)


def _radar(
    key: str, place: int, title: str, rows: Sequence[Mapping[str, Any]], words: str
) -> Figure:
    return Figure(
        f"{key}-{place + 1}", title, "radar", rows, ends=ENDS, note=_NOTE.format(words), decimals=2
    )


MOST_LENGTHS = 6  # more than these are put together into as many bins of about equally many clips


def by_length(clips: Clips) -> Content:
    """A plot of each measure over the number of sentences, and the numbers as a table."""
    frame = clips.frame[clips.frame["sentences"].str.isdigit()].copy()
    sentences = frame["sentences"].astype(int)
    if sentences.nunique() < 2:
        told = (
            "No plots by length: fewer than two numbers of sentences are known (column sentences "
            "in stimuli.csv)."
        )
        return Content([told])
    frame["length"], frame["place"] = _bins(sentences)
    rows = _rows(clips, frame)
    measures = [each for each in ONE_CONTENT if frame[each.key].notna().any()]
    figures: list[Figure] = []
    for each in measures:
        for head, named in clips.panels(frame):
            drawn = [
                {"group": row["condition"], "x": row["sentences"], "y": row[each.key]}
                for row in rows
                if row["condition"] in named and row[each.key] is not None
            ]
            title = f"Figures 4 and 10 of {PAPER}: {each.name} by length"
            title += f" · {head}" * bool(head)
            figures.append(
                Figure(
                    f"figure4-{len(figures) + 1}",
                    title,
                    "lines",
                    drawn,
                    x="Sentences",
                    y=each.name,
                    note=f"Means over clips. Better is {'lower' if each.lowest else 'higher'}.",
                )
            )
    columns = [Column("condition", "Model"), Column("length", "Sentences")]
    columns += [Column("clips", "Clips", "count")]
    columns += [Column(each.key, each.heading, "number", each.decimals) for each in measures]
    note = "Means over clips. Content is CER of Chinese clips, WER of the others. " + clips.taken
    if sentences.nunique() > MOST_LENGTHS:
        note += f" Lengths stand in at most {MOST_LENGTHS} bins of about equally many clips."
    table = Table("length", "Metrics of the systems by length", columns, rows, note, folded=True)
    return Content(figures=figures, tables=[table])


def _bins(sentences: pd.Series[int]) -> tuple[list[str], list[float]]:
    """The bin of each clip: its words, and its place (the mean number of sentences in it)."""
    numbers = sentences.to_numpy()
    edges = np.unique(numbers)
    if len(edges) > MOST_LENGTHS:
        shares = np.linspace(0, 1, MOST_LENGTHS + 1)[:-1]
        edges = np.unique(np.quantile(numbers, shares, method="higher"))
    which = np.searchsorted(edges, numbers, side="right") - 1
    words, places = [], []
    for place in which:
        inside = numbers[which == place]
        low, high = int(inside.min()), int(inside.max())
        words.append(f"{low}" if low == high else f"{low} to {high}")
        places.append(float(inside.mean()))
    return words, places


def _rows(clips: Clips, frame: pd.DataFrame) -> list[dict[str, Any]]:
    by = ["condition", "place", "length"]
    known, sizes = cells_of(frame, *by), frame.groupby(by).size().to_dict()
    order = {name: place for place, name in enumerate(clips.conditions(frame))}
    return [
        {"condition": key[0], "length": key[2], "sentences": key[1], "clips": sizes[key]}
        | {each.key: own[each.key].mean for each in ONE_CONTENT}
        for key, own in sorted(known.items(), key=lambda item: (order[item[0][0]], item[0][1]))
    ]
