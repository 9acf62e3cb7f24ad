"""manage.py score_dataset SOURCE: a dataset of any size scored by Ray, as Parquet."""

from __future__ import annotations

import logging
import os
import socket
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from config.missing_packages import installing
from listening.common.counted import counted
from listening.common.remote_files import problem_at
from metrics.management.metric_options import add_metric_options, apply_precision_options, chosen
from metrics.management.run_output import Progress, Reasons
from metrics.scoring.datasets import (
    DatasetError,
    Portion,
    Workers,
    check_results_folder,
    score_dataset,
)
from metrics.scoring.inputs import InputError
from metrics.scoring.run_cost import HOUR_S, cost_lines
from metrics.scoring.scored_rows import AUDIO

START_S = "300"  # that a busy machine may take to start Ray
CONNECT_S = 10.0
CLIP_S = 10.0  # of the clips that an hour of audio is reckoned in


class Command(BaseCommand):
    help = (
        "Score a dataset of any size with Ray, on this machine or on a cluster: a table, a folder, "
        "Parquet or WebDataset files, or a folder in S3 and other storage. Writes Parquet files to "
        "a folder; the same command resumes. Ends with status 1 if a score failed."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("source", metavar="TABLE|FOLDER|FILES|ADDRESS")
        parser.add_argument("--out", type=Path, required=True, help="Folder for the results.")
        parser.add_argument(
            "--ray", default="", metavar="ADDRESS", help="Cluster to use (default: this machine)."
        )
        parser.add_argument(
            "--workers", type=int, default=0, help="Processes (default: one per CPU or GPU)."
        )
        parser.add_argument(
            "--gpus-per-worker",
            type=float,
            default=0.0,
            help="GPUs of each process, such as 1 or 0.5 (default 0: CPU).",
        )
        parser.add_argument("--audio", default=AUDIO, help=f"Column of sounds (default {AUDIO}).")
        add_metric_options(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is told to its makers
        os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # its remarks on actors help nobody
        os.environ.setdefault("RAY_raylet_start_wait_time_s", START_S)
        try:
            import ray
        except ImportError as error:
            raise CommandError(f"Ray is not installed: {installing('ray')}") from error
        gpus = options["gpus_per_worker"]
        device = options["device"] if options["device"] != "auto" else "cuda" if gpus else "cpu"
        metrics = apply_precision_options(chosen(options), options, "", self.stderr.write)
        workers = Workers(options["workers"], gpus, device)
        if not gpus:  # how much audio there is, only the workers will know
            clips = [(CLIP_S, metrics)] * round(HOUR_S / CLIP_S)
            for line in cost_lines(clips, audio="each hour of audio"):
                self.stderr.write(line)
        check_address(options["ray"])
        try:
            check_results_folder(options["out"], metrics)
        except DatasetError as error:
            raise CommandError(str(error)) from error
        try:
            ray.init(
                options["ray"] or "local",
                include_dashboard=False,
                logging_level=logging.WARNING,
                log_to_driver=False,
                runtime_env={"env_vars": {"PYTHONPATH": os.pathsep.join(sys.path)}},
            )
        except Exception as error:  # Ray raises a plain Exception where a node starts too slowly
            raise CommandError(f"Ray did not start: {error}") from error
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        context.raise_original_map_exception = True
        logging.getLogger("ray.data").setLevel(logging.CRITICAL)  # errors are said below
        failed = 0
        try:
            with Progress(0, self.stderr, "rows") as progress:
                reasons = Reasons(progress.say)
                say = self.stderr.write
                for portion in score_dataset(
                    options["source"], metrics, options["out"], workers, say, options["audio"]
                ):
                    failed += portion.failed
                    report_reasons(portion, reasons)
                    progress.add(portion.rows)
            rows = counted(progress.done, "row")
            self.stdout.write(f"{rows} scored; results are in {options['out']}")
        except ray.exceptions.RayTaskError as error:
            why = str(error.cause).partition("\n")[0]  # Ray adds lines
            raise CommandError(problem_at(options["source"], why)) from error
        except (DatasetError, InputError, OSError, ValueError) as error:
            raise CommandError(str(error)) from error
        finally:
            ray.shutdown()
        if failed:
            raise CommandError(
                f"Rows with failed scores: {failed:,}, in the files failed-*.parquet. The same "
                "command tries them again."
            )


def report_reasons(portion: Portion, reasons: Reasons) -> None:
    """Each reason once, with the outputs that it is of: a broken file's is of all."""
    outputs: dict[tuple[str, str], list[str]] = {}
    for output, (key, reason) in portion.reasons.items():
        outputs.setdefault((key, reason), []).append(output)
    for (key, reason), names in outputs.items():
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        reasons.add(f"{names[0]}{more}", key, reason)


def check_address(address: str) -> None:
    """Raise CommandError where nothing answers at HOST:PORT; Ray itself would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not port.isdecimal():
        return  # such as auto
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_S).close()
    except (OSError, OverflowError) as error:
        raise CommandError(
            f"--ray {address}: nothing answers there ({error}). Give the address that “ray start” "
            "printed, or “auto” on a node of the cluster."
        ) from error
