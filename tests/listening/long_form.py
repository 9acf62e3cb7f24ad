"""A folder of a novel's lines with settings, as a study is imported from; clips looked into."""

from __future__ import annotations

import csv
import io
import re
import shutil
from pathlib import Path
from typing import Any

import soundfile

from listening import audio
from listening.models import Stimulus, Study

DEMO = Path(__file__).resolve().parents[2] / "demo"
HEAD = """
[study]
key = "long"
title = "Long form"
ends = "as_is"
[study.texts]
consent = "Yes."
contact = "ada@example.org"
"""
CONDITION = '[[conditions]]\nkey = "{}"\nrole = "{}"\n'
SETTING = """
[[settings]]
real = "human"
synthetic = ["flite-slt", "espeak-ng"]
conditions = ["Ri", "Ti", "Rp", "Tp", "R1R1", "R1T1", "T1T1", "Text1T1", "T2T1", "T1T2"]
gap_s = 0.25
context_gap_s = 0.5
"""
TASK = """
[[tasks]]
key = "{key}"
method = "{method}"
conditions = [{conditions}]
block_size = 3
ratings_per_stimulus = 2
"""
IN_CONTEXT = ["R1R1", "R1T1 (flite-slt)", "T1T1 (flite-slt)", "Text1T1 (flite-slt)"]
SYSTEMS = ("flite-slt", "espeak-ng")
CELLS = {  # of each condition, made of the three lines of p1 and the two of p2
    **{"Ri": 5, "Rp": 2, "R1R1": 3},
    **{f"Ti ({system})": 5 for system in SYSTEMS},
    **{f"Tp ({system})": 2 for system in SYSTEMS},
    **{f"{name} ({s})": 3 for name in ("R1T1", "T1T1", "Text1T1") for s in SYSTEMS},
    **{f"{name} ({s})": 1 for name in ("T2T1", "T1T2") for s in SYSTEMS},
}


def task(key: str, conditions: list[str], method: str = "mos", **more: str) -> str:
    quoted = ", ".join(f'"{c}"' for c in conditions)
    lines = "".join(f"{name} = {value}\n" for name, value in more.items())
    return TASK.format(key=key, method=method, conditions=quoted) + lines


def setting_of(*conditions: str) -> str:
    """The setting with these conditions alone: fewer clips to join."""
    listed = ", ".join(f'"{condition}"' for condition in conditions)
    return re.sub("(?m)^conditions = .*$", f"conditions = [{listed}]", SETTING)


def make_folder(folder: Path, setting: str = SETTING, *tasks: str, rows: str = "") -> Path:
    """Lines of one novel by a person and two systems, with settings and tasks of their own."""
    folder.mkdir(parents=True)
    keys = {"human": "reference", "flite-slt": "test", "espeak-ng": "test"}
    conditions = "".join(CONDITION.format(key, role) for key, role in keys.items())
    asked = "".join(tasks or [task("context", IN_CONTEXT)])
    (folder / "study.toml").write_text(HEAD + conditions + setting + asked, "utf-8")
    lines = list(csv.DictReader(io.StringIO((DEMO / "stimuli.csv").read_text("utf-8"))))
    out = io.StringIO()
    writer = csv.DictWriter(out, lines[0].keys(), lineterminator="\n")
    writer.writeheader()
    kept = [
        line for line in lines if line["condition"] in keys and line["paragraph"] in ("p1", "p2")
    ]
    writer.writerows(line for line in kept if not line["trap"])
    table = out.getvalue() + rows
    (folder / "stimuli.csv").write_text(table, "utf-8")
    (folder / "audio").mkdir()
    for name in set(re.findall(r"audio/([\w-]+\.flac)", table)):
        shutil.copy(DEMO / "audio" / name, folder / "audio")
    return folder


def cell(study: Study, condition: str, item: str) -> Stimulus:
    return study.stimuli.get(condition__key=condition, item__key=item)


def source(condition: str, line: str) -> tuple[Any, int]:
    samples, rate = soundfile.read(DEMO / "audio" / f"{condition}_{line}.flac")
    return samples, rate


def served(stimulus: Stimulus) -> tuple[Any, int]:
    samples, rate = soundfile.read(audio.local_path(stimulus.served))
    return samples, rate
