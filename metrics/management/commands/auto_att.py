"""manage.py auto_att dataset|train|predict|baseline|evaluate: learn a study's labels."""

from __future__ import annotations

import dataclasses
import json
from argparse import ArgumentTypeError
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from listening.common.whole_files import write_whole
from listening.selectors import no_study
from metrics.auto_att import baseline, dataset, distributed, evaluate, predict, report, run
from metrics.auto_att.model import MODEL, ModelPlan
from metrics.auto_att.train import TrainingPlan, train
from metrics.core.weights import Unavailable
from metrics.management.judging import align_table
from metrics.management.metric_options import thread_count
from metrics.scoring import runner

PLANNED = ("rank", "alpha", "dropout", "label_tokens", "template")
KNOWN = (ValueError, Unavailable)  # each message names the remedy


class Command(BaseCommand):
    help = (
        "Make a dataset of a study's ATT labels; train, predict, and evaluate against human "
        "ratings."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parts = parser.add_subparsers(dest="part", required=True, metavar="PART")
        add_dataset(
            parts.add_parser("dataset", help="Build labelled clips from a study or a CSV file.")
        )
        add_train(parts.add_parser("train", help="Fine-tune an audio language model (LoRA)."))
        add_predict(parts.add_parser("predict", help="Score the clips of the dataset."))
        add_baseline(parts.add_parser("baseline", help="Fit ridge regression on frozen features."))
        add_evaluate(parts.add_parser("evaluate", help="Compare predictions with human ratings."))

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            computes = "threads" in options  # the others need no torch
            with runner.torch_threads(options["threads"]) if computes else nullcontext():
                getattr(self, f"do_{options['part']}")(options)
        except KNOWN as error:
            raise CommandError(str(error)) from error

    def do_dataset(self, options: dict[str, Any]) -> None:
        """Make the dataset and say what was left out."""
        chosen = {f.name: options[f.name] for f in dataclasses.fields(dataset.Rule)}
        chosen |= {name: tuple(chosen[name]) for name in ("held_out", "unseen_dimensions")}
        if options["manifest"]:
            ratings_and_clips = dataset.from_csv(options["source"], options["manifest"])
        elif Path(options["source"]).is_file():
            raise CommandError("a CSV file of ratings needs --manifest FILE.csv (stimulus, path)")
        elif words := no_study(options["source"]):
            raise CommandError(f"{words} Or name a CSV file of ratings, with --manifest.")
        else:
            ratings_and_clips = dataset.from_study(options["source"])
        built = dataset.build(*ratings_and_clips, dataset.Rule(**chosen))
        if options["copy_audio"]:
            built = dataset.copy_audio_into(built, options["out"])
        dataset.write(built, options["out"])
        self.stdout.write(report.dataset_lines(built))

    def do_train(self, options: dict[str, Any]) -> None:
        """Fine-tune, saying each step."""
        model = ModelPlan(**{k: options[k] for k in PLANNED})
        model = dataclasses.replace(model, name=options["model"])
        if options["prompt"]:
            model = dataclasses.replace(model, prompt=options["prompt"])
        if options["label_texts"]:
            model = dataclasses.replace(model, label_texts=tuple(options["label_texts"].split(",")))
        plan = TrainingPlan(**{f.name: options[f.name] for f in dataclasses.fields(TrainingPlan)})
        final = train(
            dataset.read(options["dataset"]),
            model,
            plan,
            options["out"],
            runner.resolve_device(options["device"]),
            resume=options["resume"],
            shard=options["shard"],
            report=lambda line: self.stdout.write(report.step_line(line)),
        )
        if distributed.speaks():
            self.stdout.write(f"written: {final}")

    def do_predict(self, options: dict[str, Any]) -> None:
        """Scores of every clip of the dataset by an adapter, a baseline, or the plain model."""
        device = runner.resolve_device(options["device"])
        clips = dataset.read(options["dataset"]).clips
        prompt_options = {"template": options["template"], "raw": options["raw"]}
        named = (options["checkpoint"], options["model"])
        predictions = run.predict_clips(clips, *named, device, **prompt_options)
        predict.write(predictions, options["out"])
        self.stdout.write(report.prediction_lines(predictions, options["out"]))

    def do_baseline(self, options: dict[str, Any]) -> None:
        """Train the baseline; with --leave-out also predict every clip by baselines without it."""
        device = runner.resolve_device(options["device"])
        labelled = dataset.read(options["dataset"])
        keys = [key.strip() for key in options["features"].split(",") if key.strip()]
        model, predictions_by = run.train_baseline(labelled, keys, device, options["leave_out"])
        self.stdout.write(f"written: {baseline.write(model, options['out'])}")
        self.stdout.write(f"penalty {model.penalty:g}, {len(model.names)} features")
        for by, predictions in predictions_by.items():
            path = Path(options["out"]) / f"without-own-{by}.jsonl"
            predict.write(predictions, path)
            self.stdout.write(report.prediction_lines(predictions, path))

    def do_evaluate(self, options: dict[str, Any]) -> None:
        """Each file of predictions against the dataset's labels."""
        labelled = dataset.read(options["dataset"])
        evaluations, results = {}, {}
        for path in options["predictions"]:
            evaluations[path] = evaluate.evaluate(
                labelled, predict.read(path), options["threshold"]
            )
            results[path] = dataclasses.asdict(evaluations[path])
            self.stdout.write(report.evaluation_lines(path, evaluations[path]))
        for voices in ("new", "all"):
            self.stdout.write(f"\nKendall distance (p) of {voices} voices; lower is better")
            self.stdout.write(align_table(report.table4(evaluations, voices)))
        self.stdout.write(f"The paper's: {report.SOURCE}. Other voices, raters and texts.")
        if options["report"]:
            write_whole(Path(options["report"]), report.markdown(evaluations).encode())
            self.stdout.write(f"written: {options['report']}")
        if options["out"]:
            text = json.dumps(results, indent=1, ensure_ascii=False)
            write_whole(Path(options["out"]), text.encode())


def add_dataset(parser: CommandParser) -> None:
    """The options of `dataset`."""
    parser.add_argument("source", metavar="STUDY|RATINGS.csv")
    parser.add_argument("--out", required=True, metavar="DIR")
    parser.add_argument(
        "--manifest",
        default="",
        metavar="FILE.csv",
        help="CSV file with stimulus, path and further columns.",
    )
    parser.add_argument(
        "--labels-per-clip",
        type=int,
        default=3,
        help="Minimum number of labels per clip (default 3).",
    )
    parser.add_argument("--ties", default="nearest", choices=["nearest", "leave_out"])
    parser.add_argument("--all-sets", dest="valid_sets_only", action="store_false")
    parser.add_argument(
        "--held-out", type=voice_named, action="append", default=[], metavar="SYSTEM/VOICE"
    )
    parser.add_argument(
        "--unseen-dimension", dest="unseen_dimensions", action="append", default=[], metavar="NAME"
    )
    parser.add_argument("--criterion", default="")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--copy-audio", action="store_true", help="Copy the audio, to train on another machine."
    )


def add_train(parser: CommandParser) -> None:
    """The options of `train`: those of the model and of the training plan."""
    parser.add_argument("dataset", metavar="DIR")
    parser.add_argument("--out", required=True, metavar="RUN")
    parser.add_argument(
        "--model", default=MODEL, help=f"Name or folder of the model (default {MODEL})."
    )
    parser.add_argument("--prompt", default="", help='Prompt; ends with ":".')
    parser.add_argument(
        "--template", default="plain", choices=["plain", "chat"], help="Template of the prompt."
    )
    parser.add_argument("--label-texts", default="", metavar="HUMAN,UNCLEAR,MACHINE")
    parser.add_argument("--label-tokens", default="first", choices=["first", "whole"])
    parser.add_argument("--resume", action="store_true", help="Go on from the last checkpoint.")
    parser.add_argument(
        "--shard", action="store_true", help="Under torchrun: shard the model over the GPUs."
    )
    plans = [f for f in dataclasses.fields(ModelPlan) if f.name in ("rank", "alpha", "dropout")]
    for field in (*plans, *dataclasses.fields(TrainingPlan)):
        name = f"--{field.name.replace('_', '-')}"
        if isinstance(field.default, bool):
            parser.add_argument(name, action="store_true")
        else:
            parser.add_argument(name, type=type(field.default), default=field.default)
    add_device(parser)


def add_predict(parser: CommandParser) -> None:
    """The options of `predict`."""
    parser.add_argument("dataset", metavar="DIR")
    parser.add_argument("--out", required=True, metavar="FILE.jsonl")
    parser.add_argument(
        "--checkpoint",
        default="",
        help="Checkpoint of train or baseline. Default: the plain model.",
    )
    parser.add_argument("--model", default="", help="Folder of the base model on this machine.")
    parser.add_argument(
        "--template",
        default="chat",
        choices=["chat", "plain"],
        help="How to ask the plain model (default chat); a checkpoint is asked as it was trained.",
    )
    parser.add_argument(
        "--raw",
        action="store_true",
        help="Do not correct the plain model's bias toward one of the labels.",
    )
    add_device(parser)


def add_baseline(parser: CommandParser) -> None:
    """The options of `baseline`."""
    parser.add_argument("dataset", metavar="DIR")
    parser.add_argument("--out", required=True, metavar="FOLDER")
    parser.add_argument(
        "--features", default="", help="Embeddings and metrics, separated by commas."
    )
    parser.add_argument("--leave-out", nargs="*", default=[], choices=["voice", "item"])
    add_device(parser)


def add_evaluate(parser: CommandParser) -> None:
    """The options of `evaluate`."""
    parser.add_argument("dataset", metavar="DIR")
    parser.add_argument("predictions", nargs="+", metavar="FILE.jsonl")
    parser.add_argument("--threshold", type=float, default=0.5)
    parser.add_argument(
        "--report",
        default="",
        metavar="FILE.md",
        help="Write a page with tables next to those of the paper.",
    )
    parser.add_argument("--out", default="", metavar="FILE.json")


def add_device(parser: CommandParser) -> None:
    """Add --device and --threads."""
    parser.add_argument("--threads", type=thread_count, default=1, help="CPU threads (default 1).")
    parser.add_argument("--device", default="auto", choices=["auto", "cpu", "cuda"])


def voice_named(text: str) -> tuple[str, str]:
    """SYSTEM/VOICE from the command line."""
    system, slash, voice = text.partition("/")
    if not slash:
        raise ArgumentTypeError(f"{text!r} is not SYSTEM/VOICE")
    return system, voice
