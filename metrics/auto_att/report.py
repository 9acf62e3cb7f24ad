"""What the Auto-ATT commands print: datasets, steps, predictions and evaluations as text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from metrics.auto_att.dataset import Dataset
from metrics.auto_att.evaluate import ClipResult, Evaluation, Ranking
from metrics.auto_att.predict import Prediction


def dataset_lines(made: Dataset) -> str:
    """Counts of a dataset and of what was left out."""
    summary = made.summary
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
    told = line.get("evaluation")
    on_others = (
        f"\n  on {told['clips']} clips not trained on: "
        f"error {number(told['mean_absolute_error'])}, Spearman {number(told['spearman'])}, "
        f"distance of new voices {number(told['distance_of_new_voices'])}, "
        f"F1 of traps {number(told['trap_f1'])}"
        if told
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
            f"{traps.flawed} flawed; calling all Human: {number(traps.f1_always_human)})"
        )
    for reason, count in sorted(traps.left_out.items()):
        lines.append(f"  traps left out: {count} ({reason})")
    for ranking in result.rankings:
        lines.append(f"  {ranking_line(ranking)}")
    lines.append(
        f"  clips: {clips.clips}, mean absolute error {number(clips.mean_absolute_error)}, "
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


def correlation(of: ClipResult) -> str:
    """Spearman's correlation with its interval."""
    if of.spearman_low is None:
        return number(of.spearman)
    return f"{number(of.spearman)} [{number(of.spearman_low)}, {number(of.spearman_high)}]"


def number(value: float | None) -> str:
    """A number with three decimals, or a dash."""
    return "-" if value is None else f"{value:.3f}"
