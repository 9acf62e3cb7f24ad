"""manage.py score_files FILE...: audio files scored without a database, as text or JSON lines."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from metrics import audio, runner
from metrics.base import Metric
from metrics.management.options import add_metric_options, chosen
from metrics.runner import Clip, ScoredClip


class Command(BaseCommand):
    """Score audio files."""

    help = "Score audio files; nothing is stored. Ends with status 1 when a file failed."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("files", nargs="+", metavar="FILE")
        parser.add_argument("--jsonl", action="store_true", help="One JSON object per score.")
        add_metric_options(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        metrics = chosen(options)
        try:
            device = runner.resolve_device(options["device"])
        except ValueError as error:
            raise CommandError(str(error)) from error
        clips, failed = self.hashed(options["files"])
        work = [(clip, metrics) for clip in clips]
        for batch in runner.score_work(work, device, threads=options["threads"]):
            provenance = runner.provenance(batch.metric, device)
            for scored in batch.clips:
                self.stdout.write(
                    json_line(batch.metric, scored, provenance)
                    if options["jsonl"]
                    else text_line(batch.metric, scored)
                )
                failed += scored.score.failed
        if failed:
            raise CommandError(f"{failed} scores failed; the reasons are above")

    def hashed(self, paths: list[str]) -> tuple[list[Clip], int]:
        """The files as clips, and how many cannot be read (each is named on standard error)."""
        clips, failed = [], 0
        for path in paths:
            try:
                clips.append(runner.clip_of(path))
            except audio.AudioError as error:
                self.stderr.write(str(error))
                failed += 1
        return clips, failed


def json_line(metric: Metric, scored: ScoredClip, provenance: dict[str, Any]) -> str:
    """A score with everything needed to make it again, as one line of JSON."""
    score = scored.score
    record = {
        "file": scored.clip.path,
        "sha256": scored.clip.sha256,
        "metric": metric.key,
        "version": metric.version,
        "parameters": metric.parameters_dict(),
        "value": score.value,
        "reason": score.reason,
        "failed": score.failed,
        "details": dict(score.details),
        "provenance": provenance,
    }
    return json.dumps(record, ensure_ascii=False)


def text_line(metric: Metric, scored: ScoredClip) -> str:
    """A score as columns: metric, value, file, and the reason where there is no value."""
    score = scored.score
    value = "-" if score.value is None else f"{score.value:.5g}"
    path = scored.clip.path
    reason = f"  ({score.reason.removeprefix(path + ': ')})" if score.reason else ""
    return f"{metric.key:<24} {value:>10}  {path}{reason}"
