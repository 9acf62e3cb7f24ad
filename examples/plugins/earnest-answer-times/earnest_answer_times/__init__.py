"""How long raters take to answer, by condition: median and quartiles."""

from __future__ import annotations

from analysis.formatting import number
from analysis.name_spans import condition_span
from analysis.report.content import Content, Table, column, table_row
from analysis.report.part import Part, PartInput

PLUGIN_API_VERSION = 1


@table_row
class TimeRow:
    """The answers to one condition."""

    condition: str = column("Condition")
    median_s: float = column("Median (s)", "number", decimals=1)
    low_s: float = column("Lower quartile (s)", "number", decimals=1)
    high_s: float = column("Upper quartile (s)", "number", decimals=1)
    answers: int = column("Answers", "count")


class AnswerTimes(Part):
    """Times from when a clip could be played to the answer."""

    key = "answer_times"  # stored with every report: never renamed
    version = "1"
    title = "Answer times"
    order = 86

    def applies(self, inputs: PartInput) -> bool:
        return bool(inputs.ratings["latency_ms"].notna().any())

    def make(self, inputs: PartInput) -> Content:
        timed = inputs.ratings[inputs.ratings["latency_ms"].notna()]
        rows = []
        for condition in inputs.ordered("condition", timed["condition"]):
            times_s = timed.loc[timed["condition"] == condition, "latency_ms"] / 1000
            low, median, high = times_s.quantile([0.25, 0.5, 0.75])
            rows.append(TimeRow(condition, median, low, high, len(times_s)))
        slowest = max(rows, key=lambda row: row.median_s)
        sentence = (
            f"Raters take longest for {condition_span(slowest.condition)}: "
            f"median {number(slowest.median_s)} s."
        )
        note = "From when the clip could be played to the answer; screened ratings without traps."
        table = Table.from_rows(TimeRow, "answer_times", "Answer times", rows, note=note)
        return Content(sentences=[sentence], tables=[table])
