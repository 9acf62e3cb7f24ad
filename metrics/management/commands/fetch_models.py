"""manage.py fetch_models PRESET: download the models of metrics, to score without a network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from listening.common.command_name import command
from metrics.core import model_downloads, weights
from metrics.core.metric import Metric, ParameterError, outputs
from metrics.core.model_downloads import megabytes
from metrics.core.model_hosts import DownloadError
from metrics.core.published_models import PublishedModel
from metrics.management.metric_options import chosen_parameters
from metrics.management.run_output import Progress
from metrics.scoring import presets
from metrics.scoring.presets import Choice, PresetError


@dataclass
class Wanted:
    """A model, the metrics that read it, and why it is not fetched, where it is not."""

    model: PublishedModel
    metrics: list[str] = field(default_factory=list)
    place: Path | None = None  # where it is already
    refusal: str = ""

    def line(self) -> str:
        """As --list shows it."""
        size = f"about {megabytes(self.model.size)}" if self.model.size else "size not stated"
        state = f"in {self.place}" if self.place else self.refusal or "to fetch"
        return f"{self.model.name} ({', '.join(self.metrics)}): {size}, {self.model.terms}; {state}"


class Command(BaseCommand):
    help = (
        "Download the models that metrics need. Afterwards they run without a network. An "
        "interrupted download continues where it stopped."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "names", nargs="*", metavar="NAME", help="Presets, metrics, or your own lists (.yaml)."
        )
        parser.add_argument(
            "--list",
            action="store_true",
            help="List models with size, licence and free space; without a name, of all metrics.",
        )
        parser.add_argument("--to", metavar="FOLDER", help="Folder of models (EARNEST_MODELS).")
        parser.add_argument(
            "--mirror",
            metavar="URL",
            default="",
            help="Fetch from a copy of a folder of models; {path} in the URL stands for the file.",
        )
        parser.add_argument(
            "--non-commercial",
            action="store_true",
            help="Also fetch models whose licence forbids commercial use.",
        )
        parser.add_argument("--judges", action="store_true", help="Include judges of presets.")
        parser.add_argument(
            "--parameters",
            default="{}",
            help='Parameters as JSON by metric, such as \'{"wer": {"model": "tiny.en"}}\'.',
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if not (options["names"] or options["list"]):
            raise CommandError(f"Name a preset or metrics (see {command('list_presets')}).")
        folder = Path(options["to"] or weights.folder())
        wanted = wanted_models(chosen_metrics(options))
        for each in wanted:
            look_up(each, folder, options)
        due = [each for each in wanted if not (each.place or each.refusal)]
        if options["list"]:
            self.list_models(wanted, due, folder)
            return
        if due and weights.offline():
            raise CommandError("EARNEST_OFFLINE forbids downloads: set it to 0 for this command.")
        failed = self.fetch_models(due, folder, options["mirror"])
        failed += [each.line() for each in wanted if each.refusal]
        if failed:
            raise CommandError("\n".join(["Not fetched:", *failed]))
        self.stdout.write("All models are there." if wanted else "No model needs a download.")

    def list_models(self, wanted: Sequence[Wanted], due: Sequence[Wanted], folder: Path) -> None:
        """Print each model, and what is to be fetched in all."""
        for each in wanted:
            self.stdout.write(each.line())
        known = sum(each.model.size for each in due)
        unknown = sum(not each.model.size for each in due)
        more = f" and {unknown} of unknown size" if unknown else ""
        free = megabytes(model_downloads.free_bytes(folder))
        total = f"about {megabytes(known)}{more}" if due else "nothing"
        self.stdout.write(f"To fetch: {total}. Free in {folder}: {free}.")

    def fetch_models(self, due: Sequence[Wanted], folder: Path, mirror: str) -> list[str]:
        """Fetch models, the others also when one fails; return a line for each that failed."""
        failed, downloads = [], []
        for each in due:
            try:
                downloads.append(model_downloads.plan(each.model, folder, mirror))
            except DownloadError as error:
                failed.append(f"{each.model.name}: {error}")
        try:
            model_downloads.check_space(downloads, folder)
        except DownloadError as error:
            raise CommandError(str(error)) from error
        total = sum(each.left_bytes for each in downloads)
        with Progress(round(total / 1e6), self.stderr, "MB") as progress:
            for download in downloads:
                model = download.model
                progress.say(f"{model.name}: {megabytes(download.left_bytes)}, {model.terms}")
                try:
                    download.run(Megabytes(progress, model.name).add, progress.say)
                except DownloadError as error:
                    failed.append(f"{model.name}: {error}")
        return failed


class Megabytes:
    """Counts bytes of a model in whole megabytes."""

    def __init__(self, progress: Progress, name: str) -> None:
        self.progress, self.name, self.rest = progress, name, 0

    def add(self, count: int) -> None:
        """So many bytes more."""
        whole, self.rest = divmod(self.rest + count, 1_000_000)
        if whole:
            self.progress.add(whole, self.name)


def chosen_metrics(options: dict[str, Any]) -> list[Metric]:
    """The metrics that the names stand for, with the parameters of the lists and of the option."""
    parameters = chosen_parameters(options)
    try:
        choices = list(named_choices(options["names"], options["judges"]))
        return presets.make_metrics(
            [
                Choice(each.metric, {**each.parameters, **parameters.get(each.metric, {})})
                for each in choices
            ]
        )
    except (ParameterError, PresetError, TypeError) as error:
        raise CommandError(str(error)) from error


def named_choices(names: Sequence[str], judges: bool) -> Iterator[Choice]:
    """What names of presets, metrics, outputs and files stand for; without names all metrics."""
    shipped, by_output = presets.shipped_presets(), outputs()
    for name in names or Metric.registry:
        if name in by_output:
            yield Choice(by_output[name].key)
        elif name in shipped:
            yield from shipped[name].choices(judges)
        elif Path(name).suffix in (".yaml", ".yml"):
            yield from presets.read_preset(name).choices(judges)
        else:
            raise CommandError(
                f"{name!r} is no preset, metric or .yaml file. Presets: {', '.join(shipped)}. "
                f"Metrics: see {command('list_metrics')}."
            )


def wanted_models(metrics: Sequence[Metric]) -> list[Wanted]:
    """The models of metrics, each once."""
    wanted: dict[str, Wanted] = {}
    for metric in metrics:
        for model in metric.models():
            of_model = wanted.setdefault(model.name, Wanted(model))
            if metric.key not in of_model.metrics:
                of_model.metrics.append(metric.key)
    return list(wanted.values())


def look_up(wanted: Wanted, folder: Path, options: dict[str, Any]) -> None:
    """Note where a model is already, or why it is not fetched.

    With --to only that folder counts: others shall find the model there.
    """
    model, place = wanted.model, folder / wanted.model.name
    wanted.place = weights.find(model)
    if options["to"] and wanted.place != place:
        wanted.place = None if model.lacking(place) else place
    if wanted.place:
        return
    if not model.commercial and not options["non_commercial"]:
        wanted.refusal = "fetched only with --non-commercial"
    elif not (model.is_fetched or options["mirror"]):
        wanted.refusal = f"put it into {folder} yourself, from {model.origin or 'where it is'}"
