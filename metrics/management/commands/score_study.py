"""manage.py score_study STUDY: its stimuli scored here and now, resumed where it stopped."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from metrics import runner, scoring
from metrics.base import Metric
from metrics.management.options import add_metric_options, chosen
from metrics.management.progress import Progress
from metrics.presets import Choice
from metrics.runner import ScoredBatch
from metrics.studymaterial import study_clips


class Command(BaseCommand):
    """Score a study's stimuli."""

    help = "Score a study's stimuli; audio that has its score already is skipped."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", help="The study's slug.")
        parser.add_argument(
            "--queue", action="store_true", help="Leave it to the workers, and return at once."
        )
        parser.add_argument("--shards", type=int, default=0, help="Parts of it, with --queue.")
        add_metric_options(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        metrics = chosen(options)
        if options["queue"]:
            self.queue(options["study"], metrics, options["shards"])
            return
        try:
            device = runner.resolve_device(options["device"])
            clips = study_clips(options["study"], metrics)
        except ValueError as error:
            raise CommandError(str(error)) from error
        work, _ = scoring.missing(clips, metrics)
        total = sum(len(wanted) for _, wanted in work)
        with Progress(total, self.stderr) as self.progress:
            tallies = scoring.score_and_store(
                clips, metrics, device, report=self.report, threads=options["threads"]
            )
        for tally in tallies:
            self.stdout.write(
                f"{tally.metric}: {tally.scored} scored, {tally.stored} scored before, "
                f"{tally.undefined} without a value, {tally.failed} failed"
            )

    def queue(self, study: str, metrics: list[Metric], shards: int) -> None:
        """Ask the workers, as the page does."""
        from metrics import runs
        from metrics.jobs import score_shard

        choices = [Choice(metric.key, metric.parameters_dict()) for metric in metrics]
        try:
            run = runs.ask_by_key(study, choices, score_shard.delay, shards)
        except ValueError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{run} is queued in {run.shards.count()} parts; the page shows it")

    def report(self, batch: ScoredBatch) -> None:
        """Say at once which stimulus has no value, and why."""
        self.progress.add(len(batch.clips), batch.metric.key)
        for clip, score in ((each.clip, each.score) for each in batch.clips):
            if score.value is None:
                self.progress.say(f"{batch.metric.key}: {clip.name}: {score.reason}")
