"""What each rule of screening left out, in words and with one count everywhere.

Every rating that is left out is counted once, under the first rule in order that leaves it out, so
that the counts add up to what is missing from the estimates.
"""

from __future__ import annotations

from analysis.citations import cite
from analysis.formatting import counted
from analysis.report.report_schema import Report

IN_A_PAPER = {  # by the key of a rule: which ratings it leaves out, as a methods section says it
    "task_traps": "in blocks that failed their traps",
    "att_traps": "in blocks that failed their traps",
    "attention_traps": "in sessions that failed their attention traps",
    "gold_traps": "in sessions that answered gold clips wrongly",
    "session_status": "in sessions that were withdrawn or rejected",
    "not_counted": "whose place in the plan was given to another rater",
    "missing_score": "without a score",
    "duplicate": "given twice in one trial",
    "repeat": "from repeated trials",
    "headphones": "without headphones",
    "review": "whose reason experts judged unfit",
    "no_justification": "without a reason",
    "left_out": "of clips or systems left out by name",
    "hidden_reference": f"of raters who missed the hidden reference {cite('itu_bs1534')}",
    "mid_anchor": f"of raters who took the anchor for the reference {cite('itu_bs1534')}",
    "expertise": f"of listeners who took objects for the reference {cite('itu_bs1116')}",
}


def left_out_in_a_paper(report: Report) -> list[tuple[str, int]]:
    """Return (which ratings, how many) per rule as prose without keys, the largest first."""
    counts: dict[str, int] = {}
    for row in report["exclusions"]:
        words = IN_A_PAPER.get(row["rule"], row["what"])
        counts[words] = counts.get(words, 0) + row.get("ratings_told", row["ratings"])
    return sorted(((words, n) for words, n in counts.items() if n), key=lambda each: -each[1])


def left_out_counts(report: Report) -> list[tuple[str, int]]:
    """Return (rule in words, ratings left out by it and by no rule before), the largest first."""
    rows = [(row["what"], row.get("ratings_told", row["ratings"])) for row in report["exclusions"]]
    return sorted((row for row in rows if row[1]), key=lambda row: -row[1])


def left_out_lines(report: Report) -> list[str]:
    """Return a line per rule: "Left out: 100 ratings (blocks that failed their traps)"."""
    return [
        f"Left out: {counted(count, 'rating')} ({what})" for what, count in left_out_counts(report)
    ]
