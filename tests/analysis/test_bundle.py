"""The bundle of a report: every file, the same bytes again, LaTeX and Markdown that hold."""

import csv
import io
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from analysis.ratings.metric_scores import scores_from_rows
from analysis.report.build import report_of
from analysis.report.content import Column, Content, Table
from analysis.report.writers.bundle import BundleChoice, bundle, bundle_files, zip_files
from analysis.report.writers.latex import latex_table
from analysis.report.writers.latex_text import escape_latex, letters_not_set
from analysis.report.writers.markdown import table_markdown
from analysis.report.writers.methods_text import methods_in_full, methods_text
from analysis.report.writers.paper_tables import NamedTable, paper_tables
from analysis.statistics.options import Options
from listening.common import whole_files
from tests.analysis.drawn import CHINESE, EVERY, LONG
from tests.analysis.reference import rows_of

pytestmark = pytest.mark.usefixtures("without_models", "answer_alone")
ROOT = Path(__file__).resolve().parents[2]
NAMES = ("A_1 & co", "50 % #1", "=cmd()", CHINESE, "back\\slash {x} ~^", LONG)
HARD = Table(
    "all",
    "What 100 % of_all & more | show",
    [
        Column("name", "Name"),
        Column("value", "Value", "number", sign=True),
        Column("interval", "95 % interval", "interval"),
        Column("p", "p", "p"),
        Column("share", "Share", "percent"),
        Column("mark", "Tier", "mark"),
    ],
    [
        {
            "name": name,
            "value": -0.5 + n,
            "low": None if n == 2 else n - 1.0,
            "high": n + 1.0,
            "p": 0.0001 if n else None,
            "share": n / 10,
            "mark": "ab",
            "parts": [1, 2],
        }
        for n, name in enumerate(NAMES)
    ],
    "A note with 5 % & <angles> from 1–2.",
)


def with_part(report, **fields):
    shown = Content(["One sentence."], EVERY[:2], [HARD], ["Weak."], ["We did it."], {"x.txt": "y"})
    part = {"key": "made", "version": "3", "title": "Made", "problem": "", **shown.plain()}
    return {**report, "parts": [{**part, **fields}]}


@pytest.fixture(scope="module")
def table():
    scores = {
        (name, f"r{r}", f"i{i}"): 1 + (r * 3 + i + n) % 5
        for n, name in enumerate(NAMES[:4])
        for r in range(4)
        for i in range(3)
    }
    return rows_of(scores, rated_at="2026-03-04T05:06:07Z")


@pytest.fixture(scope="module")
def report(table, without_models, answer_alone):
    return report_of(table, options=Options(replicates=200), made_at="some moment")


@pytest.fixture(scope="module")
def written(report, table, tmp_path_factory):
    folder = tmp_path_factory.mktemp("bundle")
    paths = bundle(with_part(report), table, None, folder)
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


@pytest.mark.slow
def test_the_bundle_holds_report_tables_figures_methods_and_ratings(written):
    assert {
        "README.txt",
        "report.html",
        "report.md",
        "report.json",
        "estimates.json",
        "estimates.csv",
        "contrasts.csv",
        "methods.txt",
        "methods.tex",
        "references.bib",
        "report-card.md",
        "report-card.tex",
        "report-card.json",
        "ratings.csv",
        "tables/made-all.csv",
        "tables/made-all.md",
        "tables/made-all.tex",
        "more/made-x.txt",
        *(f"figures/made-means.{kind}" for kind in ("pdf", "svg", "png", "csv")),
    } <= set(written)
    assert all(written.values())
    told = written["README.txt"].decode()
    assert json.loads(written["report.json"])["provenance"]["table_hash"] in told
    assert {name.split("/")[0] for name in written if "/" in name} == {"tables", "figures", "more"}


@pytest.mark.slow
def test_made_again_at_another_moment_the_zip_has_the_same_bytes(report, table, written):
    made = zip_files(bundle_files(with_part({**report, "made_at": "another"}), table))
    with zipfile.ZipFile(io.BytesIO(made)) as archive:
        names = archive.namelist()
        assert names == sorted(names)
        assert {name: archive.read(name) for name in names} == written
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


@pytest.mark.slow
def test_the_page_finds_its_figures_and_tables_beside_it(written):
    links = re.findall(r'href="([^#"][^"]*)"', written["report.html"].decode())
    assert {"figures/made-means.pdf", "figures/made-means.csv", "tables/made-all.csv"} <= set(links)
    assert set(links) <= set(written)
    pictures = re.findall(r"!\[.*?\]\((.*?)\)", written["report.md"].decode())
    assert len(pictures) == 3
    assert set(pictures) <= set(written)


@pytest.mark.medium
def test_reading_a_report_loads_neither_matplotlib_nor_pandas():
    code = (
        "import sys, analysis.report.writers.bundle, analysis.report.figures.paper;"
        "import analysis.report.figures;"
        "sys.exit(', '.join({'matplotlib', 'pandas', 'scipy', 'numpy'} & set(sys.modules)) or None)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_its_date_is_that_of_the_newest_rating(written):
    assert json.loads(written["report.json"])["made_at"] == "2026-03-04T05:06:07Z"
    assert b"some moment" not in b"".join(written.values())


@pytest.mark.slow
def test_a_full_disk_keeps_the_old_file_and_leaves_no_part_of_a_new_one(
    report, table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    methods = tmp_path / "methods.txt"
    methods.write_text("old")
    real = os.open

    def full(path: Path, flags: int, mode: int) -> int:
        if "methods.txt" not in path.name:
            return real(path, flags, mode)
        os.close(real(path, flags, mode))
        return real("/dev/full", os.O_WRONLY)

    monkeypatch.setattr(whole_files.os, "open", full)
    with pytest.raises(OSError, match="No space"):
        bundle(report, table, None, tmp_path, BundleChoice(figures=False))
    assert methods.read_text() == "old"
    assert not list(tmp_path.glob(".*"))


@pytest.mark.slow
def test_ratings_that_are_not_those_of_the_report_stay_out(report, table):
    for other in (None, table.iloc[:-1]):
        with zipfile.ZipFile(
            io.BytesIO(zip_files(bundle_files({**report, "parts": []}, other)))
        ) as archive:
            assert "ratings.csv" not in archive.namelist()
            assert "no ratings.csv" in archive.read("README.txt").decode()


@pytest.mark.slow
def test_scores_that_are_not_those_of_the_report_stay_out(table):
    rows = [
        {"stimulus": stimulus, "metric": "m", "version": "1", "value": float(n)}
        for n, stimulus in enumerate(sorted(set(table["stimulus"])))
    ]
    scores = scores_from_rows(rows)
    report = {**report_of(table, scores, options=Options(replicates=200)), "parts": []}
    for given, there in ((scores, True), (scores.iloc[:-1], False), (rows, True), (None, False)):
        plain = BundleChoice(figures=False)
        files = {name for name, _ in bundle_files(report, None, given, wanted=plain)}
        assert ("scores.csv" in files) is there
    paper = BundleChoice(everything=False, figures=False)
    readme = dict(bundle_files(report, table, scores, wanted=paper))["README.txt"].decode()
    assert '\n(scores.csv is in the bundle "Everything".)' in readme


@pytest.mark.slow
def test_without_figures_for_papers_nothing_points_at_them(report, table):
    files = dict(bundle_files(with_part(report), table, wanted=BundleChoice(figures=False)))
    assert not [name for name in files if name.startswith("figures/")]
    for name in ("report.html", "report.md"):
        assert b"figures/" not in files[name]
        assert b"tables/" in files[name] or name.endswith("md")


@pytest.mark.slow
def test_tables_of_parts_are_in_full_with_provenance_in_their_csv(written, report):
    rows = list(csv.DictReader(io.StringIO(written["tables/made-all.csv"].decode())))
    assert [row["name"] for row in rows] == ["'=cmd()" if n == "=cmd()" else n for n in NAMES]
    assert rows[0]["parts"] == "[1, 2]"
    assert rows[2]["low"] == ""
    assert {row["part"] for row in rows} == {"made 3"}
    assert {row["table_hash"] for row in rows} == {report["provenance"]["table_hash"]}


def test_a_long_table_goes_on_in_further_ones_of_the_same_number():
    rows = [{"name": f"n{n}"} for n in range(60)]
    text = latex_table(NamedTable("k", Table("k", "Long", [Column("name", "Name")], rows)))
    assert text.count("\\begin{table}") == 2
    assert text.count("\\addtocounter{table}{-1}") == text.count("(continued)") == 1
    assert text.count("\\label{tab:k}") == 1
    assert [f"n{n}" for n in range(60)] == re.findall(r"    (n\d+) ", text)


def test_every_character_of_a_name_stands_for_itself_in_latex():
    assert escape_latex("a_b & 5 % −1 \\x{y}") == r"a\_b \& 5 \% $-$1 \textbackslash{}x\{y\}"
    assert (
        escape_latex("ε η² Δ ω₁₀ Α") == r"$\epsilon$ $\eta$$^{2}$ $\Delta$ $\omega$$_{1}$$_{0}$ Α"
    )
    assert letters_not_set(["é ł ß – “x” ε²", CHINESE]) == "".join(sorted(set(CHINESE)))
    table = Table("k", "Names", [Column("name", "Name")], [{"name": CHINESE}])
    assert latex_table(NamedTable("k", table)).startswith("% XeLaTeX or LuaLaTeX")


@pytest.mark.slow
def test_markdown_rows_keep_their_columns(report):
    for table in [*(named.table for named in paper_tables(report)), HARD]:
        lines = [x for x in table_markdown(table).splitlines() if x.startswith("|")]
        assert len(lines) == len(table.rows) + 2
        assert {len(re.findall(r"(?<!\\)\|", x)) for x in lines} == {len(table.columns) + 1}


@pytest.mark.slow
def test_the_methods_say_what_was_done_by_its_numbers(report):
    text, data = methods_text(report), report["data"]
    assert f"{data['ratings_kept']} ratings by {data['raters_kept']} raters" in text
    assert "95 % confidence intervals" in text
    assert report["provenance"]["table_hash"][:16] not in text
    assert "We did it." in methods_in_full(with_part(report))


@pytest.mark.medium
def test_an_empty_report_still_makes_a_bundle(table):
    report = report_of(table.iloc[:0], options=Options(replicates=200))
    with zipfile.ZipFile(io.BytesIO(zip_files(bundle_files(report, table.iloc[:0])))) as archive:
        assert {"report.html", "README.txt", "methods.txt"} <= set(archive.namelist())


@pytest.mark.slow
@pytest.mark.usefixtures("every_part")
def test_no_two_files_have_one_name():
    rows = rows_of(
        {
            (c, f"r{r}", f"i{i}"): (r + i + n) % 5 + 1
            for n, c in enumerate("ABC")
            for r in range(4)
            for i in range(4)
        }
    )
    rows = rows.assign(
        system=rows["condition"].map({"A": "one", "B": "one", "C": "two"}).astype("str"),
        dimension=rows["item"].map(lambda item: "short" if item < "i2" else "long").astype("str"),
    )
    report = report_of(rows, options=Options(intervals=("two_way",)))
    assert {"system:", "system:dimension"} <= set(report["provenance"]["breakdowns"])
    names = [name for name, _ in bundle_files(report, wanted=BundleChoice(figures=False))]
    assert len(names) == len(set(names))
