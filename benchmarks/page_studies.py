"""Studies whose pages `bench_pages.py` measures: one for each kind of trial."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

RATE_HZ = 24_000
LONG_RATE_HZ = 48_000
LONG_S = 20 * 60
CONDITIONS = ("ref", "sys-a", "sys-b", "sys-c")
TONES_HZ = (500.0, 1_500.0, 2_500.0, 3_500.0)  # one for each condition, to be told apart

# What is shown: method, options of the task, conditions, and its own lines of study.toml.
KINDS: dict[str, tuple[str, int, str]] = {
    "single clip": ("mos", 1, ""),
    "pair": ("cmos", 2, ""),
    "three criteria": ("p835", 1, ""),
    "clip and reason": (
        "att",
        1,
        '[tasks.justification]\nrequired = true\nmin_chars = 10\nprompt = "Why?"',
    ),
    "MUSHRA, 5 clips": ("mushra", 4, ""),
    "ranking, 4 clips": ("rank", 4, ""),
}


def tone(path: Path, hz: float, seconds: float, rate_hz: int, seed: int) -> None:
    """Loud from its first sample; with noise, it is as large as speech of this length."""
    import numpy as np
    import soundfile

    rng = np.random.default_rng(seed)
    with soundfile.SoundFile(path, "w", rate_hz, 1, "PCM_16", format="WAV") as file:
        for start in range(0, int(seconds * rate_hz), 10 * rate_hz):
            count = min(10 * rate_hz, int(seconds * rate_hz) - start)
            at = (start + np.arange(count)) / rate_hz
            noise = rng.normal(0, 0.01, count)
            file.write(0.3 * np.cos(2 * np.pi * hz * at) + noise)


def write_study(
    folder: Path, key: str, kind: str, *, items: int, seconds: float, rate_hz: int = RATE_HZ
) -> Path:
    """A study folder with one task of this kind, and its sound files."""
    method, count, more = KINDS[kind]
    names = CONDITIONS[:count]
    (folder / "audio").mkdir(parents=True)
    rows = ["stimulus,condition,item,file,text"]
    for place, name in enumerate(names):
        for item in range(items):
            file = f"audio/{name}_{item}.wav"
            tone(folder / file, TONES_HZ[place], seconds, rate_hz, seed=100 * place + item)
            rows.append(f"{name}-{item},{name},i{item},{file},The sentence number {item}.")
    (folder / "stimuli.csv").write_text("\n".join(rows) + "\n")
    (folder / "study.toml").write_text(study_toml(key, method, names, items, more))
    return folder


def study_toml(key: str, method: str, names: Iterable[str], items: int, more: str) -> str:
    conditions = "\n".join(
        f'[[conditions]]\nkey = "{name}"\nrole = "{"reference" if name == "ref" else "test"}"'
        for name in names
    )
    return f"""[study]
key = "{key}"
title = "How do these voices sound?"
lease_minutes = 600
[study.texts]
welcome = "Thank you for lending us your ears."
consent = "We keep your answers under a random code."
contact = "Write to us."
{conditions}
[[tasks]]
key = "{method}"
title = "Listen and rate"
instructions = "{"Listen to each clip to its end, then answer what you are asked. " * 4}"
method = "{method}"
block_size = {items}
ratings_per_stimulus = 200
{more}
"""


def open_study(folder: Path, key: str, kind: str, **material: Any) -> Any:
    """The study of this kind, imported as a researcher would and opened."""
    from django.contrib.auth.models import User

    from listening import studies

    owner, _ = User.objects.get_or_create(username="researcher")
    study = studies.create_study(write_study(folder / key, key, kind, **material), owner)
    studies.open_study(study, anyway=True)
    return study


def new_session(study: Any) -> str:
    """The code of a session that a rater has just begun."""
    from listening.sessions import lifecycle
    from listening.sessions.lifecycle import Arrival

    return str(lifecycle.start(study, Arrival(simulated=True)).code)
