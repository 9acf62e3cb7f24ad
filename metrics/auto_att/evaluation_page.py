"""An evaluation as a page of Markdown: trap clips, voices in order and clips, beside the paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from metrics.auto_att.evaluate import Evaluation, TrapResult
from metrics.auto_att.paper_table import ABSENT, SOURCE, TRAP_F1, table4
from metrics.auto_att.report import correlation, number

VOICES = {"new": "Voices that were not trained on", "all": "All voices"}


def markdown(results: Mapping[str, Evaluation]) -> str:
    """The evaluations of some files of predictions, side by side and beside what the paper prints.

    ``results``: by the name that each is to have. What has no number has its reason.
    """
    blocks = ["# Predicted human-likeness against people", "## Trap clips", *traps(results)]
    for voices, heading in VOICES.items():
        blocks += [f"## {heading}: Kendall distance (p)", as_table(table4(results, voices))]
    blocks += [
        "A distance is the share of pairs of voices that people and predictions order differently "
        "(0: none, 0.5: chance); p is that of Kendall's tau.",
        "## Clips that were not trained on",
        clips(results),
        *left_out(results),
        f"The paper's numbers: {SOURCE}; F1 of trap clips: section 4.2.1, at 0.5. They are of "
        "other voices, raters and texts, so they say what is usual and not what is to be beaten.",
    ]
    return "\n\n".join(blocks) + "\n"


def traps(results: Mapping[str, Evaluation]) -> list[str]:
    """Detection of trap clips, and what it is to be compared with."""
    rows = [["predictions", "F1", "precision", "recall", "human / flawed", "all called Human"]]
    rows += [[name, *trap_cells(result.traps)] for name, result in results.items()]
    rows += [[f"paper: {name}", f"{f1:.2f}", *[ABSENT] * 4] for name, f1 in TRAP_F1.items()]
    thresholds = sorted({f"{result.traps.threshold:g}" for result in results.values()})
    return [as_table(rows), f"Human from {' or '.join(thresholds)} on; Human is the positive."]


def trap_cells(result: TrapResult) -> list[str]:
    """The cells of one file of predictions."""
    f1 = f"{ABSENT} ({result.reason})" if result.f1 is None else number(result.f1)
    counts = f"{result.human} / {result.flawed}"
    rest = (number(result.precision), number(result.recall))
    return [f1, *rest, counts, number(result.f1_always_human)]


def clips(results: Mapping[str, Evaluation]) -> str:
    """Errors over clips."""
    rows = [["predictions", "clips", "mean absolute error", "Spearman"]]
    for name, result in results.items():
        of = result.clips
        rows.append([name, str(of.clips), number(of.mean_absolute_error), correlation(of)])
    note = "Spearman with its 95 % interval over clips (Bonett and Wright 2000)."
    return f"{as_table(rows)}\n\n{note}"


def left_out(results: Mapping[str, Evaluation]) -> list[str]:
    """A list of what does not count, with the reasons; nothing where all does."""
    lines = [
        f"- {name}, {kind}: {count} ({reason})"
        for name, result in results.items()
        for kind, held in (("clips", result.left_out), ("trap clips", result.traps.left_out))
        for reason, count in sorted(held.items())
    ]
    return ["Left out:", "\n".join(lines)] if lines else []


def as_table(rows: Sequence[Sequence[str]]) -> str:
    """Rows of text, the first of them the head, as a table of Markdown."""
    plain = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    head, *body = [f"| {' | '.join(row)} |" for row in plain]
    return "\n".join([head, "| " + " | ".join("---" for _ in rows[0]) + " |", *body])
