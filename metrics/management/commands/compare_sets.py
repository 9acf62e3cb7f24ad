"""Distances of sets of clips from a reference set: FAD and KID of each condition."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from metrics.core import decoding
from metrics.core.metric import ParameterError
from metrics.core.weights import Unavailable
from metrics.distribution import SetMetric, distances
from metrics.distribution.set_metric import Array, Distance, clip_vectors
from metrics.networks.embeddings import SpeakerEmbedding, embedding_type
from metrics.scoring.inputs import InputClip, InputError, read_clips


class Command(BaseCommand):
    help = (
        "Measure how far the clips of each condition are, as a set, from a reference set. The "
        "reference is a condition of the same input, or other files. Name the embedding with the "
        "number."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("files", nargs="+", metavar="FILE|FOLDER|MANIFEST")
        parser.add_argument("--reference", required=True, metavar="CONDITION|FOLDER|MANIFEST")
        parser.add_argument("--metrics", default=",".join(SetMetric.registry))
        parser.add_argument("--embedding", default="resemblyzer")
        parser.add_argument("--model", default="", help="Another model of the embedding.")
        parser.add_argument(
            "--window", type=float, default=2.0, help="Length of a window in seconds (default 2)."
        )
        parser.add_argument(
            "--hop", type=float, default=1.0, help="Hop of the windows in seconds (default 1)."
        )
        parser.add_argument("--jsonl", action="store_true", help="Print JSON, one line per number.")

    def handle(self, *args: Any, **options: Any) -> None:
        metrics = self._metrics(options["metrics"])
        try:
            embedding = embedding_type(options["embedding"])(options["model"])
            sets = clips_by_condition(read_clips(options["files"]))
            reference = sets.pop(options["reference"], None)
            if reference is None:
                place = Path(options["reference"])
                if not place.exists():
                    known = ", ".join(sorted(sets))
                    raise InputError(f"reference {place}: no condition ({known}) and no file")
                reference = read_clips([place])
            embedding.load("cpu")
        except (InputError, ParameterError, Unavailable) as error:
            raise CommandError(str(error)) from error
        if not sets:
            raise CommandError("nothing to compare: all clips are of the reference")
        window = (options["window"], options["hop"])
        theirs = self._vectors(reference, embedding, *window)
        for condition, clips in sorted(sets.items()):
            ours = self._vectors(clips, embedding, *window)
            for metric in metrics:
                distance = distances(metric, ours, theirs)
                self.stdout.write(
                    format_distance(condition, distance, options["embedding"], options["jsonl"])
                )

    def _metrics(self, names: str) -> list[SetMetric]:
        known = SetMetric.registry
        if unknown := [name for name in names.split(",") if name not in known]:
            raise CommandError(
                f"no set metric is called {unknown[0]!r}; there are {', '.join(known)}"
            )
        return [known[name]() for name in names.split(",")]

    def _vectors(
        self, clips: list[InputClip], embedding: SpeakerEmbedding, window_s: float, hop_s: float
    ) -> list[Array]:
        """Each clip's vectors; what has none is named on standard error."""
        by_clip = []
        for clip in clips:
            try:
                vectors = clip_vectors(clip.path, embedding, window_s, hop_s)
            except decoding.AudioError as error:
                self.stderr.write(f"left out: {error}")
                continue
            if len(vectors):
                by_clip.append(vectors)
            else:
                self.stderr.write(f"left out: {clip.path}: silent or too short")
        return by_clip


def clips_by_condition(clips: list[InputClip]) -> dict[str, list[InputClip]]:
    """The clips of each condition; those without one are the condition "all"."""
    sets: dict[str, list[InputClip]] = {}
    for clip in clips:
        sets.setdefault(clip.condition or "all", []).append(clip)
    return sets


def format_distance(condition: str, distance: Distance, embedding: str, as_json: bool) -> str:
    """A distance as a line."""
    if as_json:
        plain = {"condition": condition, "embedding": embedding, **dataclasses.asdict(distance)}
        return json.dumps(plain, ensure_ascii=False)
    value = "-" if distance.value is None else f"{distance.value:.4g}"
    interval = "" if distance.low is None else f" [{distance.low:.4g}, {distance.high:.4g}]"
    sizes = f"{distance.clips} clips ({distance.vectors} vectors) to {distance.reference_clips}"
    warning = f"; {distance.warning}" if distance.warning else ""
    return (
        f"{condition:<20} {distance.metric}[{embedding}] {value}{interval}  "
        f"{sizes} ({distance.reference_vectors}){warning}"
    )
