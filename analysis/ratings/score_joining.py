"""Metric scores joined to ratings, and how: what was joined by, and what found no partner."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from analysis.ratings.metric_scores import matched

NAMED = 3


def joined(scores: pd.DataFrame, stimuli: Iterable[str]) -> tuple[pd.DataFrame, list[str]]:
    """`matched`, with notes: by which names, how many stimuli have scores, what is left over."""
    rated = {name for name in stimuli if name}
    found = matched(scores, rated)
    same = found["stimulus"].equals(scores["stimulus"])
    how = "by the names of stimuli" if same else "by file names without folder or ending"
    scored = set(found["stimulus"])
    notes = [f"scores are joined {how}: {len(rated & scored)} of {len(rated)} stimuli have some"]
    for lacking, words in ((rated - scored, "no score"), (scored - rated, "scores and no rating")):
        if lacking:
            some = ", ".join(sorted(lacking)[:NAMED])
            more = " …" if len(lacking) > NAMED else ""
            notes.append(f"{len(lacking)} stimuli have {words}: {some}{more}")
    again = int(found.duplicated(["stimulus", "metric", "version"]).sum())
    if again:
        notes.append(f"{again} scores are of a stimulus and metric that has a score already")
    return found, notes


def unread_files(path: str | Path) -> list[str]:
    """A note about files that `score_files` could not read: such a line names no metric."""
    if Path(path).suffix != ".jsonl":
        return []
    names = set()
    with open(path, encoding="utf-8-sig") as lines:
        for line in lines:
            if '"metric": null' in line:
                names.add(str(json.loads(line).get("file")))
    count = len(names)
    some = ", ".join(sorted(names)[:NAMED])
    return [f"{count} files could not be read when they were scored: {some}"] if count else []
