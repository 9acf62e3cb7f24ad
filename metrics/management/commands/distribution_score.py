"""How each condition's clips are spread between recordings and noise, after TTSDS2."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from metrics.core.devices import torch_threads
from metrics.core.metric import ParameterError
from metrics.core.weights import Unavailable
from metrics.distribution import FACTORS, Feature, feature_type
from metrics.distribution.hearing import HeardSet, by_feature, learnt
from metrics.distribution.score import DistributionScore, distribution_score
from metrics.management.commands.compare_sets import by_condition
from metrics.scoring.inputs import InputClip, InputError, clips_of

NOISE = (
    "TTSDS2's own noise is the data set ttsds/noise-reference on Hugging Face: unpack "
    "noise_all_ones.tar.gz, noise_all_zeros.tar.gz, noise_normal_distribution.tar.gz and "
    "noise_uniform_distribution.tar.gz, each into a folder of its own, and name the folder above "
    "them; or take noises of your own."
)
REFERENCE = (
    "TTSDS2's own references are the recordings that its authors publish with each round of "
    "ttsdsbenchmark.com; recordings of your own, at best of the same speakers, will do."
)
NOT_TTSDS2 = "no score of TTSDS2: without its masked prosody model, Allosaurus and WeSpeaker"


class Command(BaseCommand):
    """Score sets of clips between recordings and noise."""

    help = (
        "A score of 0 (spread like noise) to 100 (like recordings) for each condition's clips as a "
        "set: by features of four factors of speech, after TTSDS2. It is not TTSDS2's "
        f"own number. {REFERENCE} {NOISE}"
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        usual = ",".join(
            key for key, kind in Feature.registry.items() if kind.factor != FACTORS[-1]
        )
        parser.add_argument("files", nargs="+", metavar="FILE|FOLDER|MANIFEST")
        parser.add_argument("--reference", required=True, metavar="CONDITION|FOLDER|MANIFEST")
        parser.add_argument("--noise", required=True, metavar="CONDITION|FOLDER|MANIFEST")
        parser.add_argument("--features", default=usual, help=f"Default: {usual}.")
        parser.add_argument(
            "--models", default="{}", help='Other models: {"wavlm": "folder or name"}.'
        )
        parser.add_argument("--device", default="cpu")
        parser.add_argument(
            "--jsonl", action="store_true", help="Print JSON, a line per condition."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            features = made(options["features"], options["models"])
            sets = by_condition(clips_of(options["files"]))
            noises = taken(sets, options["noise"], "noise", NOISE)
            references = taken(sets, options["reference"], "reference", REFERENCE)
            for each in features:
                each.load(options["device"])
        except (InputError, ParameterError, Unavailable) as error:
            raise CommandError(str(error)) from error
        if not sets:
            raise CommandError("nothing to score: all clips are reference or noise")
        learnt(features, [c.path for clips in references.values() for c in clips], self._say)
        beside = {
            name: {key: self._heard(clips, features) for key, clips in given.items()}
            for name, given in (("reference", references), ("noise", noises))
        }
        given = parameters(features, beside)
        near, far = by_feature(beside["reference"]), by_feature(beside["noise"])
        factor_of = {each.key: each.factor for each in features}
        for condition, clips in sorted(sets.items()):
            ours = self._heard(clips, features)
            found = distribution_score(ours.groups, near, far, factor_of, ours.clips)
            if options["jsonl"]:
                plain = {"condition": condition, **dataclasses.asdict(found), "parameters": given}
                self.stdout.write(json.dumps(plain, ensure_ascii=False))
            else:
                self.stdout.write(told(condition, found))
        if not options["jsonl"]:
            self.stdout.write(NOT_TTSDS2)

    def _say(self, line: str) -> None:
        self.stderr.write(line)

    def _heard(self, clips: list[InputClip], features: list[Feature]) -> HeardSet:
        with torch_threads(1):  # more gain little, and wait where a machine has other work
            return HeardSet([clip.path for clip in clips], features, self._say)


def made(names: str, models: str) -> list[Feature]:
    """The features that were asked for, with their models."""
    try:
        chosen = json.loads(models)
    except ValueError as error:
        raise ParameterError(f"--models is no JSON: {error}") from error
    keys = names.split(",")
    if not isinstance(chosen, dict) or set(chosen) - set(keys):
        raise ParameterError(f"--models names other features than {names}: {models}")
    return [feature_type(key)(str(chosen.get(key, ""))) for key in keys]


def taken(
    sets: dict[str, list[InputClip]], named: str, what: str, remedy: str
) -> dict[str, list[InputClip]]:
    """The sets of a condition of the input, which leaves it, or of another folder or manifest."""
    if named in sets:
        return {named: sets.pop(named)}
    if not Path(named).exists():
        known = ", ".join(sorted(sets))
        raise InputError(f"{what} {named}: no condition ({known}) and no file. {remedy}")
    return by_condition(clips_of([named]))


def parameters(features: list[Feature], beside: dict[str, dict[str, HeardSet]]) -> dict[str, Any]:
    """What the number depends on: features with their models and weights, sets with their marks."""
    told_features = {
        each.key: {
            "factor": each.factor,
            "model": each.model,
            "weights": each.weights,
            "as_in_ttsds2": each.in_ttsds2 and each.model == each.default_model,
        }
        for each in features
    }
    told_sets = {
        what: {key: {"clips": one.clips, "sha256": one.sha256} for key, one in sets.items()}
        for what, sets in beside.items()
    }
    return {"official": False, "why": NOT_TTSDS2, "features": told_features, **told_sets}


def told(condition: str, found: DistributionScore) -> str:
    """A score as lines: all in all, then factors, then what makes it weak."""
    value = "-" if found.value is None else f"{found.value:.1f}"
    interval = "" if found.low is None else f" [{found.low:.1f}, {found.high:.1f}]"
    factors = ", ".join(f"{name} {each:.1f}" for name, each in found.factors.items())
    lines = [
        f"{condition:<20} distribution score {value}{interval}  {found.clips} clips; {factors}"
    ]
    lines += [
        f"    {name:<16} {each.value:5.1f}  {each.reference} {each.reference_distance:.4g}, "
        f"{each.noise} {each.noise_distance:.4g}"
        for name, each in found.features.items()
    ]
    return "\n".join([*lines, *(f"    weak: {line}" for line in found.warnings)])
