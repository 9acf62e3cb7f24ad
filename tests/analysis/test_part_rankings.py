"""Rankings and best-worst scaling in a report: strengths, counts, groups, and boards."""

import numpy as np
import pytest

from analysis.ratings.table import from_rows
from analysis.statistics.options import Options
from analysis.statistics.pairs.best_worst import max_diff
from analysis.statistics.pairs.screens import choices_in
from tests.analysis.part_of import part_of, rows_of_table
from tests.analysis.reference import BLANK

NO_RULES = Options(rules=())
SYSTEMS = ("human", "w", "x", "y", "z")
STRENGTH = dict(zip(SYSTEMS, (1.5, 0.5, 0.0, -0.4, -1.0), strict=True))


def screen(method, r, position, item, systems, rng):
    heard = {name: STRENGTH[name] + rng.gumbel() for name in systems}
    order = sorted(systems, key=lambda name: -heard[name])
    for name in systems:
        place = order.index(name)
        score = float((place == 0) - (place == len(order) - 1))
        yield BLANK | {
            **{"method": method, "estimand": method, "condition": name, "item": f"i{item}"},
            **{"rater": f"r{r}", "session": f"s{r}", "block": f"b{r}", "position": position},
            **{"stimulus": f"{name}-{item}"},
            "score": score if method == "best_worst" else place + 1.0,
        }


def ratings(method, raters=12, items=6):
    """Each rater hears each item on five screens of four systems; of rankings, on one of all."""
    rng = np.random.default_rng(5)
    rows, all_of_them = [], method == "rank"
    for r in range(raters):
        position = 0
        for item in range(items):
            for left_out in range(1 if all_of_them else 5):
                position += 1
                shown = [n for k, n in enumerate(SYSTEMS) if all_of_them or k != left_out]
                rows += screen(method, r, position, item, shown, rng)
    return from_rows(rows)


@pytest.mark.medium
def test_best_worst_choices_get_strengths_counts_and_letters():
    table = ratings("best_worst")
    shown = part_of("rankings", table, NO_RULES)
    counts = {row["name"]: row for row in rows_of_table(shown, "best_worst_counts")}
    own = table[table["condition"] == "human"]["score"]
    human = counts["human"]
    assert (human["shown"], human["best"], human["worst"]) == (
        len(own),
        (own == 1).sum(),
        (own == -1).sum(),
    )
    assert human["value"] == pytest.approx(own.mean())
    assert human["low"] < human["value"] < human["high"]
    rows = rows_of_table(shown, "strengths")
    assert [row["name"] for row in rows] == list(SYSTEMS)
    assert rows[0]["model"] == "maxdiff"
    assert rows[0]["mark"] == "a"
    renamed = table.rename(columns={"condition": "system", "system": "_"})
    screens = table["position"].astype(str)
    choices, judged = choices_in(renamed.assign(screen=screens))
    assert len(judged) == 12 * 6 * 5
    fit = max_diff(choices)
    assert {row["name"]: row["value"] for row in rows} == pytest.approx(
        dict(zip(fit.names, fit.ability, strict=True))
    )
    models = {row["model"] for row in rows_of_table(shown, "strengths_by_model")}
    assert models == {"maxdiff", "best, then worst"}
    assert shown["sentences"][0].startswith("Order by strength: human > w > x > y > z")


@pytest.mark.medium
def test_rankings_get_strengths_in_the_study_too():
    shown = part_of("rankings", ratings("rank"), NO_RULES)
    rows = rows_of_table(shown, "strengths")
    assert [row["name"] for row in rows] == list(SYSTEMS)
    assert rows[0]["model"].startswith("Plackett-Luce")
    assert all(table["key"] != "best_worst_counts" for table in shown["tables"])
    matrix = next(figure for figure in shown["figures"] if figure["key"] == "win_matrix")
    assert {row["n"] for row in matrix["rows"] if row["row"] != row["column"]} == {72}


def test_screens_that_nothing_tells_apart_are_refused_with_the_column_that_would():
    table = ratings("best_worst", raters=2, items=2).assign(position=1)
    shown = part_of("rankings", table, NO_RULES)
    assert "give the column position" in shown["warnings"][0]


def test_two_groups_that_never_met_are_shown_each_alone():
    rng = np.random.default_rng(1)
    rows = [
        row
        for r in range(6)
        for item in range(4)
        for position, systems in enumerate((SYSTEMS[:2], SYSTEMS[2:]), start=2 * item)
        for row in screen("best_worst", r, position, item, systems, rng)
    ]
    shown = part_of("rankings", from_rows(rows), NO_RULES)
    assert "no common ranking" in shown["warnings"][0]
    assert {row["group"] for row in rows_of_table(shown, "strengths")} == {"human, w", "x, y, z"}
