"""manage.py score_study STUDY: its stimuli scored here and now, resumed where it stopped."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from listening.common.counted import counted
from metrics.core.metric import Metric
from metrics.management.metric_options import (
    add_metric_options,
    apply_precision_options,
    arithmetic_from_options,
    chosen,
)
from metrics.management.run_output import InputNotes, Progress, Reasons
from metrics.scoring import runner, study_scores
from metrics.scoring.presets import Choice
from metrics.scoring.run_cost import run_cost_lines
from metrics.scoring.runner import Clip, ScoredBatch
from metrics.scoring.selectors import label_of
from metrics.scoring.study_material import heard_stimuli, study_clips


class Command(BaseCommand):
    help = (
        "Score a study's stimuli. Skips audio that has its score already. Ends with status 1 if "
        "a score failed."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", help="Study key.")
        parser.add_argument(
            "--queue",
            action="store_true",
            help="Leave the work to the workers, and return at once.",
        )
        parser.add_argument(
            "--lines",
            action="store_true",
            help="Also score the lines that raters hear only as parts of joined clips.",
        )
        parser.add_argument(
            "--shards", type=int, default=0, help="Number of parts of the run, with --queue."
        )
        add_metric_options(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        metrics = chosen(options)
        if options["queue"]:
            if options["lines"]:
                raise CommandError("--lines scores here and now: leave out --queue")
            self.queue(options["study"], metrics, options)
            return
        try:
            device = runner.resolve_device(options["device"])
            metrics = apply_precision_options(metrics, options, device, self.stderr.write)
            clips = study_clips(options["study"], metrics, lines=options["lines"])
        except ValueError as error:
            raise CommandError(str(error)) from error
        if not options["lines"]:
            self.tell_left_out(options["study"])
        work, stored = study_scores.missing(clips, metrics)
        for line in run_cost_lines(work, device):
            self.stderr.write(line)
        total = sum(len(wanted) for _, wanted in work)
        with Progress(total, self.stderr) as self.progress:
            self.reasons, self.notes = Reasons(self.progress.say), InputNotes()
            self.unread: set[Clip] = set()
            tallies = study_scores.score_and_store(
                work,
                stored,
                metrics,
                device,
                self.report,
                options["threads"],
                options["metric_by_metric"],
            )
        for line in (*self.reasons.lines(), *self.notes.lines()):
            self.stderr.write(line)
        for metric, tally in zip(metrics, tallies, strict=True):
            self.stdout.write(
                f"{label_of(metric, metric.outputs()[0])}: {tally.scored} scored, "
                f"{tally.stored} done before, {tally.undefined} without a value, "
                f"{tally.failed} failed"
            )
        if failed := sum(tally.failed for tally in tallies):
            raise CommandError(f"{failed} scores failed; the reasons are above")

    def tell_left_out(self, study: str) -> None:
        """Say that lines of joined clips are not scored, where there are some."""
        if left := heard_stimuli(study)[1]:
            self.stdout.write(
                f"{left} lines that are heard only in joined clips are left out; --lines scores "
                "them, too."
            )

    def queue(self, study: str, metrics: list[Metric], options: dict[str, Any]) -> None:
        """Ask the workers, as the page does."""
        from metrics.jobs import score_shard
        from metrics.scoring import runs

        metrics = apply_precision_options(metrics, options, "", self.stderr.write)
        choices = [Choice.of(metric) for metric in metrics]
        try:
            run = runs.start_run_by_key(
                study,
                choices,
                score_shard.delay,
                options["shards"],
                arithmetic_from_options(options),
            )
        except ValueError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(
            f"{run} is queued in {counted(run.shards.count(), 'part')}; the page shows it"
        )

    def report(self, batch: ScoredBatch) -> None:
        """Say at once why stimuli have no value, each kind of reason with one of them."""
        label = label_of(batch.metric, batch.metric.outputs()[0])
        self.progress.add(len(batch.clips), label)
        for each in batch.clips:
            if each.unread:  # one line, whatever was asked about it
                if each.clip not in self.unread:
                    self.reasons.add("every metric", each.clip.name, each.score.reason)
                self.unread.add(each.clip)
            elif each.score.value is None:
                self.reasons.add(label, each.clip.name, each.score.reason)
            self.notes.add(each.clip.name, each.score.warnings)
