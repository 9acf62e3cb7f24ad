"""Figures 4 and 10 of the paper: each measure by the number of sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from analysis.report.content import Column, Content, Figure, Table
from analysis.report.parts.lfs.lfs_clips import Clips, cells_of
from analysis.report.parts.lfs.lfs_measures import ONE_CONTENT, PAPER

if TYPE_CHECKING:
    import pandas as pd

MOST_LENGTHS = 6  # more than these are put together into as many bins of about equally many clips


def by_length(clips: Clips) -> Content:
    """A plot of each measure over the number of sentences, and the numbers as a table."""
    frame = clips.frame[clips.frame["sentences"].str.isdigit()].copy()
    sentences = frame["sentences"].astype(int)
    if sentences.nunique() < 2:
        told = (
            "No plots by length: fewer than two numbers of sentences are known (column sentences "
            "in stimuli.csv)."
        )
        return Content([told])
    frame["length"], frame["place"] = _bins(sentences)
    rows = _rows(clips, frame)
    measures = [each for each in ONE_CONTENT if frame[each.key].notna().any()]
    figures: list[Figure] = []
    for each in measures:
        for head, named in clips.panels(frame):
            drawn = [
                {"group": row["condition"], "x": row["sentences"], "y": row[each.key]}
                for row in rows
                if row["condition"] in named and row[each.key] is not None
            ]
            title = f"Figures 4 and 10 of {PAPER}: {each.name} by length"
            title += f" · {head}" * bool(head)
            figures.append(
                Figure(
                    f"figure4-{len(figures) + 1}",
                    title,
                    "lines",
                    drawn,
                    x="Sentences",
                    y=each.name,
                    note=f"Means over clips. Better is {'lower' if each.lowest else 'higher'}.",
                )
            )
    columns = [Column("condition", "Model"), Column("length", "Sentences")]
    columns += [Column("clips", "Clips", "count")]
    columns += [Column(each.key, each.heading, "number", each.decimals) for each in measures]
    note = "Means over clips. Content is CER of Chinese clips, WER of the others. " + clips.taken
    if sentences.nunique() > MOST_LENGTHS:
        note += f" Lengths stand in at most {MOST_LENGTHS} bins of about equally many clips."
    table = Table("length", "Metrics of the systems by length", columns, rows, note, folded=True)
    return Content(figures=figures, tables=[table])


def _bins(sentences: pd.Series[int]) -> tuple[list[str], list[float]]:
    """The bin of each clip: its words, and its place (the mean number of sentences in it)."""
    numbers = sentences.to_numpy()
    edges = np.unique(numbers)
    if len(edges) > MOST_LENGTHS:
        shares = np.linspace(0, 1, MOST_LENGTHS + 1)[:-1]
        edges = np.unique(np.quantile(numbers, shares, method="higher"))
    which = np.searchsorted(edges, numbers, side="right") - 1
    words, places = [], []
    for place in which:
        inside = numbers[which == place]
        low, high = int(inside.min()), int(inside.max())
        words.append(f"{low}" if low == high else f"{low} to {high}")
        places.append(float(inside.mean()))
    return words, places


def _rows(clips: Clips, frame: pd.DataFrame) -> list[dict[str, Any]]:
    by = ["condition", "place", "length"]
    known, sizes = cells_of(frame, *by), frame.groupby(by).size().to_dict()
    order = {name: place for place, name in enumerate(clips.conditions(frame))}
    return [
        {"condition": key[0], "length": key[2], "sentences": key[1], "clips": sizes[key]}
        | {each.key: own[each.key].mean for each in ONE_CONTENT}
        for key, own in sorted(known.items(), key=lambda item: (order[item[0][0]], item[0][1]))
    ]
