"""Codes by dimension of the material, and codes that stand together in one reason."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from analysis.report.content import Content, Table, column, columns_of, table_row
from analysis.report.part import PartInput
from analysis.report.parts.justifications.code_shares import NOTE, CodeRow, code_rows
from analysis.report.parts.justifications.reason_data import Reasons
from analysis.statistics.justifications import code_table

MOST_PAIRS = 30
FEWEST = 3  # reasons that hold both


@table_row
class PairRow:
    """Two codes that stand together: how often, and how often that would be by chance."""

    code: str = column("Code")
    other: str = column("And")
    n_both: int = column("Reasons with both", "count")
    n_by_chance: float = column("By chance", "number", 1)
    share_of_code: float = column("Of the first", "percent")
    share_of_other: float = column("Of the second", "percent")


def codes_by_dimension(reasons: Reasons, inputs: PartInput) -> Content:
    """Each code's share in each dimension; nothing where there are no two dimensions with codes."""
    dimension = reasons.table["dimension"].to_numpy(dtype=object)
    coded = (reasons.table["codes"] != "").to_numpy(dtype=bool) & (dimension != "")
    names = inputs.ordered("dimension", dimension[coded].tolist())
    if len(names) < 2 or reasons.several:
        return Content()
    places = {name: place for place, name in enumerate(names)}
    of = np.array([places[name] for name in dimension[coded].tolist()], dtype=np.int64)
    rows = code_rows(reasons, coded, names, of, inputs.options.level)
    columns = columns_of(CodeRow, What="Dimension")
    title, note = "Codes of reasons per dimension, with intervals", NOTE.format(what="dimension")
    table = Table.of(CodeRow, "codes-by-dimension", title, rows, columns=columns, note=note,
                     about=reasons.title, folded=True)  # fmt: skip
    return Content(tables=[table])


def codes_together(reasons: Reasons) -> Content:
    """Pairs of codes of one reason, those first that stand together most often."""
    coded = (reasons.table["codes"] != "").to_numpy(dtype=bool)
    if not coded.any() or reasons.several:
        return Content()
    rows = _pairs(reasons.table["codes"][coded].tolist(), reasons.rater[coded])
    if not rows:
        return Content()
    note = (
        f"Pairs in {FEWEST} reasons or more, at most {MOST_PAIRS}. By chance: the product of both "
        "shares, if codes had nothing to do with each other."
    )
    title = "Codes that stand together in a reason"
    table = Table.of(PairRow, "codes-together", title, rows, note=note, about=reasons.title,
                     folded=True)  # fmt: skip
    return Content(tables=[table])


def _pairs(codes: Sequence[str], rater: np.ndarray) -> list[PairRow]:
    table = code_table(codes, rater)
    both = np.asarray((table.has.T @ table.has).toarray(), dtype=np.int64)
    alone, n = np.diag(both), len(codes)
    found = [
        (int(both[a, b]), a, b)
        for a in range(len(alone))
        for b in range(a + 1, len(alone))
        if both[a, b] >= FEWEST
    ]
    found.sort(key=lambda pair: (-pair[0], table.terms[pair[1]], table.terms[pair[2]]))
    return [
        PairRow(
            code=table.terms[a],
            other=table.terms[b],
            n_both=count,
            n_by_chance=float(alone[a] * alone[b] / n),
            share_of_code=float(count / alone[a]),
            share_of_other=float(count / alone[b]),
        )
        for count, a, b in found[:MOST_PAIRS]
    ]
