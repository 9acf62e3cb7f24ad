"""Small study folders on the disk, right or wrong on purpose."""

from __future__ import annotations

import io
from functools import lru_cache
from pathlib import Path
from textwrap import dedent

import numpy as np
import soundfile

from listening.design.studyfile import Problem, read_folder

STUDY = """
[study]
key = "small"
title = "A small study"
"""
CONDITIONS = """
[[conditions]]
key = "sys-a"

[[conditions]]
key = "sys-b"
"""
TASK = """
[[tasks]]
key = "mos"
method = "mos"
block_size = 2
ratings_per_stimulus = 3
"""
HEADER = "stimulus,condition,item,file"
ROWS = (
    "a1,sys-a,i1,audio/a1.wav",
    "a2,sys-a,i2,audio/a2.wav",
    "b1,sys-b,i1,audio/b1.wav",
    "b2,sys-b,i2,audio/b2.wav",
)
TOML = STUDY + CONDITIONS + TASK
CSV = "\n".join((HEADER, *ROWS)) + "\n"


def write_sound(path: Path, seed: int = 0, rate: int = 16_000, seconds: float = 0.5) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_sound(path.suffix.removeprefix("."), seed, rate, seconds))


@lru_cache(maxsize=256)
def _sound(kind: str, seed: int, rate: int, seconds: float) -> bytes:
    samples = np.random.default_rng(seed).uniform(-0.2, 0.2, round(rate * seconds))
    written = io.BytesIO()
    soundfile.write(written, samples, rate, format=kind)
    return written.getvalue()


def make_folder(folder: Path, toml: str | bytes = TOML, csv: str | bytes = CSV) -> Path:
    """A folder with these tables, and with the four sound files of the right one."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in (("study.toml", toml), ("stimuli.csv", csv)):
        data = dedent(content).encode() if isinstance(content, str) else content
        (folder / name).write_bytes(data)
    for n, clip in enumerate(("a1", "a2", "b1", "b2")):
        write_sound(folder / "audio" / f"{clip}.wav", n)
    return folder


def problems_of(folder: Path, toml: str | bytes = TOML, csv: str | bytes = CSV) -> list[Problem]:
    return list(read_folder(make_folder(folder, toml, csv)).problems)


def the_problem(folder: Path, toml: str | bytes = TOML, csv: str | bytes = CSV) -> Problem:
    """The one problem that there must be."""
    found = problems_of(folder, toml, csv)
    assert len(found) == 1, "\n".join(map(str, found))
    return found[0]


def csv_with(*rows: str, header: str = HEADER) -> str:
    return "\n".join((header, *rows)) + "\n"
