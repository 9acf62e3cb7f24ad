"""manage.py score_files FILE...: files, folders or manifests scored, as text or JSON lines."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from listening.common.counted import counted
from metrics.core import decoding
from metrics.core.decoding import printable
from metrics.core.metric import Metric, Score
from metrics.management.metric_options import add_metric_options, apply_precision_options, chosen
from metrics.management.run_output import InputNotes, Progress, Reasons, one_line
from metrics.scoring import records, runner
from metrics.scoring.inputs import KNOWN, InputClip, InputError, parse_part, read_clips
from metrics.scoring.records import Inputs, RecordFile, RecordsError
from metrics.scoring.run_cost import run_cost_lines
from metrics.scoring.runner import Clip, ScoredBatch
from metrics.scoring.selectors import label_of
from metrics.web import summary
from metrics.web.summary import run_name

EPILOG = f"""A manifest is CSV or JSONL with the column file, any of {", ".join(KNOWN[1:])}, and
attributes under other names (caption, synthesis_s)."""
UNREAD = "cannot be read"


class Command(BaseCommand):
    help = (
        "Score audio files, the files of a folder, or those of a manifest (CSV or JSONL). "
        f"Stores nothing unless --store is given. Ends with status 1 if a score failed. {EPILOG}"
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("files", nargs="+", metavar="FILE|FOLDER|MANIFEST")
        parser.add_argument("--jsonl", action="store_true", help="Print JSON, one line per score.")
        parser.add_argument(
            "--out",
            metavar="FILE.jsonl",
            help="Write scores to this file, and resume where an earlier run stopped.",
        )
        parser.add_argument(
            "--store",
            action="store_true",
            help="Store scores in the database, too, and use those stored there.",
        )
        parser.add_argument(
            "--part",
            default="",
            metavar="NUMBER/COUNT",
            help=(
                "Score only this part of the clips, such as 2/8, and leave the others to other "
                "machines. With --out scores.jsonl, writes scores.part-2-of-8.jsonl."
            ),
        )
        add_metric_options(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        metrics = chosen(options)
        self.store, self.jsonl = options["store"], options["jsonl"]
        self.scores: dict[records.Key, Score] = {}  # where no file has them
        self.unread: dict[str, InputClip] = {}  # by path
        self.notes = InputNotes()
        notes: list[str] = []
        with contextlib.ExitStack() as closing:
            try:
                self.device = runner.resolve_device(options["device"])
                metrics = apply_precision_options(metrics, options, self.device, self.stderr.write)
                named_clips = self.own_part(read_clips(options["files"], notes), options)
                file = RecordFile(options["out"]) if options["out"] else None
                self.file = closing.enter_context(file) if file else None
                for note in notes:
                    self.stderr.write(note)
                self.inputs = self.hash_inputs(named_clips)
                failed = self.score(metrics, options)
                for line in self.notes.lines():
                    self.stderr.write(line)
                if not self.jsonl and len(named_clips) > 1:
                    self.summarise(metrics)
            except (InputError, RecordsError, ValueError) as error:
                raise CommandError(str(error)) from error
        self.end(failed)

    def own_part(self, named_clips: list[InputClip], options: dict[str, Any]) -> list[InputClip]:
        """The clips of --part, and --out as that part is called."""
        if (part := parse_part(options["part"])) is None:
            return named_clips
        if options["out"]:
            options["out"] = part.path(options["out"])
        own = part.select(named_clips)
        self.stderr.write(f"part {options['part']}: {len(own)} of {len(named_clips)} clips")
        return own

    def end(self, failed: int) -> None:
        """Fail when something did."""
        unread = len(self.unread)
        parts = [f"{unread} {'file' if unread == 1 else 'files'} {UNREAD}"] if unread else []
        parts += [f"{counted(failed, 'score')} failed"] if failed else []
        if parts:
            raise CommandError(f"{' and '.join(parts)}; the reasons are above")

    def hash_inputs(self, named_clips: list[InputClip]) -> Inputs:
        """The files as clips; report those that cannot be opened."""
        pairs, seen = [], set()
        for each in named_clips:
            name = (each.path, each.stimulus, each.condition, each.run)
            if name in seen:  # given twice
                continue
            seen.add(name)
            try:
                pairs.append((each, runner.clip_from_file(each.path, each.material)))
            except decoding.AudioError as error:
                self.tell_unread(each, str(error), self.stderr.write)
        return Inputs(pairs)

    def score(self, metrics: list[Metric], options: dict[str, Any]) -> int:
        """Score what is missing, telling it as it comes; how many failed."""
        failed, clips = 0, self.inputs.clips
        if self.store:
            from metrics.scoring import study_scores

            work, _ = study_scores.missing(clips, metrics)
        elif self.file:
            work, _ = self.file.missing(clips, metrics)
        else:
            work = unique_work(clips, metrics)
        total = sum(len(wanted) for _, wanted in work)
        before = sum(len(wanted) for _, wanted in unique_work(clips, metrics)) - total
        if before:
            self.stderr.write(
                f"{before} of {before + total} scores (one per clip and metric) are there already"
            )
        if self.file and (more := self.file.name_the_others(self.inputs, metrics)):
            self.stderr.write(f"{more} of them are written for files with the same audio")
        for line in run_cost_lines(work, self.device):
            self.stderr.write(line)
        with Progress(total, self.stderr, stored=bool(self.file or self.store)) as progress:
            self.reasons = Reasons(progress.say)
            for batch in runner.score_work(
                work,
                self.device,
                threads=options["threads"],
                metric_by_metric=options["metric_by_metric"],
            ):
                failed += self.report(batch, progress)
        for line in self.reasons.lines():
            self.stderr.write(line)
        return failed

    def report(self, batch: ScoredBatch, progress: Progress) -> int:
        """Write a batch's scores wherever they are wanted; how many failed."""
        new_records = records.batch_records(batch, self.device, self.inputs)
        if self.store:
            from metrics.scoring import study_scores

            study_scores.store(batch, self.device)
        if self.file:
            self.file.add(new_records)
        else:
            self.scores |= {
                records.record_key(each): records.record_score(each) for each in new_records
            }
        labels = {output.key: label_of(batch.metric, output) for output in batch.metric.outputs()}
        firsts: dict[str, str] = {}  # reasons of the metric's first output, by file
        for record in new_records:
            first = firsts.setdefault(record["file"], record["reason"])
            repeated = record["metric"] != batch.metric.key and record["reason"] == first
            self.tell(record, labels[record["metric"]], repeated)
        for scored in batch.clips:
            if scored.unread:
                for named, clip in self.inputs.matching(scored.clip):
                    if named:
                        self.tell_unread(named, scored.score.reason, progress.say, clip.sha256)
        progress.add(len(batch.clips), batch.metric.key)
        return sum(scored.score.failed and not scored.unread for scored in batch.clips)

    def tell(self, record: dict[str, Any], label: str, repeated: bool) -> None:
        """One score on the screen; ``repeated``: its reason is that of the metric's first one."""
        self.notes.add(printable(record["file"]), record["warnings"])
        if self.jsonl:
            self.stdout.write(records.record_line(record), ending="")
        elif not self.file and not concerns_metric(record):
            self.stdout.write(text_line(record, label))
        elif record["reason"] and not repeated:
            reason = record["reason"].removeprefix(f"{record['file']}: ")
            self.reasons.add(label, printable(record["file"]), printable(one_line(reason)))

    def tell_unread(self, named: InputClip, reason: str, say: Any, sha256: str = "") -> None:
        """One line for a file that no metric can be asked about, wherever scores are wanted."""
        if named.path in self.unread:
            return
        self.unread[named.path] = named
        record = records.unread_record(named, reason, sha256)
        if self.file:
            self.file.add([record])
        if self.jsonl:
            self.stdout.write(records.record_line(record), ending="")
        elif not self.file:
            self.stdout.write(text_line(record, UNREAD))
            return
        say(printable(reason))

    def summarise(self, metrics: list[Metric]) -> None:
        """A table per output: conditions with their counts, means and intervals."""
        lost = [
            (named.condition, Score(None, UNREAD, failed=True)) for named in self.unread.values()
        ]
        for metric in metrics:
            for place, output in enumerate(metric.outputs()):
                known = list(self.known_scores(metric, place))
                if not known:
                    continue
                scores = [(named.condition, score) for named, score in known]
                runs = ((n.condition, run_name(n.run), score.value) for n, score in known)
                summaries = summary.summarise([*scores, *lost], metric, output.key)
                summaries = summary.with_runs(summaries, runs)
                lines = summary.summary_lines(label_of(metric, output), summaries, output)
                self.stdout.write("\n".join(["", *lines]))

    def known_scores(self, metric: Metric, place: int) -> Iterator[tuple[InputClip, Score]]:
        """Each input with its score by one output of a metric, where there is one."""
        for named, clip in self.inputs.pairs:
            key = records.metric_keys(metric, clip)[place]
            if self.file and key in self.file.done:
                yield named, records.record_score(self.file.record(key))
            elif key in self.scores:
                yield named, self.scores[key]


def unique_work(clips: list[Clip], metrics: list[Metric]) -> list[runner.Work]:
    """Every clip with every metric; of equal audio and material the first one stands for all."""
    seen: set[records.Key] = set()
    work: list[runner.Work] = []
    for clip in clips:
        keys = {metric: records.metric_keys(metric, clip)[0] for metric in metrics}
        work.append((clip, tuple(m for m, key in keys.items() if key not in seen)))
        seen |= set(keys.values())
    return work


def concerns_metric(record: dict[str, Any]) -> bool:
    """Whether a score failed for what is wrong with the metric, not with the file."""
    return bool(record["failed"]) and record["file"] not in record["reason"]


def text_line(record: dict[str, Any], label: str) -> str:
    """A record as columns: label, value, file, and the reason where there is no value."""
    value = "-" if record["value"] is None else f"{record['value']:.5g}"
    path = printable(record["file"])
    reason = printable(one_line(record["reason"].removeprefix(record["file"] + ": ")))
    warned = ", ".join(record.get("warnings") or ())
    more = "".join([f"  ({reason})" if reason else "", f"  [{warned}]" if warned else ""])
    return f"{label:<24} {value:>10}  {path}{more}"
