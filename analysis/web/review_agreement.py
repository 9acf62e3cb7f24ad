"""Agreement of reviewers, live: of a job, of each pair, with oneself; by system once unblinded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from analysis.formatting import number, percent
from analysis.report.content import pick_cells
from listening.common.views import logged_in_page
from listening.selectors import (
    ReviewHead,
    ReviewVerdict,
    review_aspects,
    review_decisions,
    review_head_or_404,
    review_hinted,
    review_outcomes,
    review_verdicts,
    study_head_or_404,
)
from metrics.scoring.selectors import suggested_codes

MOST_ROWS = 40
NO_CODE = "none"  # of a reason that names none of the codebook
Said = dict[int, dict[int, str]]


@logged_in_page
def agreement(request: HttpRequest, key: str, pk: int) -> HttpResponse:
    """A page of its own, and a piece of the page of the review."""
    from analysis.statistics.agreement import nominal

    study = study_head_or_404(key, request.user)
    head = review_head_or_404(key, pk)
    rows = review_verdicts(key, pk)
    outcomes = review_outcomes(key, pk)
    first = nominal.first_verdicts(rows)
    context = {
        "study": study,
        "review": head,
        "outcomes": outcomes,
        "decided": [
            (head["words"].get(each, each), n)
            for each, n in sorted(outcomes["decided"].items(), key=lambda entry: -entry[1])
        ],
        "undecided": outcomes["complete"] - sum(outcomes["decided"].values())
        if not head["several"]
        else None,
        **_measures(first, head, key),
        "hinted": review_hinted(key, pk),
        "judges": _judges(review_decisions(key, pk), head) if head["several"] else [],
        "selves": _selves(rows, first),
        "splits": _splits(rows, head) if head["unblinded"] else [],
    }
    return render(request, "analysis/review_agreement.html", context)


def _measures(first: Said, head: ReviewHead, key: str) -> dict[str, Any]:
    from analysis.statistics.agreement import nominal

    if head["several"]:
        return {"codes": _by_code(first, head)}
    same, several = nominal.same(first)
    measures = [(name, _measure_cells(each)) for name, each in nominal.measures(first, "reviewers")]
    measures = measures[: MOST_ROWS + 2]  # so many pairs, after the two of all reviewers
    return {
        "measures": measures if several else [],
        "same": percent(same / several) if several else "",
        "of": several,
        "aspects": _by_aspect(review_aspects(key, head["pk"])) if several else [],
    }


def _by_code(first: Said, head: ReviewHead) -> list[dict[str, Any]]:
    """Each code as a question of its own, those that were given most first."""
    codes = sorted(
        {
            c
            for by_reviewer in first.values()
            for each in by_reviewer.values()
            for c in each.split("|")
        }
    )
    marks_of = {
        head["words"].get(code, code): {
            item: {who: code in each.split("|") for who, each in by_reviewer.items()}
            for item, by_reviewer in first.items()
        }
        for code in codes
    }
    return sorted(_by_aspect(marks_of), key=lambda row: -row["by_any"])[:MOST_ROWS]


def _by_aspect(
    marks: Mapping[str, Mapping[int, Mapping[int, bool]]],
) -> list[dict[str, Any]]:
    from analysis.statistics.agreement.nominal import by_aspect

    return [
        {
            **_measure_cells(each.alpha),
            **pick_cells(each, "aspect", "by_any", "by_all", "note"),
        }
        for each in by_aspect(marks)
    ]


def _judges(decided: dict[int, str], head: ReviewHead) -> list[dict[str, Any]]:
    """Judge models against what people came to by the rule, each code as a question of its own."""
    judges = []
    for name, named in suggested_codes(decided).items():
        both = {item: (set(decided[item].split("|")), set(codes)) for item, codes in named.items()}
        codes = sorted({c for pair in both.values() for each in pair for c in each} - {"", NO_CODE})
        rows = [_against(code, both, head) for code in codes]
        rows.sort(key=lambda row: (-row["people"], row["code"]))
        judges.append({"name": name, "items": len(both), "rows": rows[:MOST_ROWS]})
    return judges


def _against(
    code: str, both: dict[int, tuple[set[str], set[str]]], head: ReviewHead
) -> dict[str, Any]:
    from analysis.statistics.agreement import nominal

    verdicts = {
        item: {who: "given" if code in codes else "not" for who, codes in enumerate(pair)}
        for item, pair in both.items()
    }
    return {
        "code": head["words"].get(code, code.replace("_", " ")),
        "people": sum(code in people for people, _ in both.values()),
        "judge": sum(code in judge for _, judge in both.values()),
        "both": sum(code in people and code in judge for people, judge in both.values()),
        **_measure_cells(nominal.cohen_kappas(verdicts, ("given", "not"))[0, 1]),
    }


def _measure_cells(measure: Any) -> dict[str, Any]:
    if measure.value is None:
        return {"value": "", "interval": "", "n": measure.items, "note": measure.note}
    interval = (
        ""
        if measure.low is None
        else f"{number(measure.low, decimals=2)} to {number(measure.high, decimals=2)}"
    )
    return {
        "value": number(measure.value, decimals=2),
        "interval": interval,
        "n": measure.items,
        "note": measure.note,
    }


def _selves(rows: Sequence[ReviewVerdict], first: Said) -> list[dict[str, Any]]:
    """How often each said the same of an item that came twice."""
    repeats_of: dict[int, list[bool]] = defaultdict(list)
    for row in rows:
        if row["again"] and row["reviewer"] in first.get(row["item"], {}):
            repeats_of[row["reviewer"]].append(
                first[row["item"]][row["reviewer"]] == row["category"]
            )
    return [
        {
            "reviewer": who,
            "same": sum(same),
            "n": len(same),
            "share": percent(sum(same) / len(same)),
        }
        for who, same in sorted(repeats_of.items())
    ]


def _splits(rows: Sequence[ReviewVerdict], head: ReviewHead) -> list[dict[str, Any]]:
    """The same by system and by label: shares of verdicts, and alpha."""
    from analysis.statistics.agreement import nominal

    tables = []
    for what in ("system", "label"):
        groups: dict[str, list[ReviewVerdict]] = defaultdict(list)
        for row in rows:
            if not row["again"]:
                groups[row[what]].append(row)
        categories = sorted({c for row in rows for c in row["category"].split("|")})
        body = []
        for name, mine in sorted(groups.items())[:MOST_ROWS]:
            first = nominal.first_verdicts(mine)
            whole = sorted({row["category"] for row in mine})
            shares = [
                percent(sum(c in row["category"].split("|") for row in mine) / len(mine))
                for c in categories
            ]
            measure = {} if head["several"] else _measure_cells(nominal.alpha(first, whole))
            body.append({"name": name, "n": len(mine), "shares": shares, "alpha": measure})
        words = [head["words"].get(each, each) for each in categories]
        tables.append({"what": what, "categories": words, "rows": body})
    return tables
