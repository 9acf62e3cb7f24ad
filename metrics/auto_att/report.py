"""What the Auto-ATT commands print: datasets, steps, predictions and evaluations as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from metrics.auto_att.dataset import Dataset
from metrics.auto_att.evaluate import ClipResult, Evaluation, Ranking, TrapResult
from metrics.auto_att.predict import Prediction


def dataset_lines(dataset: Dataset) -> str:
    """Counts of a dataset and of what was left out."""
    summary = dataset.summary
    clips = ", ".join(f"{count} {split}" for split, count in sorted(summary["clips"].items()))
    lines = [f"clips: {clips}; {summary['labels']} labels, {summary['ties']} ties"]
    lines.append(f"held-out voices: {', '.join(summary['held_out_voices']) or 'none'}")
    if summary["systems_with_one_voice"]:
        alone = ", ".join(summary["systems_with_one_voice"])
        lines.append(f"one voice only, trained on: {alone}")
    for what in ("ratings", "clips"):
        for reason, count in sorted(summary[f"{what}_left_out"].items()):
            lines.append(f"{what} left out: {count} ({reason})")
    return "\n".join(lines)


def step_line(line: dict[str, Any]) -> str:
    """One step of training."""
    evaluation = line.get("evaluation")
    on_others = (
        f"\n  on {evaluation['clips']} clips not trained on: "
        f"error {format_number(evaluation['mean_absolute_error'])}, "
        f"Spearman {format_number(evaluation['spearman'])}, "
        f"distance of new voices {format_number(evaluation['distance_of_new_voices'])}, "
        f"F1 of traps {format_number(evaluation['trap_f1'])}"
        if evaluation
        else ""
    )
    return (
        f"step {line['step']}/{line['steps']}  loss {line['loss']:.4f}  "
        f"(Bradley-Terry {line['bradley_terry']:.4f}, squared {line['squared']:.4f})  "
        f"rate {line['learning_rate']:.2e}{on_others}"
    )


def prediction_lines(predictions: Sequence[Prediction], path: Path | str) -> str:
    """How many clips have a prediction, and why others have none."""
    missing = [each for each in predictions if each.score is None]
    n_scored = len(predictions) - len(missing)
    lines = [f"written: {path} ({n_scored} of {len(predictions)} clips have a score)"]
    return "\n".join([*lines, *(f"  {each.clip}: {each.reason}" for each in missing)])


def evaluation_lines(path: str, result: Evaluation) -> str:
    """An evaluation as a small table."""
    traps, clips = result.traps, result.clips
    lines = [path]
    if traps.f1 is None:
        lines.append(f"  traps: no F1 ({traps.reason})")
    else:
        lines.append(
            f"  traps: F1 {traps.f1:.3f} at {traps.threshold:g} ({traps.human} human, "
            f"{traps.flawed} flawed; calling all Human: {format_number(traps.f1_always_human)})"
        )
    for reason, count in sorted(traps.left_out.items()):
        lines.append(f"  traps left out: {count} ({reason})")
    for ranking in result.rankings:
        lines.append(f"  {ranking_line(ranking)}")
    lines.append(
        f"  clips: {clips.clips}, mean absolute error {format_number(clips.mean_absolute_error)}, "
        f"Spearman {correlation(clips)} (how far raters agree among themselves, its ceiling, "
        "is in the study's report)"
    )
    for reason, count in sorted(result.left_out.items()):
        lines.append(f"  clips left out: {count} ({reason})")
    return "\n".join(lines)


def ranking_line(ranking: Ranking) -> str:
    """One ranking of voices."""
    seen = {True: ", trained on", False: ", not trained on", None: ""}[ranking.seen]
    where = f"{ranking.dimension or 'all dimensions'}{seen}"
    head = f"{ranking.voices_are} voices, {where}: {ranking.voices} voices, {ranking.clips} clips"
    if ranking.distance is None:
        return f"{head}: no distance ({ranking.reason})"
    p = ranking.reason if ranking.p is None else f"p = {ranking.p:.3g}"
    return f"{head}: Kendall distance {ranking.distance:.3f} ({p})"


def correlation(result: ClipResult) -> str:
    """Spearman's correlation with its interval."""
    if result.spearman_low is None:
        return format_number(result.spearman)
    low, high = format_number(result.spearman_low), format_number(result.spearman_high)
    return f"{format_number(result.spearman)} [{low}, {high}]"


def format_number(value: float | None) -> str:
    """A number with three decimals, or a dash."""
    return "-" if value is None else f"{value:.3f}"


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
        "other voices, raters and texts, so they are typical values, not a benchmark.",
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
    f1 = f"{ABSENT} ({result.reason})" if result.f1 is None else format_number(result.f1)
    counts = f"{result.human} / {result.flawed}"
    rest = (format_number(result.precision), format_number(result.recall))
    return [f1, *rest, counts, format_number(result.f1_always_human)]


def clips(results: Mapping[str, Evaluation]) -> str:
    """Errors over clips."""
    rows = [["predictions", "clips", "mean absolute error", "Spearman"]]
    for name, result in results.items():
        fit = result.clips
        rows.append(
            [name, str(fit.clips), format_number(fit.mean_absolute_error), correlation(fit)]
        )
    note = "Spearman with its 95 % interval over clips (Bonett and Wright 2000)."
    return f"{as_table(rows)}\n\n{note}"


def left_out(results: Mapping[str, Evaluation]) -> list[str]:
    """A list of what does not count, with the reasons; nothing where all does."""
    lines = [
        f"- {name}, {kind}: {count} ({reason})"
        for name, result in results.items()
        for kind, counts in (("clips", result.left_out), ("trap clips", result.traps.left_out))
        for reason, count in sorted(counts.items())
    ]
    return ["Left out:", "\n".join(lines)] if lines else []


def as_table(rows: Sequence[Sequence[str]]) -> str:
    """Rows of text, the first of them the head, as a table of Markdown."""
    escaped = [[text.replace("|", "\\|") for text in row] for row in rows]
    head, *body = [f"| {' | '.join(row)} |" for row in escaped]
    return "\n".join([head, "| " + " | ".join("---" for _ in rows[0]) + " |", *body])


SOURCE = "Wang et al. (2025), Table 4: 20 voices of 5 systems, Chinese, 857 raters"
ALL = "All"
# dimension as the paper spells it: distance and p of Auto-ATT, then of the plain Qwen2-Audio
PAPER: Mapping[str, tuple[float, float, float, float]] = {
    ALL: (0.3316, 0.0398, 0.3474, 0.0638),
    "Special Characters and Numerals": (0.2737, 0.0047, 0.3105, 0.0198),
    "Chinese–English Code-switching": (0.3368, 0.0468, 0.3737, 0.1284),
    "Paralinguistic Features and Emotions": (0.2789, 0.0059, 0.2789, 0.0059),
    "Classical Chinese Poetry/Prose": (0.3421, 0.0548, 0.3526, 0.0740),
    "Polyphonic Characters": (0.3316, 0.0398, 0.3474, 0.0638),
}
# F1 on the trap clips at 0.5, section 4.2.1
TRAP_F1: Mapping[str, float] = {"Auto-ATT": 0.92, "UTMOSv2": 0.14, "DNSMOS Pro": 0.0}
ABSENT = "–"


def table4(results: Mapping[str, Evaluation], voices_are: str = "new") -> list[list[str]]:
    """Rows of text: the dimensions of any file, ours per file as distance (p), then the paper's.

    ``voices_are``: "new", not trained on, or "all". Dimensions are matched to the paper's by their
    names without regard to case, dashes and what stands between words.
    """
    own = {name: by_dimension(result.rankings, voices_are) for name, result in results.items()}
    dimensions = list(dict.fromkeys(d for rankings in own.values() for d in rankings))
    rows = [["dimension", *own, "paper: Auto-ATT", "paper: Qwen2-Audio"]]
    for dimension in dimensions:
        cells = [ranking_cell(rankings.get(dimension)) for rankings in own.values()]
        rows.append([dimension, *cells, *paper_cells(dimension)])
    return rows


def by_dimension(rankings: Sequence[Ranking], voices_are: str) -> dict[str, Ranking]:
    """The rankings by dimension, all of them together first."""
    return {each.dimension or ALL: each for each in rankings if each.voices_are == voices_are}


def ranking_cell(ranking: Ranking | None) -> str:
    """Distance and p, or why there are none."""
    if ranking is None:
        return ABSENT
    if ranking.distance is None:
        return f"{ABSENT} ({ranking.reason})"
    p = ranking.reason if ranking.p is None else f"{ranking.p:.4f}"
    return f"{ranking.distance:.4f} ({p})"


def paper_cells(dimension: str) -> tuple[str, str]:
    """The paper's two cells for a dimension; dashes for one that it does not have."""
    known = {letters_of(name): numbers for name, numbers in PAPER.items()}
    numbers = known.get(letters_of(dimension))
    if numbers is None:
        return ABSENT, ABSENT
    return f"{numbers[0]:.4f} ({numbers[1]:.4f})", f"{numbers[2]:.4f} ({numbers[3]:.4f})"


def letters_of(name: str) -> str:
    """A name by its letters alone."""
    return "".join(character for character in name.casefold() if character.isalnum())
