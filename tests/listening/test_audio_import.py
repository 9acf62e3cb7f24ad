"""Importing many clips, and clips of 20 minutes: order, errors, memory."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

from listening.audio import AudioError, Facts, probed, probed_all
from tests.listening.encoded import encode

MEGABYTE = 1024**2
MEASURE = """
import re, sys
from pathlib import Path
from listening.audio.probe import probed
from listening.audio.store import write_plain_flac

def highest():
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) * 1024

def imported(path):
    facts = probed(path)
    write_plain_flac(path, path.with_suffix(".copy.flac"), 1.5)
    return facts

short, long = map(Path, sys.argv[1:])
imported(short)
before = highest()
print(imported(long).duration_s, highest() - before)
"""


@pytest.mark.medium
def test_many_files_are_probed_in_the_order_given_and_errors_stand_in_their_places(
    tmp_path: Path,
) -> None:
    paths = []
    for n in range(40):
        path = tmp_path / f"{n}.wav"
        if n % 7 == 3:
            path.write_bytes(b"no sound" * n)
        else:
            soundfile.write(path, np.full(1_000 * (n + 1), 0.1), 16_000)
        paths.append(path)
    found = probed_all(paths)
    assert len(found) == len(paths)
    for n, (path, one) in enumerate(zip(paths, found, strict=True)):
        if n % 7 == 3:
            assert isinstance(one, AudioError)
            assert "no sound file" in one.reason
        else:
            assert isinstance(one, Facts)
            assert one == probed(path)
            assert one.duration_s == 1_000 * (n + 1) / 16_000
    assert probed_all([]) == []


def test_a_mistake_of_ours_is_not_taken_for_a_bad_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        probed_all([tmp_path / "gone.wav"])


def long_clip(folder: Path, name: str, minutes: int) -> Path:
    rate = 32_000 if name.endswith("wav") else 16_000
    rng = np.random.default_rng(4)
    minute = rng.uniform(-0.3, 0.3, (60 * rate, 2 if name.endswith("wav") else 1))
    whole = np.tile(minute.astype(np.float32), (minutes, 1))
    path = folder / f"{minutes}{name}"
    if name.endswith("wav"):
        soundfile.write(path, whole, rate, subtype="PCM_16")
        return path
    return encode(path, "aac", whole, rate)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "minutes"),
    [
        ("clip.m4a", 4),  # the decoder that holds more
        *(
            pytest.param(name, minutes, marks=pytest.mark.soak)
            for name, minutes in (("clip.wav", 6), ("clip.wav", 20), ("clip.m4a", 20))
        ),
    ],
)
def test_a_long_clip_is_imported_with_little_memory(
    tmp_path: Path, name: str, minutes: int
) -> None:
    short, long = long_clip(tmp_path, name, 1), long_clip(tmp_path, name, minutes)
    command = [sys.executable, "-c", MEASURE, str(short), str(long)]
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    seconds, growth = done.stdout.split()
    assert float(seconds) == 60 * minutes
    assert int(growth) < 25 * MEGABYTE  # as float64, four minutes of M4A would be 31 MB
    copy = soundfile.info(long.with_suffix(".copy.flac"))
    assert copy.frames == 60 * minutes * copy.samplerate
