"""manage.py score_files FILE...: files, folders or manifests scored, as text or JSON lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from metrics import audio, records, runner, summary
from metrics.inputs import InputClip, InputError, clips_of
from metrics.management.metric_options import add_metric_options, chosen
from metrics.management.no_value_reasons import Reasons, one_line
from metrics.management.progress import Progress
from metrics.metric import Metric
from metrics.parts_of_files import part_of
from metrics.records import RecordFile, RecordsError
from metrics.runner import Clip, ScoredBatch
from metrics.selectors import label_of

EPILOG = """A manifest is CSV or JSONL with the column file, any of stimulus, condition, item, text,
language, speaker, turns and reference, and attributes under other names (caption, synthesis_s)."""


class Command(BaseCommand):
    """Score audio files."""

    help = (
        "Score audio files, the files of a folder, or those of a manifest (CSV or JSONL); nothing "
        f"is stored unless --store says so. Ends with status 1 when a score failed. {EPILOG}"
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("files", nargs="+", metavar="FILE|FOLDER|MANIFEST")
        parser.add_argument("--jsonl", action="store_true", help="Print JSON, a line per score.")
        parser.add_argument(
            "--out", metavar="FILE.jsonl", help="Write there, and go on where it was left."
        )
        parser.add_argument(
            "--store", action="store_true", help="Keep scores in the database, too; use its own."
        )
        parser.add_argument(
            "--part",
            default="",
            metavar="NUMBER/COUNT",
            help="Only this part of the clips, such as 2/8: another machine has the others. With "
            "--out scores.jsonl, it is written to scores.part-2-of-8.jsonl.",
        )
        add_metric_options(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        metrics = chosen(options)
        try:
            part = part_of(options["part"])
        except ValueError as error:
            raise CommandError(str(error)) from error
        if part and options["out"]:
            options["out"] = part.path(options["out"])
        try:
            self.device = runner.resolve_device(options["device"])
            given = clips_of(options["files"])
            if part:
                every, given = len(given), part.of(given)
                self.stderr.write(f"part {options['part']}: {len(given)} of {every} clips")
            self.file = RecordFile(options["out"]) if options["out"] else None
        except (InputError, RecordsError, ValueError) as error:
            raise CommandError(str(error)) from error
        self.known = {clip.path: clip for clip in given}
        self.store, self.jsonl = options["store"], options["jsonl"]
        clips, failed = self.hashed(given)
        self.records: list[dict[str, Any]] = []
        failed += self.score(clips, metrics, options["threads"])
        if not self.jsonl and len(given) > 1:
            self.summarise(metrics, clips)
        if failed:
            raise CommandError(f"{failed} scores failed; the reasons are above")

    def hashed(self, given: list[InputClip]) -> tuple[list[Clip], int]:
        """The files as clips, and how many cannot be read (each is named on standard error)."""
        clips, failed = [], 0
        for each in given:
            try:
                clips.append(runner.clip_of(each.path, each.material))
            except audio.AudioError as error:
                self.stderr.write(str(error))
                failed += 1
        return clips, failed

    def score(self, clips: list[Clip], metrics: list[Metric], threads: int) -> int:
        """Score what is missing, telling it as it comes; how many failed."""
        failed = 0
        if self.store:
            from metrics import scoring

            work, _ = scoring.missing(clips, metrics)
        elif self.file:
            work, _ = self.file.missing(clips, metrics)
        else:
            work = [(clip, metrics) for clip in clips]
        total = sum(len(wanted) for _, wanted in work)
        before = sum(len(metrics) for _ in clips) - total
        if before:
            self.stderr.write(f"{before} of {before + total} scores are there already")
        with Progress(total, self.stderr) as progress:
            self.reasons = Reasons(progress.say)
            for batch in runner.score_work(work, self.device, threads=threads):
                failed += self.report(batch, progress)
        for line in self.reasons.lines():
            self.stderr.write(line)
        return failed

    def report(self, batch: ScoredBatch, progress: Progress) -> int:
        """Write a batch's scores wherever they are wanted; how many failed."""
        new_records = records.records(batch, self.device, self.known)
        if self.store:
            from metrics import scoring

            scoring.store(batch, self.device)
        if self.file:
            self.file.add(new_records)
        self.records += [{**record, "provenance": None} for record in new_records]
        labels = {output.key: label_of(batch.metric, output) for output in batch.metric.outputs()}
        for record in new_records:
            if self.jsonl:
                self.stdout.write(records.line_of(record), ending="")
            elif not self.file and not of_all_clips(record):
                self.stdout.write(text_line(record, labels[record["metric"]]))
            elif record["reason"]:
                reason = record["reason"].removeprefix(f"{record['file']}: ")
                self.reasons.add(labels[record["metric"]], record["file"], reason)
        progress.add(len(batch.clips), batch.metric.key)
        return sum(scored.score.failed for scored in batch.clips)

    def summarise(self, metrics: list[Metric], clips: list[Clip]) -> None:
        """A table per output: conditions with their counts, means and intervals."""
        stored = dict(self.file.done) if self.file else {}
        stored |= {records.key_of(record): record for record in self.records}
        for metric in metrics:
            for place, output in enumerate(metric.outputs()):
                keys = [(clip, records.keys_of(metric, clip)[place]) for clip in clips]
                scores = [
                    (self.known[clip.path].condition, records.score_of(stored[key]))
                    for clip, key in keys
                    if key in stored
                ]
                if scores:
                    summaries = summary.summarise(scores, metric, output.key)
                    lines = summary.table(label_of(metric, output), summaries)
                    self.stdout.write("\n".join(["", *lines]))


def of_all_clips(record: dict[str, Any]) -> bool:
    """Whether a score failed for what is wrong with the metric, not with the file."""
    return bool(record["failed"]) and record["file"] not in record["reason"]


def text_line(record: dict[str, Any], label: str) -> str:
    """A record as columns: label, value, file, and the reason where there is no value."""
    value = "-" if record["value"] is None else f"{record['value']:.5g}"
    path = record["file"]
    reason = one_line(record["reason"].removeprefix(path + ": "))
    return f"{label:<24} {value:>10}  {Path(path)}{f'  ({reason})' if reason else ''}"
