"""Scores of individual clips, or of texts, as a file: what predictors of quality are trained on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from analysis.citations import citation, cite
from analysis.name_spans import family_prefix
from analysis.ratings.breakdowns import families
from analysis.ratings.cells import csv_cell
from analysis.report.content import Column, Content, Table, add_family_titles, together
from analysis.report.part import Part, PartInput
from analysis.report.writers.clip_files import COLUMNS
from analysis.statistics.agreement.rater_bias import LEAST
from analysis.statistics.options import Options
from analysis.statistics.single_clips import ITEM, STIMULUS, ClipScores, clip_scores
from listening.common.counted import counted

if TYPE_CHECKING:
    import pandas as pd

FILES = {STIMULUS: "clips", ITEM: "items"}
WORDS = {STIMULUS: ("clip", "clips"), ITEM: ("item", "items")}
NAMING = ("stimulus", "versus_stimulus", "context", "item", "condition", "versus_condition")
MOST_SHOWN, MOST_NAMED = 10, 8
NOTE = (
    "The first of {n}; all are in {file}.csv and {file}.json. Mean: t interval for other raters of "
    f"this very clip. Recovered: by the subject model of {citation('itu_p910')} as published, "
    "without rater bias, with more weight for consistent raters; its interval is too narrow with "
    "few ratings. The files also have it with the unbiased step, whose interval is nearly wide "
    "enough."
)
METHODS = (
    "Scores of individual clips are means with t intervals over raters; the table also has the "
    f"scores recovered by the subject model of {citation('itu_p910')} {cite('li2020')} and the "
    f"means without raters whom {citation('itu_bt500')} rejects."
)


class ClipScoresPart(Part):
    """Mean, SD, interval and recovered score of every clip as CSV and JSON, to train predictors."""

    key = "clip_scores"
    version = "1"
    title = "Scores of individual clips"
    order = 44
    always = False
    presets = frozenset({"p808"})

    @classmethod
    def asked_by(cls, options: Options) -> bool:
        """Also by ``--by stimulus`` and ``--by item``."""
        return super().asked_by(options) or bool(options.single)

    def applies(self, inputs: PartInput) -> bool:
        return len(inputs.ratings) > 0

    def make(self, inputs: PartInput) -> Content:
        every = list(families(inputs.ratings))
        wanted = inputs.options.single or (STIMULUS,)
        contents: list[Content] = []
        frames: dict[str, list[pd.DataFrame]] = {}
        for place, by in enumerate(wanted):
            for step, family in enumerate(every):
                inputs.progress((place + step / len(every)) / len(wanted), WORDS[by][1])
                title = family.title
                scores = clip_scores(family, by, inputs.options.level)
                if len(scores.frame):
                    frames.setdefault(by, []).append(scores.frame)
                contents.append(_scores_content(scores, by, title, inputs.options.level))
        if not frames:
            raise ValueError("No rating names a stimulus: name the clips in the column stimulus.")
        files = {f"{FILES[by]}.csv": _csv(each) for by, each in frames.items()}
        shown = together([*contents, Content(methods=[METHODS], files=files)])
        return add_family_titles(shown) if len(every) > 1 else shown


def _scores_content(scores: ClipScores, by: str, title: str, level: float) -> Content:
    one, many = WORDS[by]
    warnings = [f"{scores.unnamed} ratings name no {one} and are left out here."] * bool(
        scores.unnamed
    )
    if not len(scores.frame):
        return Content(warnings=[f"{family_prefix(title)}{text}" for text in warnings])
    sentence = " ".join(_sentences(scores, one, many, level))
    warnings += _weak(scores, one, many)
    table = _table(scores.frame, by, title, level)
    return Content(
        [f"{family_prefix(title)}{sentence}"],
        tables=[table],
        warnings=[f"{family_prefix(title)}{t}" for t in warnings],
    )


def _sentences(scores: ClipScores, one: str, many: str, level: float) -> Iterator[str]:
    frame = scores.frame
    n = frame["n_ratings"]
    each = f"{n.min()}" if n.min() == n.max() else f"{n.min()} to {n.max()}"
    sentence = f"{len(frame)} {many if len(frame) > 1 else one} with {each} ratings each"
    half = ((frame["high"] - frame["low"]) / 2).median()
    if np.isfinite(half):
        sentence += f"; half of the means are known to ±{half:.2f} or better ({level * 100:g} %)"
    yield f"{sentence}."
    if scores.rejected:
        names = ", ".join(scores.rejected[:MOST_NAMED])
        more = len(scores.rejected) - MOST_NAMED
        names += f" and {more} more" if more > 0 else ""
        raters = counted(len(scores.rejected), "rater")
        yield f"BT.500 would reject {raters} of {len(scores.screened)} ({names})."
    elif len(scores.screened) > 1 and n.max() >= LEAST:
        yield f"BT.500 would reject none of {len(scores.screened)} raters."


def _weak(scores: ClipScores, one: str, many: str) -> Iterator[str]:
    """Where the numbers are not to be trusted."""
    frame = scores.frame
    bare = int(frame["low"].isna().sum())
    if bare:
        why = "; ".join(dict.fromkeys(text for text in frame["note"] if text))
        yield f"{bare} of {len(frame)} {many} have no interval of their mean ({why})."
    if frame["n_ratings"].max() < LEAST:
        yield f"fewer than {LEAST} ratings a {one}: BT.500 can reject nobody."
    for name, model in (("as published", scores.published), ("unbiased", scores.unbiased)):
        if model.note:
            yield f"P.910, {name}: {model.note}: do not rest on its scores."
        if not model.converged:
            yield f"P.910, {name}: not settled after {model.rounds} rounds: take it as rough."


def _table(frame: pd.DataFrame, by: str, title: str, level: float) -> Table:
    naming = [name for name in NAMING if name in frame]
    columns = [
        *[Column(name, name.replace("_", " ").capitalize()) for name in naming],
        Column("n_ratings", "Ratings", "count"),
        Column("mean", "Mean", "number"),
        Column("mean", f"{level * 100:g} % interval", "interval"),
        Column("sd", "SD", "number", 2),
        Column("recovered", "Recovered", "number"),
        Column("recovered", f"{level * 100:g} % interval", "interval"),
    ]
    rows: list[dict[str, Any]] = []
    for row in frame.head(MOST_SHOWN).to_dict("records"):
        named = {str(key): value for key, value in row.items()}
        rows.append(named | {"mean_low": row["low"], "mean_high": row["high"]})
    note = NOTE.format(n=len(frame), file=FILES[by])
    return Table(FILES[by], f"Scores of single {WORDS[by][1]}", columns, rows, note, title)


def _csv(frames: list[pd.DataFrame]) -> str:
    """The rows of all families as CSV, names first; what names nothing anywhere is left out."""
    import pandas as pd

    whole = pd.concat(frames, ignore_index=True)
    naming = [str(name) for name in whole.columns if name not in COLUMNS]
    whole = whole[[*naming, *COLUMNS]]
    for name in (*naming, "note"):
        values = whole[name].fillna("")
        known = {value: csv_cell(value) for value in values.unique()}
        whole[name] = values.map(known)
    return whole.to_csv(index=False, lineterminator="\n")
