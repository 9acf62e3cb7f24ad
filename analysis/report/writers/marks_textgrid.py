"""Marks of the waveform as TextGrids of Praat, one for each clip, made of the JSON file of marks.

A tier of Praat is one row of intervals that do not overlap. The first tier says how many raters
marked each moment; each rater has a tier, and marks of a rater that overlap go to further tiers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

SUFFIX = ".TextGrid"
COUNTS = "raters"
Interval = tuple[float, float, str]  # from and to in s, and what stands there


def textgrids(marks: str) -> dict[str, str]:
    """A TextGrid for each clip of a file of marks, by its file name; none of marks on words.

    ``marks`` is the JSON that `analysis.report.parts.marking.spans.spans_json` writes.
    """
    files: dict[str, str] = {}
    for clip in json.loads(marks)["clips"]:
        if "heard_s" in clip:
            stem = name = re.sub(r"[^\w.-]+", "_", clip["stimulus"])
            number = 2
            while f"{name}{SUFFIX}" in files:
                name, number = f"{stem}_{number}", number + 1
            files[f"{name}{SUFFIX}"] = textgrid(clip)
    return files


def textgrid(clip: Mapping[str, Any]) -> str:
    """The marks of one clip: from 0 to where its heard part ends, in seconds of the upload."""
    by_rater = {
        answer["rater"]: [(m["start_s"], m["end_s"], m["kind"]) for m in answer["marks"]]
        for answer in clip["answers"]
    }
    tiers = {COUNTS: counted(by_rater.values())}
    for rater, marks in by_rater.items():
        for number, row in enumerate(rows_of(marks), start=1):
            tiers[rater if number == 1 else f"{rater} ({number})"] = row
    end_s = max([clip["heard_s"][1], *(end for row in tiers.values() for _, end, _ in row)])
    head = ['File type = "ooTextFile"', 'Object class = "TextGrid"', ""]
    head += ["xmin = 0", f"xmax = {end_s:.3f}", "tiers? <exists>", f"size = {len(tiers)}"]
    lines = [*head, "item []:"]
    for place, (name, row) in enumerate(tiers.items(), start=1):
        filled = without_gaps(row, end_s)
        lines += [f"    item [{place}]:", '        class = "IntervalTier"']
        lines += [
            f"        name = {_quoted(name)}",
            "        xmin = 0",
            f"        xmax = {end_s:.3f}",
        ]
        lines.append(f"        intervals: size = {len(filled)}")
        for number, (start, end, text) in enumerate(filled, start=1):
            lines += [f"        intervals [{number}]:", f"            xmin = {start:.3f}"]
            lines += [f"            xmax = {end:.3f}", f"            text = {_quoted(text)}"]
    return "\n".join(lines) + "\n"


def rows_of(marks: Sequence[Interval]) -> list[list[Interval]]:
    """The marks of a rater in as few rows as hold them without an overlap; one at least."""
    rows: list[list[Interval]] = [[]]
    for mark in sorted(marks):
        free = next((row for row in rows if not row or row[-1][1] <= mark[0]), None)
        if free is None:
            rows.append(free := [])
        free.append(mark)
    return rows


def counted(answers: Iterable[Sequence[Interval]]) -> list[Interval]:
    """How many raters of all marked each moment, such as 3/8, cut where the number changes."""
    every = list(answers)
    edges = sorted({edge for marks in every for start, end, _ in marks for edge in (start, end)})
    row: list[Interval] = []
    for start, end in pairwise(edges):
        raters = sum(any(a <= start and end <= b for a, b, _ in marks) for marks in every)
        text = f"{raters}/{len(every)}"
        if raters and row and row[-1][1:] == (start, text):
            row[-1] = (row[-1][0], end, text)
        elif raters:
            row.append((start, end, text))
    return row


def without_gaps(row: Sequence[Interval], end_s: float) -> list[Interval]:
    """The row with empty intervals between, from 0 to the end."""
    filled: list[Interval] = []
    at = 0.0
    for start, end, text in row:
        if start > at:
            filled.append((at, start, ""))
        filled.append((start, end, text))
        at = end
    return [*filled, (at, end_s, "")] if at < end_s else filled


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'
