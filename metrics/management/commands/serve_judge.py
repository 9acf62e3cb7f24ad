"""manage.py serve_judge: audio language models of this machine as the judges' server."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from metrics.core.weights import Unavailable
from metrics.judges import chat_server, local_model
from metrics.management.metric_options import thread_count
from metrics.scoring import runner

MODEL = "Qwen/Qwen2.5-Omni-7B"


class Command(BaseCommand):
    """Serve models to judges until Ctrl-C."""

    help = (
        "Serve audio language models to judges by transformers, on this machine: nothing else has "
        "to be installed, and the audio stays here. Several models make a panel; each answers one "
        "question at a time, where vLLM answers many."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "models", nargs="*", default=[MODEL], metavar="MODEL", help=f"name or folder ({MODEL})"
        )
        parser.add_argument("--host", default="127.0.0.1", help="who may ask (this machine alone)")
        parser.add_argument("--port", type=int, default=8001)
        parser.add_argument("--threads", type=thread_count, default=1, help="CPU threads")
        parser.add_argument(
            "--device", default="auto", help="auto, cpu, cuda:1; several with commas"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        with runner.torch_threads(options["threads"]):
            try:
                devices = [runner.resolve_device(each) for each in options["device"].split(",")]
                models = [
                    local_model.load(name, devices[place % len(devices)])
                    for place, name in enumerate(options["models"])
                ]
                server = chat_server.ChatServer(models, options["host"], options["port"])
            except (Unavailable, ValueError) as error:
                raise CommandError(str(error)) from error
            except OSError as error:
                place = f"{options['host']}:{options['port']}"
                raise CommandError(f"{place} cannot be served ({error.strerror})") from error
            for model in models:
                heard = f"{model.longest / model.rate_hz:g} s"
                self.stdout.write(f"{model.name} on {model.device} hears {heard}")
            self.stdout.write(
                f"EARNEST_JUDGE_URL={server.url}\nEARNEST_JUDGE_MODEL={models[0].name}"
            )
            self.stdout.flush()
            try:
                server.serve_forever()
            except KeyboardInterrupt:
                self.stdout.write("stopped")
            finally:
                server.server_close()
