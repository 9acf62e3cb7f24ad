"""manage.py judge_batch: a judge's questions through a provider's batch interface."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from metrics.core import decoding
from metrics.core.metric import Metric, ParameterError, make_metric
from metrics.core.weights import Unavailable
from metrics.judges import batch
from metrics.judges.batch import BatchClient, BatchError
from metrics.judges.client import Client, current_endpoint, required_endpoint
from metrics.judges.judge import Judge
from metrics.management.judging import add_source, judged_clips
from metrics.management.metric_options import chosen_parameters
from metrics.scoring import runner
from metrics.scoring.runner import Clip


class Command(BaseCommand):
    help = (
        "Query a judge through a batch interface, which is slower and cheaper. --write "
        "FILE.jsonl writes the questions that are not in the cache, --send sends them, --collect "
        "puts the answers into the cache. score_study and score_files then read them from there."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        add_source(parser)
        judges = [key for key, cls in Metric.registry.items() if issubclass(cls, Judge)]
        parser.add_argument("--metric", required=True, choices=judges)
        parser.add_argument(
            "--parameters", default="{}", help="Parameters as JSON by metric, as for score_files."
        )
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument(
            "--write",
            metavar="FILE.jsonl",
            help="Write the questions to this file, for any provider.",
        )
        what.add_argument(
            "--send",
            action="store_true",
            help="Send the questions to EARNEST_JUDGE_URL, as a batch of 24 hours.",
        )
        what.add_argument(
            "--collect",
            metavar="BATCH|FILE.jsonl",
            help="Collect the answers of a batch, or of its output file.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        import openai

        try:
            judge, clips = self.judge_and_clips(options)
            if options["collect"]:
                self.collect(judge, clips, options["collect"])
            else:
                self.ask(judge, clips, options)
        except (ParameterError, decoding.AudioError, BatchError, Unavailable) as error:
            raise CommandError(str(error)) from error
        except openai.OpenAIError as error:
            message = current_endpoint().hidden(str(error))
            raise CommandError(f"the server takes no batch: {message}") from error

    def judge_and_clips(self, options: dict[str, Any]) -> tuple[Judge, list[Clip]]:
        """The judge and the clips that the options name."""
        key = options["metric"]
        judge = make_metric(key, chosen_parameters(options).get(key))
        assert isinstance(judge, Judge)
        return judge, judged_clips(options)

    def ask(self, judge: Judge, clips: Sequence[Clip], options: dict[str, Any]) -> None:
        """Write or send what the cache does not know."""
        client = run(judge, clips)
        if not client.pending:
            self.stdout.write(
                "Every question has its answer in the cache; there is nothing to ask."
            )
            return
        client.check_budget()
        text = "".join(line + "\n" for line in batch.request_lines(client.pending))
        summary = (
            f"{len(client.pending)} questions about {len(clips)} clips, {len(text) / 1e6:.1f} MB"
        )
        if options["write"]:
            batch.write(Path(options["write"]), text)
            self.stdout.write(f"{summary}: {options['write']}")
            return
        name = batch.send(Client(client.endpoint), text, f"{judge.key}, {len(clips)} clips")
        self.stdout.write(f"{summary}: batch {name}. Later: the same command with --collect {name}")

    def collect(self, judge: Judge, clips: Sequence[Clip], source: str) -> None:
        """Check the answers of a batch or of its output file, and keep those that can be used."""
        state, text = "a file", ""
        if Path(source).is_file():
            text = Path(source).read_text(encoding="utf-8")
        else:
            state, text = batch.fetch_output(
                Client(required_endpoint(judge.parameters.model)), source
            )
            if state not in batch.ENDED:
                self.stdout.write(f"batch {source} is {state}; try again later")
                return
        answers, failed = batch.parse_output(text, source)
        client = run(judge, clips, answers)
        used = len(answers.keys() - client.failed.keys() - client.unknown())
        self.stdout.write(
            f"batch {source} ({state}): {used} answers are in the cache, "
            f"{len(failed) + len(client.failed)} failed, {len(client.unknown())} belong to other "
            f"questions, {len(client.pending)} questions are without an answer"
        )
        for reason in sorted({*failed.values(), *client.failed.values()}):
            self.stderr.write(f"failed: {reason}")
        if client.pending or client.failed:
            self.stdout.write("The same command with --send requests the missing answers.")


def run(judge: Judge, clips: Sequence[Clip], answers: dict[str, Any] | None = None) -> BatchClient:
    """Run the metric against the cache and the batch's answers; what it asked is in the client."""
    client = BatchClient(required_endpoint(judge.parameters.model), answers)
    judge.client_made = lambda _: client
    runner.forget_models()  # a judge of this process that asks the server
    for _ in runner.score_clips(judge, clips, "cpu"):
        pass
    runner.forget_models()
    return client
