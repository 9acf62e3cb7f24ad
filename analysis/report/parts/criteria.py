"""Criteria beside metrics: the table of systems that papers print, one for each task."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from analysis.name_spans import condition_span
from analysis.ratings.breakdowns import Family, families
from analysis.ratings.estimands import estimand_of, name_of
from analysis.ratings.grouping import Breakdown
from analysis.ratings.metric_scores import metrics_of
from analysis.ratings.reference import reference_of, roles_of
from analysis.report.content import Column, Content, Figure, Table, interval_cells, pick_cells
from analysis.report.emphasis import LEGEND, UNRANKED, with_best
from analysis.report.part import Part, PartInput
from analysis.report.parts.against_people.metric_data import means_of_clips
from analysis.report.parts.att import means

COMPARISONS = ("cmos", "ccr")  # naturalness against the recordings, the first that there is
NATURALNESS = (*COMPARISONS, "mos")
IN_CONTEXT = "context_mos"  # rated turn by turn


@dataclass(frozen=True)
class MetricColumn:
    """The column of a metric: its heading, decimals, factor and direction."""

    heading: str
    decimals: int = 2
    factor: float = 1.0
    lowest_is_best: bool = False
    ranked: bool = True


COLUMNS = {  # by the key of an output, or the name of an imported score, in the table's order
    "speaker_similarity": MetricColumn("SIM-o", 3),
    "sim_o": MetricColumn("SIM-o", 3),
    "sim_r": MetricColumn("SIM-r", 3),
    "timbre_similarity": MetricColumn("Timbre similarity", 3),
    "wer": MetricColumn("WER %", factor=100.0, lowest_is_best=True),
    "cer": MetricColumn("CER %", factor=100.0, lowest_is_best=True),
    "utmos": MetricColumn("UTMOS"),
    "dnsmos_sig": MetricColumn("DNSMOS SIG"),
    "dnsmos_bak": MetricColumn("DNSMOS BAK"),
    "dnsmos": MetricColumn("DNSMOS OVRL"),
    "sigmos_signal": MetricColumn("SIGMOS signal"),
    "sigmos_noise": MetricColumn("SIGMOS noise"),
    "sigmos": MetricColumn("SIGMOS overall"),
    "audiobox_pq": MetricColumn("Audiobox PQ"),
    "clap": MetricColumn("CLAP", 3),
    "turn_taking": MetricColumn("FTO, s", ranked=False),
    "turn_gap_s": MetricColumn("Gap, s", ranked=False),
    "turn_overlap_s": MetricColumn("Overlap, s", ranked=False),
    "interruptions_per_minute": MetricColumn("Interruptions per minute", 1, ranked=False),
    "overlapped_speech": MetricColumn("Overlapped speech, %", 1, 100.0, ranked=False),
}
SIMILARITY = ("speaker_similarity", "sim_o", "sim_r", "timbre_similarity")
_SPOKEN = ("wer", "cer", "utmos")
METRICS_OF = {  # what stands beside a criterion: by estimand and criterion, or by estimand alone
    ("cmos", ""): _SPOKEN,
    ("ccr", ""): _SPOKEN,
    ("smos", ""): (*SIMILARITY, *_SPOKEN),
    ("speaker_similarity", ""): (*SIMILARITY, *_SPOKEN),
    ("mos", "naturalness"): _SPOKEN,
    ("mos", "turn_taking"): ("turn_taking", "turn_gap_s"),
    ("mos", "interruptions"): ("turn_overlap_s", "interruptions_per_minute", "overlapped_speech"),
    ("context_mos", "appropriateness"): (),
    ("context_mos", "timing"): ("turn_taking", "turn_gap_s", "turn_overlap_s"),
    ("mos", "quality"): ("audiobox_pq",),
    ("mos", "relevance"): ("clap",),
    ("p835", "signal"): ("dnsmos_sig", "sigmos_signal"),
    ("p835", "background"): ("dnsmos_bak", "sigmos_noise"),
    ("p835", "overall"): ("dnsmos", "sigmos"),
}
HEADINGS = {"signal": "SIG", "background": "BAK", "overall": "OVRL"}  # of P.835, as papers say
_NOTE = "Each interval is for its own mean, two-way clustered over raters and items. "
_SIM_NOTE = (
    "SIM-o: cosine of the speaker embeddings of the clip and of the prompt’s recording, SIM-r: of "
    "the prompt’s resynthesis. "
)
_TIMING_NOTE = (
    "FTO: floor-transfer offset, the start of a turn after the end of the turn before it; below 0 "
    "both speak. Timing is the median of a conversation, then the mean over conversations, and is "
    "not ranked. "
)
METRICS_NOTE = "Metrics: means over the clips that raters judged; error rates in per cent. "


class Criteria(Part):
    """For tasks with several criteria: one row per system, criteria with their metrics beside."""

    key = "criteria"
    version = "1"
    title = "Criteria and metrics"
    order = 31

    def applies(self, inputs: PartInput) -> bool:
        names = ["study", "task", "estimand", "criterion"]
        questions = inputs.ratings[names].drop_duplicates().itertuples(index=False, name=None)
        tasks = [tuple(task) for *task, estimand, key in questions if (estimand, key) in METRICS_OF]
        return len(set(tasks)) < len(tasks)

    def make(self, inputs: PartInput) -> Content:
        """For each task with several such criteria: the best systems, the table, and a figure."""
        tasks: dict[tuple[str, str], list[Family]] = {}
        for each in families(inputs.ratings):
            if not each.in_pairs:
                task = (each.group.get("study", ""), each.group["task"])
                tasks.setdefault(task, []).append(each)
        shown = [own for own in tasks.values() if sum(map(_is_declared, own)) > 1]
        sentences: list[str] = []
        tables, figures = [], []
        for n, own in enumerate(shown, start=1):
            systems = Systems(sorted(own, key=_place), inputs)
            suffix = f"_{n}" if len(shown) > 1 else ""
            sentences += systems.leaders()
            tables.append(systems.table(f"systems{suffix}", "Systems: criteria and metrics"))
            if own[0].estimand == IN_CONTEXT:
                tables += breakdown(systems.shown, inputs, lambda t: t["item"], "item", "turn")
            figures.append(systems.figure(0, 1, f"plane{suffix}", "Two criteria of each system"))
        return Content(sentences=sentences, tables=tables, figures=figures)


def _is_declared(family: Family) -> bool:
    return (family.estimand, family.group["criterion"]) in METRICS_OF


def _place(family: Family) -> int:
    """The place of a criterion in the table: as `METRICS_OF` lists them, the others last."""
    order = [*METRICS_OF, (family.estimand, family.group["criterion"])]
    return order.index((family.estimand, family.group["criterion"]))


def metrics_beside(family: Family) -> tuple[str, ...]:
    """The keys of the metrics that belong to a criterion."""
    alone = METRICS_OF.get((family.estimand, ""), ())
    return METRICS_OF.get((family.estimand, family.group["criterion"]), alone)


@dataclass(frozen=True)
class Score:
    """The mean score of a system with its interval; ``n`` ratings."""

    value: float
    low: float | None
    high: float | None
    n: int


def naturalness_of(every: Sequence[Family]) -> list[Family]:
    """The families about naturalness that the table holds, comparisons first."""
    return [each for name in NATURALNESS for each in every if each.estimand == name]


def baseline_of(family: Family, inputs: PartInput) -> str:
    """What a comparison’s systems are set against: the only other side, else the reference."""
    others = sorted({str(name) for name in family.table["versus_condition"].unique()} - {""})
    if len(others) == 1:
        return others[0]
    names = sorted({*others, *map(str, family.table["condition"].unique())})
    return reference_of(names, roles=roles_of(inputs.ratings)).name


def scores_of(family: Family, inputs: PartInput) -> dict[str, Score]:
    """The mean score of each system; of comparisons that against the baseline, itself at 0."""
    estimates = means(family.table, Breakdown(), inputs)
    if not family.in_pairs:
        return {e.condition: Score(e.value, e.low, e.high, e.n_ratings) for e in estimates}
    baseline = baseline_of(family, inputs)
    results: dict[str, Score] = {}
    for e in estimates:
        versus = e.group.get("versus_condition", "")
        if versus == baseline:
            results[e.condition] = Score(e.value, e.low, e.high, e.n_ratings)
        elif e.condition == baseline:
            turned = estimand_of(family.estimand).mirrored
            low = None if e.high is None else turned(e.high)
            high = None if e.low is None else turned(e.low)
            results[versus] = Score(turned(e.value), low, high, e.n_ratings)
    if results:
        results[baseline] = Score(estimand_of(family.estimand).neutral or 0.0, None, None, 0)
    return results


def score_rows(
    values: Mapping[str, Mapping[str, Score]], names: Iterable[str], references: set[str]
) -> list[dict[str, Any]]:
    """A row for each of these systems, with the cells of its scores by the keys of columns."""
    rows = []
    for name in names:
        row: dict[str, Any] = {"condition": name, UNRANKED: name in references}
        for key, scores in values.items():
            if own := scores.get(name):
                row |= {**interval_cells(key, own), f"{key}_ratings": own.n}
        rows.append(row)
    return rows


def score_columns(
    key: str, heading: str, decimals: int, inputs: PartInput, *, signed: bool = False
) -> list[Column]:
    """The columns of a score and its interval."""
    level = f"{inputs.options.level:.0%} CI"
    return [
        Column(key, heading, "number", decimals, sign=signed),
        Column(key, level, "interval", decimals, sign=signed),
    ]


class Systems:
    """One row for each system: a score of each family, and the means of the metrics."""

    def __init__(self, shown: Sequence[Family], inputs: PartInput) -> None:
        every = [(family, scores_of(family, inputs)) for family in shown]
        self.inputs = inputs
        self.shown = [family for family, scores in every if scores]
        self.scores = dict(enumerate(scores for _, scores in every if scores))
        names = {name for scores in self.scores.values() for name in scores}
        self.names = inputs.ordered("condition", names)
        self.metrics = metric_means(shown, inputs)
        self.metric_keys = metric_keys(self.metrics)

    def heading(self, n: int) -> str:
        """What the column of a family is called: its estimand, with the criterion if several."""
        own = self.shown[n]
        alike = [each for each in self.shown if each.estimand == own.estimand]
        if own.estimand == "p835" and own.group["criterion"] in HEADINGS:
            return HEADINGS[own.group["criterion"]]
        name = "CMOS" if own.estimand in COMPARISONS else name_of(own.estimand)
        return name if len(alike) == 1 else f"{name}, {own.group['criterion'].replace('_', ' ')}"

    def key(self, n: int) -> str:
        """The key of a family’s column, which stands in the CSV."""
        own = self.shown[n]
        alike = [each for each in self.shown if each.estimand == own.estimand]
        return own.estimand if len(alike) == 1 else "_".join((own.estimand, *own.group.values()))

    @property
    def references(self) -> set[str]:
        """The recordings, which are not ranked."""
        roles = roles_of(self.inputs.ratings)
        own = {name for name in self.names if roles.get(name) == "reference"}
        own |= {baseline_of(each, self.inputs) for each in self.shown if each.in_pairs}
        return own

    def rows(self) -> list[dict[str, Any]]:
        """The rows with the marks of the best and second best."""
        values = {self.key(n): scores for n, scores in self.scores.items()}
        rows = [
            row | self.metrics.get(row["condition"], {})
            for row in score_rows(values, self.names, self.references)
        ]
        lowest = [key for key in self.metric_keys if COLUMNS[key].lowest_is_best]
        ranked = [key for key in self.metric_keys if COLUMNS[key].ranked]
        return with_best(rows, [*values, *ranked], decimals=2, lowest=lowest)

    def columns(self) -> list[Column]:
        """The columns: systems, scores with intervals, metrics."""
        columns = [Column("condition", "System")]
        for n, family in enumerate(self.shown):
            signed = estimand_of(family.estimand).signed
            columns += score_columns(self.key(n), self.heading(n), 2, self.inputs, signed=signed)
        return columns + metric_columns(self.metric_keys)

    @property
    def note(self) -> str:
        """What stands below the table."""
        keys = self.metric_keys
        sim = any(COLUMNS[key].heading.startswith("SIM-") for key in keys)
        timing = any(not COLUMNS[key].ranked for key in keys)
        metrics = METRICS_NOTE * bool(keys) + _TIMING_NOTE * timing
        return _NOTE + _SIM_NOTE * sim + metrics + LEGEND

    def table(self, key: str, title: str) -> Table:
        return Table(key, title, self.columns(), self.rows(), self.note)

    def figure(self, x: int, y: int, key: str, title: str) -> Figure:
        """The systems by the scores of two families, with intervals in both directions."""
        across, up = self.scores[x], self.scores[y]
        return plane(
            {name: (across.get(name), up.get(name)) for name in self.names},
            self.references,
            key,
            (title, self.heading(x), self.heading(y)),
            self.shown[y].title,
            ends=self.shown[y].ends,
            level=self.inputs.options.level,
        )

    def leaders(self, estimand: str = "") -> Iterator[str]:
        """A sentence for each family (of one estimand): the highest system, and the reference."""
        for n, family in enumerate(self.shown):
            ranked = {k: score for k, score in self.scores[n].items() if k not in self.references}
            if not ranked or estimand not in ("", family.estimand):
                continue
            best = max(ranked, key=lambda name: ranked[name].value)
            recordings = [
                f"{condition_span(name)}, the reference, has {self.scores[n][name].value:.2f}"
                for name in self.names
                if name in self.references and name in self.scores[n]
            ]
            beside = f"; {recordings[0]}" if len(recordings) == 1 else ""
            bounds = _interval_words(ranked[best], self.inputs.options.level)
            yield (
                f"{condition_span(best)} has the highest {self.heading(n)} of {len(ranked)} "
                f"systems: {ranked[best].value:.2f}{bounds}{beside}."
            )


def _interval_words(score: Score, level: float) -> str:
    if score.low is None or score.high is None:
        return ""
    return f" ({level:.0%} CI {score.low:.2f}–{score.high:.2f})"


def metric_keys(metrics: Mapping[str, Mapping[str, float]]) -> list[str]:
    """The metrics of which any system has a value, in the order of `COLUMNS`."""
    return [key for key in COLUMNS if any(key in own for own in metrics.values())]


def metric_columns(keys: Iterable[str]) -> list[Column]:
    """The columns of metrics by their keys."""
    known = [(key, COLUMNS[key]) for key in keys]
    return [Column(key, each.heading, "number", each.decimals) for key, each in known]


def plane(
    scores: Mapping[str, tuple[Score | None, Score | None]],
    references: Iterable[str],
    key: str,
    words: tuple[str, str, str],
    about: str,
    ends: tuple[float, float] | None = None,
    level: float = 0.95,
) -> Figure:
    """Systems by two scores, with intervals in both directions; ``words``: title and axes."""
    title, x_words, y_words = words
    marked = set(references)
    rows: list[dict[str, Any]] = [
        {
            "name": name,
            "group": "recording" if name in marked else "system",
            **interval_cells("x", x),
            "y": y.value,
            **pick_cells(y, "low", "high"),
        }
        for name, (x, y) in scores.items()
        if x is not None and y is not None
    ]
    rows.sort(key=lambda row: row["group"], reverse=True)
    return Figure(
        key=key,
        title=title,
        drawing="scatter",
        rows=rows,
        x=x_words,
        y=y_words,
        ends=ends,
        note=f"Bars: {level:.0%} CIs of both scores, two-way clustered over raters and items.",
        about=about,
    )


def metric_means(shown: Sequence[Family], inputs: PartInput) -> dict[str, dict[str, float]]:
    """Means over the rated clips of each system, by the metric’s key; error rates in per cent."""
    import pandas as pd

    if inputs.scores is None:
        return {}
    sides = [("condition", "stimulus"), ("versus_condition", "versus_stimulus")]
    clips = pd.concat(
        [
            family.table[list(side)].set_axis(["condition", "stimulus"], axis=1)
            for family in shown
            for side in (sides if family.in_pairs else sides[:1])
        ]
    ).drop_duplicates()
    results: dict[str, dict[str, float]] = {}
    wanted = {key for family in shown for key in metrics_beside(family)}
    for metric in metrics_of(inputs.scores):
        key = metric.metric.partition("[")[0]
        if key not in wanted:
            continue
        values = means_of_clips(inputs)[metric.metric, metric.version]
        joined = clips.join(values, on="stimulus").dropna(subset=["value"])
        for name, mean in joined.groupby("condition")["value"].mean().items():
            value = COLUMNS[key].factor * float(mean)
            results.setdefault(str(name), {}).setdefault(key, value)
    return results


def breakdown(
    shown: Sequence[Family], inputs: PartInput, group_of: Any, key: str, words: str
) -> list[Table]:
    """The table once for each group of items, under its heading."""
    groups = sorted({str(g) for each in shown for g in group_of(each.table).unique()} - {""})
    rows: list[dict[str, Any]] = []
    columns: list[Column] = []
    note = ""
    for group in groups:
        inside = replace(inputs, ratings=inputs.ratings[group_of(inputs.ratings) == group])
        members = list(families(inside.ratings))
        ordered = [
            each
            for own in shown
            for each in members
            if (each.estimand, each.group) == (own.estimand, own.group)
        ]
        if len(ordered) < len(shown):
            continue
        systems = Systems(ordered, inside)
        rows += [{key: group, **row} for row in systems.rows()]
        if len(systems.columns()) > len(columns):
            columns, note = systems.columns(), systems.note
    if not rows:
        return []
    note = f"Marks hold within a group. {note}"
    return [Table(f"by_{key}", f"Systems by {words}", columns, rows, note, group=key)]
