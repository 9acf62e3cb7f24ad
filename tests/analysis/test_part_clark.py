"""Clark et al.'s tables 1 and 2 come out of the report, digit by digit, where they are fed in."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from analysis.ratings.problems import RatingsWarning
from analysis.ratings.table import from_csv
from analysis.report.content import Content
from analysis.report.html.part_html import table_html
from analysis.report.part import PartInput
from analysis.report.parts.long_form import LongForm
from analysis.statistics.options import Options
from analysis.statistics.screening.screened import screen
from tests.analysis.shown_by import in_keys

DATA = Path(__file__).resolve().parents[1] / "data" / "analysis" / "published"
PLAIN = Options(rules=(), preset="long_form", replicates=100)
WRONG_P = {("3", "s3")}  # t = 1.63 with 27 degrees of freedom is p = 0.11; the paper has 0.17
WRONG_SIGN = "n_sentences"  # r = -0.020 is never below 0.05 with 103 paragraphs


def published(name: str) -> list[dict[str, str]]:
    with (DATA / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def shown(path: Path) -> Content:
    screened = screen(from_csv(path), ())
    return in_keys(LongForm().make(PartInput(screened.kept(()), screened, PLAIN)))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Content:
    """The report of mean scores that were sought for the paper's tables (103 paragraphs)."""
    lines = ["task,method,estimand,criterion,rater,paragraph,item,condition,stimulus,label,score"]
    for each in published("clark_paragraph_means.csv"):
        p, whole, scores = each["paragraph"], each["whole"], each["sentences"].split()
        rows = [("paragraphs", "Tp", f"{p}.1-{len(scores)}", whole)]
        rows += [("isolation", "Ti", f"{p}.{n}", y) for n, y in enumerate(scores, start=1)]
        lines += [
            f"{task},mos,mos,naturalness,r1,{p},{item},{form},{form}:{item},{y},{y}"
            for task, form, item, y in rows
        ]
    path = tmp_path_factory.mktemp("clark") / "ratings.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return shown(path)


def table_of(found: Content, key: str):
    (table,) = [table for table in found.tables if table.key == key]
    return table


def test_table_1_is_the_papers(found: Content) -> None:
    table = table_of(found, "table1")
    r, p = table.rows
    printed = {
        row["predictor"]: row for row in published("clark_table1_paragraph_correlations.csv")
    }
    names = {c.key: c.key.removesuffix("_mos") for c in table.columns}
    assert [c.heading for c in table.columns][1:] == [
        *("Mean sentence MOS", "First sentence MOS", "Second sentence MOS", "Last sentence MOS"),
        *("Minimum sentence MOS", "Maximum sentence MOS", "Number of sentences", "Number of words"),
    ]
    for name in list(names)[1:-1]:  # words are unknown here: there are no texts
        row = printed.get(f"{name}_sentence_mos") or printed[name]
        assert float(r[name].replace("−", "-")) == float(row["pearson_r"]), name
        below = "<" in row["p"] and name != WRONG_SIGN
        assert p[name].startswith("<" if below else ">"), name
        assert not below or float(p[name].lstrip("< ")) <= float(row["p"].lstrip("<")), name
    assert r["n_words"] == p["n_words"] == ""
    assert "103 paragraphs of T" in table.note


def test_table_2_is_the_papers(found: Content) -> None:
    table = table_of(found, "positions")
    printed = published("clark_table2_regressions.csv")
    assert len(table.rows) == len(printed) == 12
    for row, paper in zip(table.rows, printed, strict=True):
        place = paper["n_sentences"], paper["term"]
        assert (str(row["sentences"]), row["term"], str(row["n"])) == (
            *place,
            paper["n_paragraphs"],
        )
        for key in ("coef", "se", "t"):
            assert round(row[key], 2) == pytest.approx(float(paper[key])), (place, key)
        if place not in WRONG_P:
            assert row["p"] == pytest.approx(float(paper["p"]), abs=0.011), place  # of a rounded t
        assert f"R² = {float(paper['r2']):.2f} (F = {float(paper['F']):.2f}, p" in row["model"]
    headings = list(dict.fromkeys(row["model"] for row in table.rows))
    assert [heading.rpartition("p ")[2] for heading in headings] == [
        "> 0.05)",
        "< 0.05)",
        "> 0.05)",
    ]
    page = table_html(table)
    assert page.count('scope="rowgroup"') == 3
    assert "T, paragraphs of two sentences: 46 paragraphs" in page


@pytest.mark.medium
def test_preferences_stand_by_setting_from_one_side(tmp_path: Path) -> None:
    """A quarter of the pairs are stored the other way round: reading turns them, and says so."""
    head = "task,method,estimand,criterion,rater,paragraph,item,condition,versus_condition,"
    lines = [head + "stimulus,label,score"]
    for n in range(6):
        for form, item, score in (
            ("Ti", f"p{n}.2", -1),
            ("R1T1", f"p{n}.2", 1),
            ("Tp", f"p{n}.1-2", 0),
        ):
            for rater in range(4):
                a, b = f"{form} (new)", f"{form} (old)"
                y = score + (rater % 2)
                if rater == 3:
                    a, b, y = b, a, -y
                lines.append(
                    f"t,preference,preference,natural,r{rater},p{n},{item},{a},{b},"
                    f"{a}:{item},{y},{y}"
                )
    path = tmp_path / "ratings.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.warns(RatingsWarning, match="18 comparisons name a pair the other way round"):
        made = shown(path)
    rows = {row["name"]: row for row in table_of(made, "long_form_conditions").rows}
    values = {name: row["value"] for name, row in rows.items()}
    assert values == {
        "R1T1 (new over old)": 1.5,
        "Tp (new over old)": 0.5,
        "Ti (new over old)": -0.5,
    }
    (figure,) = [f for f in made.figures if f.key == "long_form_conditions"]
    assert figure.at == (0.0,)
    (effect,) = table_of(made, "context_effects").rows
    assert (effect["name"], effect["value"]) == ("R1T1 (new over old) − Ti (new over old)", 2.0)


@pytest.mark.medium
def test_scores_beside_an_open_reference_are_of_their_own_clip(tmp_path: Path) -> None:
    """On a MUSHRA screen every row names the reference, too; it is no side of a comparison."""
    head = "task,method,estimand,criterion,rater,paragraph,item,condition,versus_condition,"
    lines = [head + "stimulus,label,score"]
    for n in range(4):
        for reference, form, score in (("Ri", "Ri", 90), ("Ri", "Ti", 60), ("R1R1", "R1T1", 70)):
            for rater in range(3):
                item, y = f"p{n}.2", score + rater
                lines.append(
                    f"t,mushra,mushra,quality,r{rater},p{n},{item},{form},{reference},"
                    f"{form}:{item},{y},{y}"
                )
    path = tmp_path / "ratings.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    rows = table_of(shown(path), "long_form_conditions").rows
    assert {row["name"]: row["value"] for row in rows} == {"Ri": 91, "R1T1": 71, "Ti": 61}
