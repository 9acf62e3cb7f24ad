"""Cloned voices as papers on zero-shot TTS print them: CMOS, SMOS and metrics, by system."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from analysis.formatting import interval_text
from analysis.name_spans import condition_span
from analysis.ratings.breakdowns import Family, families
from analysis.ratings.estimands import estimand_of, name_of
from analysis.ratings.grouping import Breakdown
from analysis.ratings.metric_scores import metrics_of
from analysis.ratings.reference import reference_of, roles_of
from analysis.report.content import Column, Content, Figure, Table, column, table_row
from analysis.report.emphasis import LEGEND, UNRANKED, with_best
from analysis.report.part import Part, PartInput
from analysis.report.parts.against_people.metric_data import family_scores
from analysis.report.parts.against_people.metric_tables import ceilings_of, top_of
from analysis.report.parts.att import means
from analysis.statistics.metric_agreement import CONDITION, STIMULUS
from analysis.statistics.metric_agreement.metric_correlations import AS_IS

if TYPE_CHECKING:
    import pandas as pd

SMOS = "smos"
COMPARISONS = ("cmos", "ccr")  # naturalness against the recordings, the first that there is
NATURALNESS = (*COMPARISONS, "mos")
TIMBRE = "timbre_similarity"
SIMILARITY = {  # metrics by their keys (or the names of imported scores), and their headings
    "speaker_similarity": "SIM-o",
    "sim_o": "SIM-o",
    "sim_r": "SIM-r",
    TIMBRE: "Timbre similarity",
}
ERRORS = {"wer": "WER %", "cer": "CER %"}
QUALITY = {"utmos": "UTMOS"}
SEEN = "split"  # the column that says whether the systems knew the speaker
_NOTE = "Each interval is for its own mean, two-way clustered over raters and items. "
_SIM_NOTE = (
    "SIM-o: cosine of the speaker embeddings of the clip and of the prompt’s recording, SIM-r: of "
    "the prompt’s resynthesis. "
)
_METRICS_NOTE = "Metrics: means over the clips that raters judged; error rates in per cent. "
TOO_FEW = 5  # clips or systems for a sentence about a correlation
_METHOD = (
    "Systems were compared with recordings of the target speaker (CMOS), and their clips with the "
    "prompt, which raters heard first (SMOS, 1 to 5)."
)
_ALIGNED_NOTE = (
    "Coefficients, intervals and ceilings are those of the part on metrics and human scores. "
    "Ceiling: the most that a perfect metric could reach with the noise of these ratings."
)


@dataclass(frozen=True)
class Score:
    """The mean score of a system with its interval; ``n`` ratings."""

    value: float
    low: float | None
    high: float | None
    n: int


@table_row
class AlignedRow:
    """How a metric of speaker similarity goes with raters."""

    metric: str = column("Metric")
    unit: str = column("Over")
    n: int = column("Count", "count")
    srcc: float | None = column("SRCC", "number", 2)
    srcc_low: float | None = column("{level}", "interval", 2, key="srcc")
    srcc_high: float | None
    srcc_ceiling: float | None = column("Ceiling", "number", 2)
    plcc: float | None = column("PLCC", "number", 2)
    plcc_low: float | None = column("{level}", "interval", 2, key="plcc")
    plcc_high: float | None
    plcc_ceiling: float | None = column("Ceiling", "number", 2)


class VoiceCloning(Part):
    """The table of zero-shot TTS, by prompt speaker and by seen and unseen speakers."""

    key = "voice_cloning"
    version = "1"
    title = "Cloned voices"
    order = 32

    def applies(self, inputs: PartInput) -> bool:
        return bool((inputs.ratings["estimand"] == SMOS).any())

    def make(self, inputs: PartInput) -> Content:
        """Sentences, the table, its breakdowns, the figure, and what SIM has to do with SMOS."""
        every = list(families(inputs.ratings))
        judged = [each for each in every if each.estimand == SMOS]
        shown = [*naturalness_of(every), *judged]
        if not judged:
            raise ValueError("No rating of the method smos is left after the exclusions.")
        whole = Systems(shown, inputs)
        shown = whole.shown
        tables = [whole.table("systems", "Systems: naturalness and similarity of the speaker")]
        speaker_of = dict(inputs.facts.get("speakers", {})) if inputs.facts else {}
        if len({speaker_of.get(str(item), "") for item in inputs.ratings["item"].unique()}) > 1:
            by_speaker = partial(_speakers, speaker_of)
            tables += breakdown(shown, inputs, by_speaker, "speaker", "prompt speaker")
        if inputs.ratings.loc[inputs.ratings["estimand"] == SMOS, SEEN].nunique() > 1:
            tables += breakdown(shown, inputs, lambda t: t[SEEN], SEEN, "seen and unseen speakers")
        aligned = [row for family in judged for row in aligned_rows(family, inputs)]
        enough = [row for row in aligned if row.n >= TOO_FEW]
        if aligned:
            level = inputs.options.level
            title = "Speaker similarity metrics and SMOS"
            tables.append(
                Table.from_rows(
                    AlignedRow, "aligned", title, aligned, level=level, note=_ALIGNED_NOTE
                )
            )
        return Content(
            sentences=[*_sentences(whole, inputs), *map(_aligned_sentence, enough)],
            figures=list(whole.figures()),
            tables=tables,
            methods=[_METHOD],
        )


def _speakers(speaker_of: Mapping[str, str], table: pd.DataFrame) -> pd.Series:
    """Whom the prompt of each rating (n,) is by; empty where nobody says."""
    return table["item"].map(speaker_of).fillna("")


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
    found: dict[str, Score] = {}
    for e in estimates:
        versus = e.group.get("versus_condition", "")
        if versus == baseline:
            found[e.condition] = Score(e.value, e.low, e.high, e.n_ratings)
        elif e.condition == baseline:
            turned = estimand_of(family.estimand).mirrored
            low = None if e.high is None else turned(e.high)
            high = None if e.low is None else turned(e.low)
            found[versus] = Score(turned(e.value), low, high, e.n_ratings)
    if found:
        found[baseline] = Score(estimand_of(family.estimand).neutral or 0.0, None, None, 0)
    return found


def score_cells(key: str, score: Score) -> dict[str, Any]:
    """A score as cells of a row: value, interval and number of ratings."""
    bounds = {f"{key}_low": score.low, f"{key}_high": score.high}
    return {key: score.value, **bounds, f"{key}_ratings": score.n}


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

    def heading(self, n: int) -> str:
        """What the column of a family is called: its estimand, with the criterion if several."""
        own = self.shown[n]
        alike = [each for each in self.shown if each.estimand == own.estimand]
        name = "CMOS" if own.estimand in COMPARISONS else name_of(own.estimand)
        return name if len(alike) == 1 else f"{name}, {own.group['criterion']}"

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
        rows = []
        for name in self.names:
            row: dict[str, Any] = {"condition": name, UNRANKED: name in self.references}
            for n, scores in self.scores.items():
                if own := scores.get(name):
                    row |= score_cells(self.key(n), own)
            rows.append(row | self.metrics.get(name, {}))
        keys = [self.key(n) for n in self.scores]
        lowest = [key for key in self.metric_keys() if key in ERRORS]
        return with_best(rows, [*keys, *self.metric_keys()], decimals=2, lowest=lowest)

    def metric_keys(self) -> list[str]:
        """The metrics of which any system has a value, in the table’s order."""
        there = {key for row in self.metrics.values() for key in row}
        return [key for key in (*SIMILARITY, *ERRORS, *QUALITY) if key in there]

    def columns(self) -> list[Column]:
        """The columns: systems, scores with intervals, metrics."""
        level = f"{self.inputs.options.level:.0%} CI"
        columns = [Column("condition", "System")]
        for n, family in enumerate(self.shown):
            signed = estimand_of(family.estimand).signed
            columns.append(Column(self.key(n), self.heading(n), "number", 2, sign=signed))
            columns.append(Column(self.key(n), level, "interval", 2, sign=signed))
        headings = SIMILARITY | ERRORS | QUALITY
        decimals = {**dict.fromkeys(SIMILARITY, 3), **dict.fromkeys((*ERRORS, *QUALITY), 2)}
        return columns + [
            Column(key, headings[key], "number", decimals[key]) for key in self.metric_keys()
        ]

    @property
    def note(self) -> str:
        """What stands below the table."""
        keys = self.metric_keys()
        sim = any(key in SIMILARITY and key != TIMBRE for key in keys)
        return _NOTE + _SIM_NOTE * sim + _METRICS_NOTE * bool(keys) + LEGEND

    def table(self, key: str, title: str) -> Table:
        """The table."""
        return Table(key, title, self.columns(), self.rows(), self.note)

    def figures(self) -> Iterator[Figure]:
        """Naturalness against similarity, with intervals in both directions."""
        similar = next(n for n, each in enumerate(self.shown) if each.estimand == SMOS)
        if similar == 0:
            return
        other = self.shown[similar]
        yield plane(
            {
                name: (self.scores[0].get(name), self.scores[similar].get(name))
                for name in self.names
            },
            self.references,
            "naturalness_similarity",
            ("Naturalness and similarity of the speaker", self.heading(0), self.heading(similar)),
            other.title,
            ends=other.ends,
            level=self.inputs.options.level,
        )


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
            "x": x.value,
            "x_low": x.low,
            "x_high": x.high,
            "y": y.value,
            "low": y.low,
            "high": y.high,
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
    found: dict[str, dict[str, float]] = {}
    known = SIMILARITY | ERRORS | QUALITY
    for metric in metrics_of(inputs.scores):
        key = metric.metric.partition("[")[0]
        if key not in known:
            continue
        mine = (inputs.scores["metric"] == metric.metric) & (
            inputs.scores["version"] == metric.version
        )
        values = inputs.scores[mine].groupby("stimulus")["value"].mean().rename("value")
        joined = clips.join(values, on="stimulus").dropna(subset=["value"])
        for name, mean in joined.groupby("condition")["value"].mean().items():
            scale = 100.0 if key in ERRORS else 1.0
            found.setdefault(str(name), {}).setdefault(key, scale * float(mean))
    return found


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
        members = [
            each
            for each in families(inside.ratings)
            if any((each.estimand, each.group) == (own.estimand, own.group) for own in shown)
        ]
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


def aligned_rows(family: Family, inputs: PartInput) -> Iterator[AlignedRow]:
    """Metrics of speaker similarity against SMOS, each beside its noise ceiling."""
    if not any(each.metric.partition("[")[0] in SIMILARITY for each in metrics_of(inputs.scores)):
        return
    scores = family_scores(family, inputs)
    ceilings = ceilings_of(scores, inputs)
    for metric in scores.metrics:
        if metric.metric.partition("[")[0] not in SIMILARITY:
            continue
        top = ceilings.for_metric(metric.name)
        for unit in (STIMULUS, CONDITION):
            numbers = {
                name: scores.number(metric.name, unit, name, AS_IS) for name in ("srcc", "plcc")
            }
            srcc, plcc = numbers["srcc"], numbers["plcc"]
            if srcc is None or plcc is None:
                continue
            yield AlignedRow(
                metric=metric.title,
                unit={STIMULUS: "clips", CONDITION: "systems"}[unit],
                n=srcc.n,
                srcc=srcc.value,
                srcc_low=srcc.low,
                srcc_high=srcc.high,
                srcc_ceiling=top_of(top, unit, "srcc")["ceiling"],
                plcc=plcc.value,
                plcc_low=plcc.low,
                plcc_high=plcc.high,
                plcc_ceiling=top_of(top, unit, "plcc")["ceiling"],
            )


def _aligned_sentence(row: AlignedRow) -> str:
    if row.srcc is None:
        return f"{row.metric} has no defined correlation with SMOS over {row.n} {row.unit}."
    low, high = row.srcc_low, row.srcc_high
    bounds = "" if low is None or high is None else f" {interval_text(low, high, None, 2)}"
    reach = (
        ""
        if row.srcc_ceiling is None
        else f"; a perfect metric could reach about {row.srcc_ceiling:.2f} with this rating noise"
    )
    words = f"{row.metric} and SMOS over {row.n} {row.unit}: SRCC {row.srcc:.2f}{bounds}{reach}."
    return words.replace(" -", " −")


def _sentences(whole: Systems, inputs: PartInput) -> Iterator[str]:
    for n, family in enumerate(whole.shown):
        if family.estimand != SMOS:
            continue
        ranked = {
            name: score for name, score in whole.scores[n].items() if name not in whole.references
        }
        if not ranked:
            continue
        best = max(ranked, key=lambda name: ranked[name].value)
        bounds = _interval_words(ranked[best], inputs)
        recordings = [
            f"{condition_span(name)}, the reference, has {whole.scores[n][name].value:.2f}"
            for name in whole.names
            if name in whole.references and name in whole.scores[n]
        ]
        beside = f"; {recordings[0]}" if len(recordings) == 1 else ""
        yield (
            f"{condition_span(best)} has the highest {whole.heading(n)} of {len(ranked)} systems: "
            f"{ranked[best].value:.2f}{bounds}{beside}."
        )


def _interval_words(score: Score, inputs: PartInput) -> str:
    if score.low is None or score.high is None:
        return ""
    return f" ({inputs.options.level:.0%} CI {score.low:.2f}–{score.high:.2f})"
