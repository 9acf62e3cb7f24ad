"""Small copies of the presets: every task, check and question, few trials, clips under a second."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import soundfile

from listening.design.presets import Preset, presets, write_preset

DEMO = Path(__file__).resolve().parents[2] / "demo"
PRESETS = presets(DEMO) | {"gallery": Preset("gallery", DEMO / "gallery")}
FIELD = r"(?m)^{} = .*$"
# How each preset is made small: fields of study.toml and what they are everywhere.
SMALLER: dict[str, dict[str, str]] = {
    "att": {"block_size": "3", "per": "3", "blocks_per_session": "1", "break_every": "4"},
    "long_form": {"block_size": "1", "task_plan": '"all"', "break_every": "4"},
    "lfs": {"block_size": "1", "break_every": "1"},
    "nvv": {"block_size": "1", "per": "1", "break_every": "3"},
    "mushra": {"block_size": "1"},
    "error_marking": {},
    "dialogue": {"block_size": "1", "blocks_per_session": "1"},
    "intelligibility": {"block_size": "1"},
    "codec": {"block_size": "1", "task_plan": '"all"'},
    "mushra_nmr": {"block_size": "1"},
    "p808": {"block_size": "1", "per": "1", "break_every": "5"},
    "gallery": {"block_size": "1", "per": "1"},
}
TURN = re.compile(r"(?<= )(\d+\.\d{3})-(\d+\.\d{3})")
SOUNDS_OF_CHECKS = ("trials", "pass_at_least")


def small_copy(name: str, folder: Path, *, longest_s: float | None = 0.6) -> Path:
    """A preset (or the gallery's study) in its own folder, made small."""
    write_preset(PRESETS[name], DEMO, folder)
    path = folder / "study.toml"
    text = path.read_text(encoding="utf-8")
    for key, value in SMALLER[name].items():
        text = re.sub(FIELD.format(key), f"{key} = {value}", text)
    path.write_text(fewer_sounds(text), encoding="utf-8")
    if longest_s:
        for sound in (folder / "audio").iterdir():
            cut(sound, longest_s)
        shorten_turns(folder / "stimuli.csv", longest_s)
    return folder


def shorten_turns(table: Path, longest_s: float) -> None:
    """Turns of conversations as if they were as long as a short clip."""
    text = table.read_text(encoding="utf-8")
    times = [float(each) for pair in TURN.findall(text) for each in pair]
    scale_turns(table, longest_s / max(times, default=longest_s))


def scale_turns(table: Path, scale: float) -> None:
    """Turns of conversations in clips that are shorter by this factor."""

    def shorter(turn: re.Match[str]) -> str:
        return f"{float(turn[1]) * scale:.3f}-{float(turn[2]) * scale:.3f}"

    table.write_text(TURN.sub(shorter, table.read_text(encoding="utf-8")), encoding="utf-8")


def fewer_sounds(text: str) -> str:
    """Checks of one sound each, or two."""
    head, *checks = text.split("[[study.checks]]")
    short = []
    for check in checks:
        own, bracket, rest = check.partition("\n[")
        for key in SOUNDS_OF_CHECKS:
            value = "2" if '"huggins"' in own else "1"
            own = re.sub(FIELD.format(key), f"{key} = {value}", own)
        short.append(own + bracket + rest)
    return "[[study.checks]]".join([head, *short])


def cut(path: Path, longest_s: float) -> None:
    """Leaves the loudest part of a sound."""
    wave, rate_hz = soundfile.read(path, always_2d=True)
    size = round(longest_s * rate_hz)
    if len(wave) <= size:
        return
    energy = np.cumsum(np.square(wave).sum(axis=1))
    start = int(np.argmax(energy[size:] - energy[:-size]))
    kind = soundfile.info(path)
    about = {"format": kind.format, "subtype": kind.subtype}
    soundfile.write(path, wave[start : start + size], rate_hz, **about)
