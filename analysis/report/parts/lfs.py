"""The tables and figures of LFS-Bench, in the order of the paper."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from analysis.formatting import counted, enumerated, first_of, interval_text
from analysis.name_spans import family_prefix, family_span
from analysis.ratings.cells import FACTS
from analysis.ratings.estimands import estimand_of
from analysis.ratings.metric_scores import metrics_of
from analysis.report.content import (
    Column,
    Content,
    Figure,
    Table,
    column,
    interval_cells,
    table_row,
    together,
)
from analysis.report.emphasis import LEGEND, UNRANKED, with_best
from analysis.report.part import FamilyInput, FamilyPart, PartInput
from analysis.report.parts.against_people.metric_data import FamilyScores, family_scores
from analysis.report.parts.against_people.metric_tables import (
    FEW,
    ceilings_of,
    order_metrics,
    preferences,
    top_of,
)
from analysis.statistics.agreement.rating_units import coarse_steps, step_names, steps_of
from analysis.statistics.agreement.versus_rest import versus_rest
from analysis.statistics.correlations import williams
from analysis.statistics.metric_agreement.metric_correlations import AS_IS
from analysis.statistics.metric_agreement.metric_units import STIMULUS

if TYPE_CHECKING:
    import pandas as pd


PAPER = "LFS-Bench"
UP, DOWN = "↑", "↓"
ACOUSTICS, SEMANTICS, EXPRESSIVENESS = "Acoustics", "Semantics", "Expressiveness"


@dataclass(frozen=True)
class Measure:
    """A column: the scores it takes, best first; decimals of mean and sd; the way of the radar.

    ``shift`` is added in the radar; None: mapped from its least and greatest mean to 1 to 5.
    ``aspect`` is the criterion on which the paper held it against raters; empty: on none.
    """

    key: str
    name: str
    scores: tuple[str, ...]  # labels, or outputs with whatever parameters
    decimals: int = 2
    sd_decimals: int = 2
    lowest: bool = False
    shift: float | None = 0.0
    aspect: str = ""
    alignment: str = ""  # the tables of the paper with judges and raters on this aspect

    @property
    def outputs(self) -> frozenset[str]:
        """The keys of the outputs that it takes, without settings."""
        return frozenset(settings_of(each)[0] for each in self.scores)

    @property
    def heading(self) -> str:
        """Its name and which way is better."""
        return f"{self.name} {DOWN if self.lowest else UP}"


def _judged(key: str, aspect: str, figure: int, alignment: str = "") -> Measure:
    """A judge's scores of an aspect, first those by the rubric in that figure of the paper."""
    scores = (f"judge_{aspect}[rubric={aspect}.lfs_figure_{figure}]", f"judge_{aspect}")
    return Measure(key, key.capitalize(), scores, aspect=aspect, alignment=alignment)


CER = Measure("cer", "CER", ("cer[normalisation=lfs_bench]", "cer"), 3, 0, lowest=True, shift=None)
WER = Measure("wer", "WER", ("wer[normalisation=lfs_bench]", "wer"), 3, 0, lowest=True, shift=None)
CONTENT = Measure("content", "Content", (), 3, 0, lowest=True, shift=None)
MEASURES = (
    Measure(
        "timbre",
        "Timbre",
        ("timbre_consistency[embedding=wavlm]", "timbre_consistency"),
        sd_decimals=3,
        shift=None,
        aspect="timbre_stability",
    ),
    Measure("reverb", "Reverb", ("reverb_consistency",), lowest=True, shift=None),
    Measure(
        "fidelity",
        "Fidelity",
        ("squim_pesq[chunk_s=0.0]", "squim_pesq"),
        shift=0.5,
        aspect="sound_fidelity",
    ),
    CER,
    WER,
    CONTENT,
    _judged("prosody", "prosodic_coherence", 12),
    _judged("richness", "expressive_richness", 14, "Tables 4 and 6"),
    _judged("hierarchy", "expressive_hierarchy", 13, "Tables 5 and 6"),
)
SIMILARITY = Measure(
    "similarity",
    "Timbre similarity",
    ("timbre_similarity[embedding=wavlm]", "timbre_similarity"),
    sd_decimals=3,
    shift=None,
)
RTF = Measure("rtf", "RTF", ("real_time_factor", "rtf"), 3, 3, lowest=True, shift=None)
WITH_SD = tuple(each for each in MEASURES if each is not CONTENT)  # Tables 2, 3 and 13
ONE_CONTENT = tuple(each for each in MEASURES if each not in (CER, WER))  # 14, 15, radars
BY_LENGTH = (*ONE_CONTENT, SIMILARITY, RTF)
ALL = (*MEASURES, SIMILARITY, RTF)

# The paper's 17 scenarios by the challenge that they are there for; a column `challenge` goes first
SCENARIOS = {
    ACOUSTICS: "customer service, podcast, chat, debate, audiobook, interview",
    SEMANTICS: "lesson, popular science, presentation, seminar, news",
    EXPRESSIVENESS: "drama, talk show, hosting, speech, live streaming, sportscast",
}
_CHALLENGE = {
    scenario: challenge for challenge, names in SCENARIOS.items() for scenario in names.split(", ")
}


def challenge_of(scenario: str) -> str:
    """The challenge that the paper puts a scenario under; empty for others."""
    return _CHALLENGE.get(scenario.casefold().replace("_", " ").replace("-", " "), "")


def chosen_label(measure: Measure, labels: Iterable[str]) -> str:
    """Which of the scores that there are the measure takes; empty where there is none.

    A label fits if it has the settings that the measure asks for, whatever else it names, such as
    the model of a judge.
    """
    known = sorted(labels)
    for wanted in measure.scores:
        output, wanted_settings = settings_of(wanted)
        for label in known:
            name, settings = settings_of(label)
            if name == output and settings >= wanted_settings:
                return label
    return ""


def rubric_of(label: str) -> str:
    """The rubric of a judge's scores: what their label says, else the judge's usual one."""
    name, settings = settings_of(label)
    setting = next((each for each in settings if each.startswith("rubric=")), "")
    return setting.removeprefix("rubric=") or f"{name.removeprefix('judge_')}.v1"


def measure_of(criterion: str) -> Measure | None:
    """The measure that the paper held against raters on this criterion; None for others."""
    return next((each for each in MEASURES if each.aspect and each.aspect == criterion), None)


def settings_of(label: str) -> tuple[str, frozenset[str]]:
    """An output's key, and the settings in its label: name=value each."""
    name, _, rest = label.partition("[")
    return name, frozenset(filter(None, rest.removesuffix("]").split(",")))


BESIDE = ("reference", "anchor")  # roles of what stands below the systems and has no place
# Roles of what is no clip of a system (`listening.models.material.ClipFacts`)
LINE, TRAP = "line", "trap"


class Cell(NamedTuple):
    """One measure of some clips; None where there is none."""

    mean: float | None = None
    sd: float | None = None  # n - 1
    n: int = 0


Cells = dict[tuple[str, ...], dict[str, Cell]]  # by what they are split by; then by the measure


def cells_of(frame: pd.DataFrame, *by: str) -> Cells:
    """All measures of the clips, split by these columns."""
    groups = frame.groupby(list(by), observed=True)[[each.key for each in ALL]]
    cells: Cells = {}
    means, sds = groups.mean().to_dict("index"), groups.std(ddof=1).to_dict("index")
    for key, counts in groups.count().to_dict("index").items():
        cells[key if isinstance(key, tuple) else (str(key),)] = {
            str(name): Cell(_finite(means[key][name]), _finite(sds[key][name]), int(n))
            for name, n in counts.items()
        }
    return cells


def _finite(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


@dataclass(frozen=True)
class Clips:
    """The clips (a row each, with `FACTS` and the measures), and the order of names."""

    frame: pd.DataFrame
    inputs: PartInput
    scores: pd.DataFrame  # a row per clip, a column per label of scores
    taken: str  # in words: which scores the columns are of
    left: str  # in words: what is not counted; may be empty

    def conditions(self, frame: pd.DataFrame) -> list[str]:
        """The systems of these clips: under their groups in the study's order, references last."""
        named = self.inputs.ordered("condition", frame["condition"].unique())
        group, others = self.groups(), self.reference_names()
        order = list(dict.fromkeys(group[name] for name in named))
        return sorted(named, key=lambda name: (name in others, order.index(group[name])))

    def heads(self, column: str, frame: pd.DataFrame) -> list[str]:
        """The challenges (in the paper's order) or the scenarios (in the study's) of clips."""
        named = self.inputs.ordered(column, set(frame[column]) - {""})
        first = list(SCENARIOS)
        return sorted(named, key=lambda name: first.index(name) if name in first else len(first))

    def values_of(self, output: str) -> pd.Series[float]:
        """The scores of an output with whatever settings, by clip; NaN where there are none."""
        labels = map(str, self.scores)
        label = next((each for each in labels if settings_of(each)[0] == output), "")
        own = self.scores[label] if label else self.frame["condition"].map(lambda _: math.nan)
        return own.reindex(self.frame.index).astype(float)

    def groups(self) -> dict[str, str]:
        return dict(zip(self.frame["condition"], self.frame["group"], strict=True))

    def reference_names(self) -> set[str]:
        """The conditions that are no systems: references and anchors."""
        return set(self.frame["condition"][self.frame["role"].isin(BESIDE)])

    def panels(self, frame: pd.DataFrame) -> list[tuple[str, list[str]]]:
        """The conditions group by group, references with each: what one drawing holds."""
        named, group, others = self.conditions(frame), self.groups(), self.reference_names()
        inside = [name for name in named if name not in others]
        outside = [name for name in named if name in others]
        heads = list(dict.fromkeys(group[name] for name in inside))
        return [(head, [n for n in inside if group[n] == head] + outside) for head in heads]


def clips_of(inputs: PartInput) -> Clips | None:
    """The clips that have scores; None where no score is one of the paper's measures."""
    scores = inputs.scores
    if scores is None or not len(scores):
        return None
    labels = scores["metric"].unique()
    taken = {each.key: chosen_label(each, labels) for each in ALL}
    if not any(taken.values()):
        return None
    frame = _with_facts(scores, inputs)
    stated_rtf = frame[RTF.key].map(_number_above_0).astype(float)
    wide = scores.sort_values("version").pivot_table(
        index="stimulus", columns="metric", values="value", aggfunc="last", observed=True
    )
    for key, label in taken.items():
        frame[key] = wide[label].reindex(frame.index) if label in wide else float("nan")
    frame[RTF.key] = frame[RTF.key].fillna(stated_rtf)
    _split_content(frame)
    whole = len(frame)
    frame = frame[~frame["role"].isin((LINE, TRAP))]
    unknown = frame["condition"] == ""
    left = _left_out(whole - len(frame), int(unknown.sum()))
    frame = frame[~unknown]
    if not len(frame):
        return None
    return Clips(frame, inputs, wide, _scores_sentence(taken, labels), left)


def _number_above_0(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return math.nan
    return value if 0 < value < math.inf else math.nan


def _with_facts(scores: pd.DataFrame, inputs: PartInput) -> pd.DataFrame:
    """A row per clip with `FACTS` as text: from the scores, else from the ratings."""
    once = scores.drop_duplicates("stimulus").set_index("stimulus")
    frame = once.reindex(columns=list(FACTS)).astype(object)
    frame = frame.where(frame.notna(), "").astype(str)
    table = inputs.table[inputs.table["stimulus"] != ""]
    rated = table.drop_duplicates("stimulus").set_index("stimulus")
    for name in ("condition", "role", "language", "dimension"):
        if name not in once and name in rated:
            known = rated[name].astype(str).to_dict()
            frame[name] = [known.get(stimulus, "") for stimulus in frame.index]
    if "role" not in once:
        traps = set(rated.index[rated[TRAP].astype(str) != ""])
        frame.loc[[stimulus in traps for stimulus in frame.index], "role"] = TRAP
    without = frame["challenge"] == ""
    frame.loc[without, "challenge"] = frame.loc[without, "dimension"].map(challenge_of)
    return frame


def _split_content(frame: pd.DataFrame) -> None:
    """CER counts for Chinese clips, WER for the others; content is whichever counts."""
    chinese = frame["language"].str.startswith("zh")
    frame[CONTENT.key] = frame[WER.key].where(~chinese, frame[CER.key])
    frame[CER.key] = frame[CER.key].where(chinese)
    frame[WER.key] = frame[WER.key].where(~chinese)


def _scores_sentence(taken: dict[str, str], labels: Iterable[str]) -> str:
    names = {each.key: each.name for each in ALL}
    scores = [f"{names[key]}: {label}" for key, label in taken.items() if label]
    absent = [each.name for each in MEASURES if each is not CONTENT and not taken[each.key]]
    text = f"Scores: {'; '.join(scores)}."
    outputs = {label.partition("[")[0] for label in taken.values() if label}
    others = [each for each in sorted(labels) if each.partition("[")[0] in outputs]
    others = [each for each in others if each not in taken.values()]
    if others:
        text += f" Not taken: {enumerated(others)}."
    if absent:
        text += f" Without scores: {enumerated(absent)}."
    return text


def _left_out(not_systems: int, unknown: int) -> str:
    counts: Sequence[str] = [
        f"{counted(not_systems, 'clip')} that are traps, or lines of joined clips"
        * (not_systems > 0),
        f"{counted(unknown, 'clip')} of which no condition is known" * (unknown > 0),
    ]
    phrases = [each for each in counts if each]
    return f"Not counted: {enumerated(phrases)}." if phrases else ""


SPEAKER_COUNT = "speaker_count"
MOST_RATERS = 30  # in the table; a crowd's other raters are in the part on raters
JUDGE = "judge_"  # how the keys of audio language models that judge begin
COEFFICIENTS = ("plcc", "srcc", "krcc", "qwk", "mae")
TOPPED = ("plcc", "srcc")  # of which halves of the raters say what could be reached
Row = dict[str, Any]  # who, kind, n, and of each measure that is known the value and its interval
_COLUMNS = [
    Column("who", "Score or rater"),
    Column("kind", "Kind"),
    Column("plcc", "PLCC", "number"),
    Column("plcc", "PLCC, interval", "interval"),
    Column("ceiling_plcc", "Ceiling of PLCC", "number"),
    Column("srcc", "SRCC", "number"),
    Column("srcc", "SRCC, interval", "interval"),
    Column("ceiling_srcc", "Ceiling of SRCC", "number"),
    Column("krcc", "KRCC", "number"),
    Column("qwk", "QWK", "number"),
    Column("mae", "MAE", "number"),
    Column("n", "Clips", "count"),
]
_HOW = (
    "Scores: against the mean human score of each clip. Raters: each against the mean of the other "
    "raters of the same clips, which is human agreement itself. Ceiling: what a perfect score "
    "could reach over the same clips, by halves of the raters; of KRCC and QWK there is none. "
    "PLCC, SRCC, KRCC: Pearson, Spearman, Kendall's tau-b. QWK: quadratic weighted kappa, both "
    "sides rounded half up to the steps of the scale ({}). MAE: mean absolute error, not rounded. "
    "Both are for scores on the raters' scale alone. Intervals of scores: bootstrap over raters "
    "and items; of raters: Fisher's."
)


@table_row
class WilliamsRow:
    """The best score against another one."""

    score: str = column("Score")
    versus: str = column("Against")
    difference: float = column("Difference of PLCC", "number", sign=True)
    t: float = column("t", "number", 2)
    df: float
    p: float = column("p", "p")
    n: int = column("Clips", "count")


def against_people(each: FamilyInput, suffix: str) -> Content:
    """Scores and raters in one table, and whether the best score is better."""
    title, inputs = each.title, each.inputs
    units = family_scores(each.family, inputs) if metrics_of(inputs.scores) else None
    scores = (
        [_score(units, name, inputs) for name in order_metrics(units)] if units is not None else []
    )
    raters, left = _raters(each)
    rows = [*scores, *_mean_rater(raters), *raters]
    note = _HOW.format(", ".join(step_names(_steps(each))))
    note += f" The {MOST_RATERS} raters with most ratings; {left} more are left out." * (left > 0)
    heading = f"Automatic scores and raters against people{family_span(title, ' · {}')}"
    measure = measure_of(each.family.group["criterion"])
    if measure is not None and measure.alignment:
        heading = f"{measure.alignment} of {PAPER}: {heading}"
    tables = [Table(f"alignment{suffix}", heading, _COLUMNS, rows, note, title)]
    if units is None or not scores:
        return Content(tables=tables)
    return Content(
        [_sentence(scores, title, units)],
        [_figure(scores, raters, title, suffix, units)],
        [*tables, *_tests(units, [row["who"] for row in scores], title, suffix)],
        two_instruments(each, own_scores(units) or ()),
    )


def _score(units: FamilyScores, name: str, inputs: PartInput) -> Row:
    row: Row = {"who": name, "kind": "judge" if name.startswith(JUDGE) else "metric"}
    for measure in COEFFICIENTS:
        result = units.number(name, STIMULUS, measure, AS_IS)
        if result is not None:
            row |= interval_cells(measure, result)
            row["n"] = result.n
            if measure in TOPPED:
                top = top_of(ceilings_of(units, inputs).for_metric(name), STIMULUS, measure)
                row |= {f"{key}_{measure}": value for key, value in top.items()}
    return row


def _raters(each: FamilyInput) -> tuple[list[Row], int]:
    """Table 6: each rater against the mean of the others, the busiest; how many are left out."""
    table = each.family.table
    counts = table["rater"].value_counts()
    busiest = sorted(counts.index, key=lambda name: (-counts[name], name))[:MOST_RATERS]
    shown = sorted(busiest, key=lambda name: (len(name), name))  # A2 before A10
    rows: dict[str, Row] = {name: {"who": name, "kind": "rater"} for name in shown}
    results = versus_rest(
        table["stimulus"].tolist(),
        table["rater"].tolist(),
        table["score"].to_numpy(dtype=np.float64),
        categories=_steps(each),
        level=each.level,
        replicates=0,
        seed=each.inputs.options.seed,
    )
    for result in results:
        if result.rater in rows:
            rows[result.rater]["n"] = result.n_units
            rows[result.rater] |= interval_cells(result.measure, result)
    return list(rows.values()), len(counts) - len(shown)


def _steps(each: FamilyInput) -> Sequence[float]:
    """The steps of the scale as raters used it: half steps where it has them."""
    score = each.family.table["score"].to_numpy(dtype=np.float64)
    return steps_of(score, each.family.estimand) or coarse_steps(score, each.family.estimand)


def _mean_rater(raters: Sequence[Row]) -> list[Row]:
    """The mean over the raters that are shown, which a score is best compared with."""
    if len(raters) < 2:
        return []
    row: Row = {"who": "One rater, on the mean", "kind": "raters"}
    for measure in COEFFICIENTS:
        known = [rater[measure] for rater in raters if rater.get(measure) is not None]
        row[measure] = float(np.mean(known)) if known else None
    return [row]


def two_instruments(each: FamilyInput, scores: Sequence[str]) -> list[str]:
    """That raters did not read what the judges of their aspect read, where the study says so."""
    judged_by = [rubric_of(name) for name in scores if name.startswith(JUDGE)]
    return each.inputs.two_instruments(each.family.group["task"], each.title, judged_by)


def own_scores(units: FamilyScores) -> list[str] | None:
    """The scores that the paper holds against raters on this criterion, best first.

    Empty where there are none; None for criteria that are not the paper's: all are compared then.
    """
    measure = measure_of(units.family.group["criterion"])
    if measure is None:
        return None
    return [name for name in order_metrics(units) if settings_of(name)[0] in measure.outputs]


def _sentence(scores: Sequence[Row], title: str, units: FamilyScores) -> str:
    """How closely the aspect's own score follows raters, or of several the one that does most."""
    own = own_scores(units)
    own_scored = [row for row in scores if own is None or row["who"] in own]
    if not own_scored:
        measure = measure_of(units.family.group["criterion"])
        name = measure.name.lower() if measure else "it"
        return (
            f"{family_prefix(title)}no clip that was rated here has a score of {name}, the "
            "paper's measure."
        )
    best = own_scored[0]
    called, n = units.called(best["who"]), best.get("n", 0)
    if best.get("srcc") is None:
        return f"{family_prefix(title)}{called} has no defined rank correlation with human ratings."
    if n < FEW:
        return (
            f"{family_prefix(title)}{counted(n, 'clip')} with a score are too few to say how "
            f"closely {called} correlates with human ratings ({FEW} or more are needed)."
        )
    ends = "no interval"
    if best["srcc_low"] is not None:
        ends = interval_text(best["srcc_low"], best["srcc_high"], None, 3)
    srcc = f"SRCC {best['srcc']:.3f} {ends} over {n} clips".replace("-", "−")
    most = max(row.get("n", 0) for row in own_scored)
    few = f", of {most} that have others: not the same clips" * (n < most)
    if len(own_scored) == 1:
        return f"{family_prefix(title)}{called} correlates with human ratings: {srcc}."
    what = "automatic scores" if own is None else "scores of this aspect"
    return (
        f"{family_prefix(title)}of {len(own_scored)} {what}, {called} correlates most closely "
        f"with human ratings ({srcc}{few}). The "
        "best of several is flattered by being chosen from the same ratings."
    )


def _figure(
    scores: Sequence[Row], raters: Sequence[Row], title: str, suffix: str, units: FamilyScores
) -> Figure:
    rows = [
        {"name": units.called(row["who"]), "value": row["srcc"], "group": group}
        | {"low": row["srcc_low"], "high": row["srcc_high"]}
        for group, group_rows in (
            ("Automatic scores", scores),
            ("Raters against the others", raters),
        )
        for row in group_rows
        if row.get("srcc") is not None
    ]
    return Figure(
        f"alignment{suffix}",
        f"Rank correlation with human ratings{family_span(title, ' · {}')}",
        "intervals",
        rows,
        x="SRCC over clips",
        ends=(-1.0, 1.0),
        at=(0.0,),
        about=title,
    )


def _tests(units: FamilyScores, names: Sequence[str], title: str, suffix: str) -> list[Table]:
    """The best score against each other one, on the clips that both have."""
    rows = []
    human, best = units.units.human, names[0]
    for name in names[1:]:
        a, b = units.values[best], units.values[name]
        both = np.isfinite(a) & np.isfinite(b)
        test = williams(a[both], b[both], human[both]) if both.sum() > 3 else None
        if test is not None:
            n = int(both.sum())
            rows.append(WilliamsRow(best, name, test.difference, test.t, test.df, test.p, n))
    note = "Williams' test of two correlations with the same human means; not adjusted for several."
    key, heading = f"williams{suffix}", f"Is the best score better?{family_span(title, ' · {}')}"
    table = Table.from_rows(WilliamsRow, key, heading, rows, note=note, about=title, folded=True)
    return [table] if rows else []


_FIVE_POINTS = (1.0, 5.0)
_NO_SCORES = (
    "There are no metric scores: score the clips, or give a CSV of scores (stimulus, metric, "
    "version, value), to see how they agree with people."
)


class Lfs(FamilyPart):
    """Tables 2, 3, 13 to 15, radars and length plots of LFS-Bench; then metrics against people."""

    key = "lfs"
    version = "5"
    title = "LFS-Bench: the paper's tables"
    order = 44
    apart = True
    always = False
    presets = frozenset({"lfs"})

    def make(self, inputs: PartInput) -> Content:
        """The metrics of the systems first, as in the paper; then tasks with ratings."""
        clips = clips_of(inputs)
        of_systems = []
        if clips is not None:
            of_systems = [systems(clips), by_challenge(clips), by_length(clips), speed(clips)]
        return together([*of_systems, super().make(inputs)])

    def of_family(self, each: FamilyInput) -> Content:
        """Scores and raters against means; of pairs differences of scores against preferences."""
        family, inputs = each.family, each.inputs
        suffix = f"-{each.place + 1}" if each.place else ""
        if family.in_pairs and bool((family.table["versus_stimulus"] != "").any()):
            if metrics_of(inputs.scores):
                scores = family_scores(family, inputs)
                own = own_scores(scores)
                shown = preferences(scores, ceilings_of(scores, inputs), inputs, suffix, own)
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
    frame, tables, sentences = clips.frame, list[Table](), list[str]()
    numbers = _numbers_of_speakers(frame)
    for key, words, holds in SPEAKERS:
        tables += _systems(clips, frame[numbers.map(holds)], key, words)
    unknown = frame[numbers == 0]
    words = "Clips without a number of speakers" if len(unknown) < len(frame) else "All clips"
    tables += _systems(clips, unknown, "systems", words)
    if len(unknown):
        sentences.append(
            f"{len(unknown)} of {len(frame)} clips name no number of speakers (column speakers in "
            "stimuli.csv), by which Tables 2, 3 and 13 are split."
        )
    if frame["language"].nunique() > 1:
        one = numbers <= 1
        tables += _by_language(clips, frame[one], "table14", "Systems by language")
        tables += _by_language(clips, frame[~one], "table15", "Dialogues by language")
    else:
        sentences.append(
            "All clips are of one language: Tables 14 and 15, by language, are not there."
        )
    for name, words in (("challenge", "challenge"), ("dimension", "scenario")):
        tables += _by_column(clips, name, words)
    if not clips.groups() or not any(clips.groups().values()):
        sentences.append(
            'No condition names a group (attributes = { group = "…" } in study.toml): all systems '
            "stand together."
        )
    return Content(
        [*sentences, *[clips.left] * bool(clips.left)],
        tables=tables,
        warnings=_other_numbers_of_speakers(clips),
    )


def _other_numbers_of_speakers(clips: Clips) -> list[str]:
    """The clips in which another number of speakers was found than they declare."""
    counts = clips.values_of(SPEAKER_COUNT)
    declared = _numbers_of_speakers(clips.frame)
    both = counts.notna() & (declared > 0)
    others = counts[both & (counts != declared)]
    if not len(others):
        return []
    pairs = zip(others.index, others, declared[others.index], strict=True)
    named = [f"{name} ({found:.0f}, not {number})" for name, found, number in pairs]
    return [
        f"In {len(others)} of {int(both.sum())} clips, another number of speakers was found than "
        f"the column speakers declares: {first_of(named)}. Listen to them: metrics of each speaker "
        "and the tables by number of speakers take the declared number."
    ]


def _systems(clips: Clips, frame: pd.DataFrame, key: str, words: str) -> list[Table]:
    if not len(frame):
        return []
    measures = _known(frame, WITH_SD)
    rows, known = [], cells_of(frame, "condition")
    for head, named in _conditions_by_heading(clips, frame):
        cells = [_cells(known[n,], measures, True) for n in named]
        rows += _headed_rows(head, named, cells, measures)
    columns = [Column("condition", "Model"), *_columns(measures)]
    note = f"{_SD} {clips.taken} {LEGEND}{_WITHIN}"
    title = table_caption(key, f"Metrics of the systems · {words}")
    return [Table(key, title, columns, rows, note, group="group")]


def _by_language(clips: Clips, frame: pd.DataFrame, key: str, words: str) -> list[Table]:
    if not len(frame):
        return []
    measures = _known(frame, ONE_CONTENT)
    rows: list[dict[str, Any]] = []
    known = cells_of(frame, "condition", "language")
    languages = clips.inputs.ordered("language", frame["language"].unique())
    for head, named in _conditions_by_heading(clips, frame):
        language_rows: list[dict[str, Any]] = []
        for language in languages:
            there = [n for n in named if (n, language) in known]
            cells = [_cells(known[n, language], measures, False) for n in there]
            within = _headed_rows(head, there, cells, measures)
            language_rows += [{**row, "language": language} for row in within]
        order = {name: place for place, name in enumerate([*named, AVERAGE])}
        rows += sorted(language_rows, key=lambda row: order[row["condition"]])
    columns = [Column("condition", "Model"), Column("language", "Language")]
    columns += _columns(measures)
    note = f"{_MEAN} {clips.taken} {LEGEND}{_WITHIN}"
    return [Table(key, table_caption(key, words), columns, rows, note, group="group")]


def _by_column(clips: Clips, name: str, words: str) -> list[Table]:
    """The systems under each challenge or scenario: the numbers of the radars before mapping."""
    frame = clips.frame[clips.frame[name] != ""]
    heads = clips.heads(name, frame)
    if not heads:
        return []
    measures = _known(frame, ONE_CONTENT)
    rows, known = [], cells_of(frame, "condition", name)
    named, others = clips.conditions(frame), clips.reference_names()
    for head in heads:
        head_rows = [
            {"group": head, "condition": n, UNRANKED: n in others}
            | _cells(known[n, head], measures, False)
            for n in named
            if (n, head) in known
        ]
        rows += _mark_best(head_rows, measures)
    columns = [Column("condition", "Model"), *_columns(measures)]
    note = f"Means over clips. {_CONTENT} {clips.taken} {LEGEND}{_WITHIN}"
    title = f"Metrics of the systems by {words}"
    folded = len(rows) > 40
    return [Table(f"{words}s", title, columns, rows, note, folded=folded, group="group")]


def table_caption(key: str, words: str) -> str:
    """A table's title with its number in the paper, where it has one."""
    number = key.removeprefix("table")
    return f"Table {number} of {PAPER}: {words}" if number.isdigit() else words


def _conditions_by_heading(clips: Clips, frame: pd.DataFrame) -> list[tuple[str, list[str]]]:
    """The conditions under the headings of the table: their groups, then the references."""
    named, group, others = clips.conditions(frame), clips.groups(), clips.reference_names()
    heads: dict[str, list[str]] = {}
    for name in named:
        heads.setdefault(REFERENCES if name in others else group[name], []).append(name)
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
    rows = _mark_best(rows, measures)
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


def _mark_best(rows: list[dict[str, Any]], measures: Sequence[Measure]) -> list[dict[str, Any]]:
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
    return [Column(each.key, each.heading) for each in measures]


ENDS = (1.0, 5.0)
LEAST_AXES = 3
_NOTE = (
    "1 to 5, more is better. Judges as they are; fidelity (PESQ) + 0.5; timbre, reverb and content "
    "mapped from the least and the greatest mean of any system in any {} to 1 to 5, reversed "
    "where lower is better. Positions on mapped axes depend on the systems compared here."
)


def by_challenge(clips: Clips) -> Content:
    """Figure 3, a radar of all measures per challenge; Figure 11, of scenarios per measure."""
    scenarios = clips.frame["dimension"].nunique() > 1
    unit, words = ("dimension", "scenario") if scenarios else ("challenge", "challenge")
    limits, flat = _limits(clips.frame, unit)
    sentences = []
    if flat:
        sentences.append(
            f"Radars leave out {enumerated(flat)}: all means are equal, nothing to map."
        )
    sentences += _not_drawn(clips.frame, limits)
    figures = [*_figure3(clips, limits, words), *_figure11(clips, limits, words)]
    return Content(sentences, figures)


def _not_drawn(frame: pd.DataFrame, limits: Mapping[str, Any]) -> list[str]:
    """Why there are no radars."""
    sentences = []
    measures = _drawn_measures(frame, limits)
    if len(measures) < LEAST_AXES:
        which = f" ({enumerated([each.name for each in measures])})" * bool(measures)
        sentences.append(
            f"Figure 3 is not there: a radar needs {LEAST_AXES} measures with scores, and there "
            f"{'is' if len(measures) == 1 else 'are'} {len(measures)}{which}."
        )
    scenarios = frame["dimension"][frame["dimension"] != ""].nunique()
    if scenarios < LEAST_AXES:
        sentences.append(
            f"Figure 11 is not there: a radar needs {LEAST_AXES} scenarios (column dimension), and "
            f"there {'is' if scenarios == 1 else 'are'} {scenarios}."
        )
    if not (frame["challenge"] != "").any():
        sentences.append(
            "Figure 3 is not there: no scenario is one of the paper's, and no clip names a "
            "challenge (column challenge in stimuli.csv)."
        )
    return sentences


def radar_value(measure: Measure, value: float, limits: Mapping[str, tuple[float, float]]) -> float:
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


def _drawn_measures(frame: pd.DataFrame, limits: Mapping[str, Any]) -> list[Measure]:
    return [
        each
        for each in ONE_CONTENT
        if frame[each.key].notna().any() and (each.shift is not None or each.key in limits)
    ]


def _figure3(clips: Clips, limits: Mapping[str, Any], words: str) -> list[Figure]:
    figures: list[Figure] = []
    measures = _drawn_measures(clips.frame, limits)
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
    for each in _drawn_measures(frame, limits) if len(scenarios) >= LEAST_AXES else ():
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
    return None if mean is None else radar_value(measure, mean, limits)


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
        sentence = (
            "No plots by length: fewer than two numbers of sentences are known (column sentences "
            "in stimuli.csv)."
        )
        return Content([sentence])
    frame["length"], frame["place"] = _bins(sentences)
    rows = _rows(clips, frame)
    measures = [each for each in BY_LENGTH if frame[each.key].notna().any()]
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


SPEED = {"table2": "table9", "table3": "table10", "table13": "rtf_dialogues"}
NO_ARCHITECTURE = "Architecture not named"
_RTF_NOTE = (
    "Real-time factor: seconds of synthesis for each second of audio; below 1 is faster than real "
    "time. Mean ± SD over clips (n - 1), of the column synthesis_s or the attribute rtf of a "
    "condition. Compare only systems that ran on one device with one batch size. "
)


def speed(clips: Clips) -> Content:
    """Tables 9 and 10: the real-time factor by architecture; and by architecture and length."""
    systems_only = ~clips.frame["role"].isin(BESIDE)
    frame = clips.frame[clips.frame[RTF.key].notna() & systems_only].copy()
    if not len(frame):
        return Content()
    frame["architecture"] = frame["architecture"].replace("", NO_ARCHITECTURE)
    sentences = []
    if (frame["architecture"] == NO_ARCHITECTURE).all():
        sentences.append(
            'No condition names an architecture (attributes = { architecture = "autoregressive" } '
            "in study.toml): real-time factors stand together."
        )
    numbers = _numbers_of_speakers(frame)
    tables: list[Table] = []
    for key, words, holds in SPEAKERS:
        tables += _speed_tables(clips, frame[numbers.map(holds)], SPEED[key], words)
    tables += _speed_tables(clips, frame[numbers == 0], "rtf", "clips without a number of speakers")
    return Content(sentences, tables=tables)


def _speed_tables(clips: Clips, frame: pd.DataFrame, key: str, words: str) -> list[Table]:
    if not len(frame):
        return []
    columns = [Column("condition", "Model"), Column(RTF.key, RTF.heading)]
    columns += [Column(f"{RTF.key}_n", "Clips", "count")]
    title = table_caption(key, f"real-time factor · {words}")
    note = f"{_RTF_NOTE}{LEGEND}"
    rows = _speed_rows(clips, frame, "")
    tables = [Table(key, title, columns, rows, note, group="group")]
    known = frame[frame["sentences"].str.isdigit()].copy()
    lengths = known["sentences"].astype(int)
    if lengths.nunique() > 1:
        known["length"], known["place"] = _bins(lengths)
        rows = []
        for _, part in known.groupby("place"):
            rows += _speed_rows(clips, part, f" · {part['length'].iloc[0]} sentences")
        rows.sort(key=lambda row: _place_of_architecture(row["group"].partition(" · ")[0]))
        title = f"Real-time factor by architecture and length · {words}"
        tables.append(
            Table(f"{key}_length", title, columns, rows, note, folded=True, group="group")
        )
    return tables


def _speed_rows(clips: Clips, frame: pd.DataFrame, suffix: str) -> list[dict[str, Any]]:
    known, rows = cells_of(frame, "architecture", "condition"), []
    for architecture in sorted(frame["architecture"].unique(), key=_place_of_architecture):
        named = clips.conditions(frame[frame["architecture"] == architecture])
        own = [known[architecture, name] for name in named]
        cells = [_cells(each, [RTF], bool(each[RTF.key].sd)) for each in own]
        rows += _headed_rows(f"{architecture}{suffix}", named, cells, [RTF])
    return rows


def _place_of_architecture(name: str) -> tuple[bool, str]:
    return name == NO_ARCHITECTURE, name


def _numbers_of_speakers(frame: pd.DataFrame) -> pd.Series[int]:
    """The number that each clip declares; 0 where it declares none."""
    return frame["speakers"].where(frame["speakers"].str.isdigit(), "0").astype(int)


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
        | {each.key: own[each.key].mean for each in BY_LENGTH}
        for key, own in sorted(known.items(), key=lambda item: (order[item[0][0]], item[0][1]))
    ]
