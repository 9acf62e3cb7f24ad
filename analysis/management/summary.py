"""A report in a terminal: the answer first, then what makes it weak and what was not used."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.formatting import counted, legend_of_marks, number
from analysis.ratings.estimands import ends_of, estimand_of, family_title
from analysis.report.condition_labels import label_report
from analysis.report.exclusion_words import left_out_lines
from analysis.report.html.html_tables import bounds
from analysis.report.interim_answer import interim_report, interim_words
from analysis.report.pivot import lines_of
from analysis.report.report_schema import Report


def summary(report: Report) -> Iterator[str]:
    """A report in lines of text: the answer, what makes it weak, what was not used, the means."""
    report = label_report(interim_report(report))
    yield from filter(None, [interim_words(report)])
    yield from _answer(report)
    yield from _not_used(report)
    yield from _of_clips(report)
    yield from _estimates(report)


def _answer(report: Report) -> Iterator[str]:
    """The sentences of the answer and of hypotheses, and every caveat."""
    shown = ("answer", "hypotheses")
    answers = [part for part in report["parts"] if part["key"] in shown and not part["problem"]]
    for part in answers:
        yield from part["sentences"]
    notes = report["input"]["notes"]  # on stderr, while the file was read
    for warning in [*(text for part in answers for text in part["warnings"]), *report["warnings"]]:
        if warning not in notes:
            yield f"  limitation: {warning}"
    for part in report["parts"]:
        if part["problem"]:
            yield f"  not made: {part['title']}: {part['problem']}"


def _not_used(report: Report) -> Iterator[str]:
    """How many ratings are in the estimates, and what was left out."""
    data = report["data"]
    yield f"{data['ratings_kept']} of {data['ratings']} ratings kept"
    yield from (f"  {line[:1].lower()}{line[1:]}" for line in left_out_lines(report))


def _estimates(report: Report) -> Iterator[str]:
    """The overall means with both kinds of interval."""
    title, marked = "", ""
    for line in lines_of(report["estimates"]):
        row = line.row
        if row["weighting"] != "ratings":
            continue
        named = f"{family_title(row)} ({row['breakdown'].rstrip(':')})"
        if named != title:
            title = named
            yield f"\n{title}, {row['level'] * 100:g} % intervals"
        known = ("voice", "dimension", "language", "split", "paragraph", "system")
        place = " / ".join([row["condition"], *(str(row.get(k)) for k in known if row.get(k))])
        raters, items = counted(row["n_raters"], "rater"), counted(row["n_items"], "item")
        counts = f"n={row['n_ratings']}, {raters}, {items}"
        digits = estimand_of(row["estimand"]).decimals
        ends = ends_of(report, row)
        estimate = f"{number(row['value'], False, digits)} {bounds(line.main, ends, digits)}"
        estimate += f"  naive {bounds(line.naive, ends, digits)}"
        yield f"  {place:<32} {estimate}  {counts}"
        marked += estimate
    yield from (f"  {each}" for each in legend_of_marks(marked))


def _of_clips(report: Report) -> Iterator[str]:
    """What was asked for by ``--by stimulus`` or ``--by item``, in words."""
    for part in report["parts"]:
        if part["key"] == "clip_scores":
            yield from () if part["problem"] else part["sentences"]
            if not part["problem"]:
                yield f"--out DIR writes the scores of each into {', '.join(part['files'])}."
