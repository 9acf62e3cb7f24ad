"""The shape of a report as it is stored and written: plain values under known keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NotRequired, TypedDict

if TYPE_CHECKING:
    from analysis.statistics.screening.screened import Exclusions

Kind = Literal["text", "number", "count", "percent", "p", "interval", "mark"]
Drawing = Literal[
    "intervals", "scatter", "lines", "heatmap", "shares", "boxes", "radar", "bars", "histogram"
]
RowsName = Literal["estimates", "contrasts", "shares", "exclusions", "screening"]
ROWS: tuple[RowsName, ...] = ("estimates", "contrasts", "shares", "exclusions", "screening")

FIRST_COLUMNS = (  # of the rows of estimates and the like, where they have them: what one is about
    *("screening", "breakdown", "estimand", "study", "task", "criterion"),
    *("condition", "versus", "versus_condition"),
)


class IntervalRow(TypedDict):
    """An interval of an estimate or a difference; those of differences have tests beside it."""

    interval: str
    low: float | None
    high: float | None
    note: str
    p: NotRequired[float | None]
    family: NotRequired[str]
    low_all: NotRequired[float | None]
    high_all: NotRequired[float | None]
    p_adjusted: NotRequired[float | None]
    claimed: NotRequired[bool | None]


class PlaceRow(TypedDict):
    """What a number is about: its family, its condition, and the slice of the ratings."""

    breakdown: NotRequired[str]  # of shares none: they are overall
    estimand: str
    task: str
    criterion: str
    condition: str
    study: NotRequired[str]
    versus_condition: NotRequired[str]
    system: NotRequired[str]
    voice: NotRequired[str]
    dimension: NotRequired[str]
    language: NotRequired[str]
    split: NotRequired[str]
    paragraph: NotRequired[str]
    version: NotRequired[str]
    recruitment_source: NotRequired[str]


class ValueRow(PlaceRow):
    """A number about a place, without its interval; of a difference ``versus`` is there."""

    versus: NotRequired[str]
    weighting: str
    value: float
    level: float
    n_ratings: int
    n_raters: int
    n_items: int


class EstimateRow(ValueRow, IntervalRow):
    """A mean or a share with one of its intervals."""


class ScreeningRow(EstimateRow):
    """A mean under other rules of screening, which ``screening`` names."""

    screening: str


class Counts(TypedDict):
    """How many ratings, raters and clips there are, and how many the rules keep."""

    ratings: int
    ratings_kept: int
    trap_ratings: int
    raters: int
    raters_kept: int
    sessions: int
    items_kept: int
    stimuli_kept: int
    conditions_kept: int


class Provenance(TypedDict):
    """Where a report comes from: all that makes the same numbers again."""

    studies: list[str]
    ratings_until: str
    table_hash: str
    scores_hash: str
    estimator: str
    estimator_version: str
    level: float
    seed: int
    intervals: list[str]
    rules: list[str]
    replicates: int
    preset: str
    parts: list[str]
    reference: str
    rope: float | None
    chains: int
    draws: int
    versions: NotRequired[list[str]]  # keys of the earlier versions combined with the study
    margins: NotRequired[dict[str, float]]  # by estimand
    covariates: NotRequired[list[str]]  # of clips in the model of pairs
    spared: NotRequired[list[str]]  # rule/rater: exclusions that were undone
    breakdowns: list[str]
    structural_rules: list[str]
    code: str
    release: NotRequired[str]  # of Earnest
    packages: dict[str, str]
    again: str


class InputNotes(TypedDict):
    """What was guessed of a file of ratings, and its columns that were not used."""

    notes: list[str]
    columns_not_used: list[str]


class TaskDesign(TypedDict):
    """What raters were given in a task, by the ratings that count; see `task_designs`."""

    study: str  # empty where all are of one study
    task: str
    criterion: str
    estimand: str
    method: str
    in_pairs: bool
    ratings: int
    ratings_given: NotRequired[int]  # before the rules; reports of earlier versions lack it
    raters: int
    clips: int
    items: int
    conditions: int
    ratings_per_clip: float  # median
    ratings_per_rater: float  # median
    span: NotRequired[list[float]]  # the lowest and the highest score given; not of words


class Conduct(TypedDict):
    """How the study was run, as sentences of a methods section; see `conduct.conduct_of`."""

    questions: dict[str, str]  # by "task · criterion": the question and its scale
    recruitment: str
    headphones: str
    order: str
    traps: str


class ColumnRecord(TypedDict):
    """A `content.Column`."""

    key: str
    heading: str
    kind: Kind
    decimals: int
    sign: bool


class TableRecord(TypedDict):
    """A `content.Table`; what its rows hold differs from table to table."""

    key: str
    title: str
    columns: Sequence[ColumnRecord]
    rows: Sequence[Mapping[str, Any]]
    note: str
    about: str
    folded: bool
    group: NotRequired[str]  # reports stored by earlier versions lack it


class FigureRecord(TypedDict):
    """A `content.Figure`."""

    key: str
    title: str
    drawing: Drawing
    rows: Sequence[Mapping[str, Any]]
    x: str
    y: str
    ends: tuple[float, float] | None  # of JSON a list
    at: Sequence[float]
    note: str
    about: str
    interval: str
    made_by: NotRequired[str]  # reports stored by earlier versions lack it
    decimals: int | None


class HeadlineRecord(TypedDict):
    """A `content.Headline`."""

    about: str
    sentence: str
    caveats: Sequence[str]


class PartRecord(TypedDict):
    """A part as made (`content.Content`), or with the problem why it could not be."""

    key: str
    version: str
    title: str
    problem: str
    sentences: Sequence[str]
    figures: Sequence[FigureRecord]
    tables: Sequence[TableRecord]
    warnings: Sequence[str]
    methods: Sequence[str]
    files: Mapping[str, str]
    headlines: NotRequired[Sequence[HeadlineRecord]]  # of the answer


class InterimMean(TypedDict):
    """A condition's mean over raters so far, with bounds that hold however often one looks.

    ``ratings`` and ``items`` are those of the ``raters`` who finished.
    """

    condition: str
    value: float | None
    low: float | None
    high: float | None
    raters: int
    ratings: NotRequired[int]  # reports stored by earlier versions lack both
    items: NotRequired[int]


class InterimPair(InterimMean):
    """``condition`` minus ``versus`` so far (or, of clips heard in pairs, the mean for it).

    ``decided``: its bounds leave out what says that neither is ahead. ``claimed``: the comparison
    of a closed study (`claimed` of a difference) would say so of the same ratings, too. A claim
    needs both.
    """

    versus: str
    decided: bool
    claimed: bool


class InterimRow(TypedDict):
    """What may be said of one task and criterion while its study is open.

    ``title`` is the family's, as of estimates; ``kind`` is ``systems`` (rated one by one),
    ``pairs`` (each pair's mean, against ``neutral``) or ``none``: no bounds allow looking here.
    ``means`` are in order, the best first, each at ``level`` alone; ``pairs`` share it: those with
    ``reference``, and those among the others, are one family each.
    """

    title: str
    estimand: str
    task: str
    criterion: str
    kind: Literal["systems", "pairs", "none"]
    level: float
    neutral: float
    raters: int
    reference: str
    means: list[InterimMean]
    pairs: list[InterimPair]


class Report(TypedDict):
    """A report; what stands below ``parts`` is there where a page or a worker added it."""

    format: int
    made_at: str
    provenance: Provenance
    input: InputNotes
    data: Counts
    scales: dict[str, list[float]]
    warnings: list[str]
    exclusions: list[Exclusions]
    estimates: list[EstimateRow]
    contrasts: list[EstimateRow]
    shares: list[EstimateRow]
    screening: list[ScreeningRow]
    parts: list[PartRecord]
    design: NotRequired[list[TaskDesign]]  # reports stored by earlier versions lack it
    conduct: NotRequired[Conduct]  # of a study; of a file of ratings nothing is known
    left_out: NotRequired[dict[str, list[list[Any]]]]  # by rule: see `exclusions.exclusions_of`
    scripted: NotRequired[int]  # raters that are programs, of those whose ratings count
    pending: NotRequired[list[str]]  # the titles of parts to come, while it grows
    interim: NotRequired[list[InterimRow]]  # where the study was open when it was read
    labels: NotRequired[dict[str, str]]  # of conditions, where the study gives some
    task_titles: NotRequired[dict[str, str]]  # of tasks, likewise
    metric_titles: NotRequired[dict[str, str]]  # of metrics, by the names that rows hold
    counted: NotRequired[dict[str, list[int]]]  # differences, where the rows are cut
    titles: NotRequired[list[str]]
    slices: NotRequired[list[list[str]]]
    within: NotRequired[str]  # the slice that is looked at
    compared: NotRequired[str]  # what that slice compares
