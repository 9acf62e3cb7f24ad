"""Cloned voices as papers on zero-shot TTS print them: CMOS, SMOS and metrics, by system."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.formatting import interval_text
from analysis.ratings.breakdowns import Family, families
from analysis.ratings.metric_scores import metrics_of
from analysis.report.content import Content, Table, column, interval_cells, table_row
from analysis.report.part import Part, PartInput
from analysis.report.parts.against_people.metric_data import family_scores
from analysis.report.parts.against_people.metric_tables import ceilings_of, top_of
from analysis.report.parts.criteria import SIMILARITY, Systems, breakdown, naturalness_of
from analysis.statistics.metric_agreement.metric_correlations import AS_IS
from analysis.statistics.metric_agreement.metric_units import CONDITION, STIMULUS

SMOS = "smos"
SEEN = "split"  # the column that says whether the systems knew the speaker
TOO_FEW = 5  # clips or systems for a sentence about a correlation
_METHOD = (
    "Systems were compared with recordings of the target speaker (CMOS), and their clips with the "
    "prompt, which raters heard first (SMOS, 1 to 5)."
)
_ALIGNED_NOTE = (
    "Coefficients, intervals and ceilings are those of the part on metrics and human scores. "
    "Ceiling: the most that a perfect metric could reach with the noise of these ratings."
)


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
    apart = True

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
            tables += breakdown(
                shown,
                inputs,
                lambda t: t["item"].map(speaker_of).fillna(""),
                "speaker",
                "prompt speaker",
            )
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
        similar = next(n for n, each in enumerate(shown) if each.estimand == SMOS)
        title = "Naturalness and similarity of the speaker"
        figures = [whole.figure(0, similar, "naturalness_similarity", title)] if similar else []
        return Content(
            sentences=[*whole.leaders(SMOS), *map(_aligned_sentence, enough)],
            figures=figures,
            tables=tables,
            methods=[_METHOD],
        )


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
            srcc, plcc = (
                scores.number(metric.name, unit, name, AS_IS) for name in ("srcc", "plcc")
            )
            if srcc is None or plcc is None:
                continue
            yield AlignedRow(
                metric=metric.title,
                unit={STIMULUS: "clips", CONDITION: "systems"}[unit],
                n=srcc.n,
                **interval_cells("srcc", srcc),
                srcc_ceiling=top_of(top, unit, "srcc")["ceiling"],
                **interval_cells("plcc", plcc),
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
