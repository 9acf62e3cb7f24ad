"""manage.py ablate_metric STUDY METRIC: one metric under several settings, by condition.

This is the ablation table of LFS-Bench (its Tables 11 and 12). It shows whether the order of the
systems depends on how the metric is set.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from listening.common.command_name import command
from listening.common.plain_json import JsonError, read_json
from listening.common.spreadsheets import safe_cell
from listening.common.whole_files import write_whole
from metrics.core.metric import Metric, ParameterError, make_metric
from metrics.management.judging import align_table
from metrics.management.run_output import Progress
from metrics.scoring import runner, study_scores
from metrics.scoring.selectors import label_of, score_rows
from metrics.scoring.study_material import heard_stimuli, study_clips


class Command(BaseCommand):
    help = (
        "Score a study's stimuli with one metric under several settings, and print the mean, the "
        "SD and the number of clips of each condition. The scores are stored: reports compare each "
        "setting with the ratings."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", help="Study key.")
        parser.add_argument("metric", help="Metric key.")
        parser.add_argument(
            "--setting",
            action="append",
            required=True,
            metavar="NAME=VALUE,…",
            help="One row of the table, such as window_s=4,hop_s=2. Repeat for more rows.",
        )
        parser.add_argument("--out", type=Path, metavar="FILE.csv", help="Also write a CSV file.")
        parser.add_argument("--device", default="auto", help="Device: auto, cpu or cuda.")
        parser.add_argument("--threads", type=int, default=1, help="CPU threads (default 1).")

    def handle(self, *args: Any, **options: Any) -> None:
        study, settings = options["study"], [read_setting(text) for text in options["setting"]]
        try:
            metrics = [make_metric(options["metric"], setting) for setting in settings]
            device = runner.resolve_device(options["device"])
            clips = study_clips(study, metrics)
        except (ParameterError, ValueError, TypeError) as error:
            raise CommandError(str(error)) from error
        if len(set(map(study_scores.settings_of, metrics))) < len(metrics):
            raise CommandError("Two settings are equal. Delete one of them.")
        work, stored = study_scores.missing(clips, metrics)
        with Progress(sum(len(wanted) for _, wanted in work), self.stderr) as progress:
            tallies = study_scores.score_and_store(
                work,
                stored,
                metrics,
                device,
                lambda batch: progress.add(len(batch.clips), batch.metric.key),
                options["threads"],
            )
        cells = ablation_cells(study, metrics, settings)
        self.stdout.write(align_table(wide_table(cells)))
        if options["out"]:
            file = StringIO()
            writer = csv.DictWriter(file, list(cells[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows({name: safe_cell(str(cell[name])) for name in cell} for cell in cells)
            write_whole(options["out"], file.getvalue().encode())
        if failed := sum(tally.failed for tally in tallies):
            raise CommandError(f"{failed} scores failed. {command('score_study')} says why.")


def read_setting(text: str) -> dict[str, Any]:
    """Parameters by name; values are JSON where they can be, else text."""
    setting: dict[str, Any] = {}
    for part in filter(None, text.split(",")):
        name, equals, value = part.partition("=")
        if not equals or not name.strip():
            raise CommandError(f"“{part}” is no setting. Write name=value, such as window_s=4.")
        try:
            setting[name.strip()] = read_json(value)
        except JsonError:
            setting[name.strip()] = value
    return setting


def ablation_cells(
    study: str, metrics: Sequence[Metric], settings: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """For each setting and condition: the values set, the condition, mean, SD and clips."""
    conditions = {row["stimulus"]: row["condition"] for row, _ in heard_stimuli(study)[0]}
    names = list(dict.fromkeys(name for setting in settings for name in setting))
    cells = []
    for metric in metrics:
        values: dict[str, list[float]] = {condition: [] for condition in conditions.values()}
        for row in score_rows(study, label_of(metric, metric.outputs()[0])):
            if row["value"] is not None and row["stimulus"] in conditions:
                values[conditions[row["stimulus"]]].append(row["value"])
        used = {name: metric.parameters_dict()[name] for name in names}
        for condition, known in values.items():
            mean = fmean(known) if known else ""
            sd = stdev(known) if len(known) > 1 else ""
            cells.append(
                {**used, "condition": condition, "mean": mean, "sd": sd, "clips": len(known)}
            )
    return cells


def wide_table(cells: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """A row per setting, a column per condition: mean (SD, clips), three decimals."""
    names = [name for name in cells[0] if name not in ("condition", "mean", "sd", "clips")]
    columns = list(dict.fromkeys(cell["condition"] for cell in cells))
    rows: dict[tuple[str, ...], list[str]] = {}
    for cell in cells:
        row = rows.setdefault(tuple(str(cell[name]) for name in names), [])
        sd = f"{cell['sd']:.3f}" if cell["clips"] > 1 else "-"
        row.append(f"{cell['mean']:.3f} ({sd}, {cell['clips']})" if cell["clips"] else "-")
    return [[*names, *columns], *([*setting, *row] for setting, row in rows.items())]
