"""manage.py serve_judge: an audio language model of this machine as the judges' server."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from metrics import runner
from metrics.judges import chat_server, local_model
from metrics.management.metric_options import thread_count
from metrics.weights import Unavailable

MODEL = "Qwen/Qwen2.5-Omni-7B"


class Command(BaseCommand):
    """Serve a model to judges until Ctrl-C."""

    help = (
        "Serve an audio language model to judges by transformers, on this machine: nothing else "
        "has to be installed, and the audio stays here. One question at a time; vLLM answers many."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("model", nargs="?", default=MODEL, help=f"name or folder ({MODEL})")
        parser.add_argument("--host", default="127.0.0.1", help="who may ask (this machine alone)")
        parser.add_argument("--port", type=int, default=8001)
        parser.add_argument("--threads", type=thread_count, default=1, help="CPU threads")
        parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:1")

    def handle(self, *args: Any, **options: Any) -> None:
        with runner.torch_threads(options["threads"]):
            try:
                device = runner.resolve_device(options["device"])
                model = local_model.load(options["model"], device)
                server = chat_server.ChatServer(model, options["host"], options["port"])
            except (Unavailable, ValueError) as error:
                raise CommandError(str(error)) from error
            except OSError as error:
                place = f"{options['host']}:{options['port']}"
                raise CommandError(f"{place} cannot be served ({error.strerror})") from error
            self.stdout.write(
                f"{model.name} on {device} hears {model.longest / model.rate_hz:g} s. For judges:\n"
                f"EARNEST_JUDGE_URL={server.url}\nEARNEST_JUDGE_MODEL={model.name}"
            )
            self.stdout.flush()
            try:
                server.serve_forever()
            except KeyboardInterrupt:
                self.stdout.write("stopped")
            finally:
                server.server_close()
