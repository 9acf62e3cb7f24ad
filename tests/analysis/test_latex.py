"""Every table as TeX Live sets it in a two-column article: no error, nothing too wide."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from analysis.report.build import report_of
from analysis.report.content import Column, Table
from analysis.report.emphasis import BEST, SECOND
from analysis.report.writers.bundle import BundleChoice, bundle_files
from analysis.report.writers.latex import PACKAGES, Grid, latex_grid, latex_table, sheets
from analysis.report.writers.paper_results import results_grid
from analysis.report.writers.paper_tables import NamedTable
from analysis.statistics.options import Options
from tests.analysis.drawn import CHINESE, LONG
from tests.analysis.reference import rows_of
from tests.config.helpers import PATIENCE_S

HARD = "ε² ≈ η, 5 % & a_b#c $x ~^ {y} \\z <é> ≥ −1 · ½ “q” Łódź ₁"
WORDS = ["a_name_that_nobody_would_ever_break-by_itself/in.two", HARD, f"{LONG} " * 6, "short"]
HEADS = ["Condition", "A long heading of a column", "95 % interval, adjusted", "p", "Note"]


def hard_tables():
    """Too wide for a page, too long for one, and with every character that TeX knows better."""
    for across, down in ((2, 3), (6, 120), (30, 12)):
        columns = [Column("name", HEADS[0]), Column("note", HEADS[4])]
        columns += [Column(f"n{n}", HEADS[n % 4], "number", 2, sign=True) for n in range(across)]
        row = {f"n{n}": -1234.5 * n for n in range(across)}
        row |= {f"n{n}_mark": (BEST, SECOND)[n % 2] for n in range(0, across, 3)}
        rows = [{**row, "name": WORDS[n % 4], "note": WORDS[(n + 1) % 4]} for n in range(down)]
        key = f"hard-{across}"
        table = Table(key, f"{HARD} {WORDS[0]}", columns, rows, f"{HARD} " * 9, group="note")
        yield NamedTable(key, table)


@pytest.fixture(scope="module")
def reports(without_models):
    """With long labels and two tasks, and fifteen systems beside each other."""
    labels = {"k1": HARD, "sys_two": f"{LONG} and more of it", "c": CHINESE, "d": "d"}
    few = {(c, f"r{r}", f"i{i}"): 1 + (r + 2 * i + n * r) % 5 for n, c in enumerate(labels)
           for r in range(6) for i in range(4)}  # fmt: skip
    labelled = {**report_of(rows_of(few), options=Options(replicates=100)), "labels": labels}
    many = {(f"system_{n:02d}", f"r{r}", f"i{i}"): 1 + (r + 2 * i + n * r) % 5 for n in range(15)
            for r in range(5) for i in range(3)}  # fmt: skip
    quick = Options(intervals=("two_way",), replicates=100)
    return labelled, report_of(rows_of(many, task="listening-test_2"), options=quick)


def complaints(folder: Path, texts: dict[str, str]) -> list[str]:
    """What pdfLaTeX says of these files, each on pages of its own."""
    tex = shutil.which("pdflatex")
    assert tex, (
        "pdfLaTeX is missing: `make test` installs it, or apt-get install the Makefile's TEX"
    )
    lines = [f"\\documentclass[twocolumn,a4paper]{{article}}\\usepackage{{{','.join(PACKAGES)}}}"]
    lines.append("\\begin{document}")
    for name, text in texts.items():
        (folder / f"{name}.tex").write_text(text, "utf-8")
        lines.append(f"\\typeout{{FILE {name}}}\\input{{{name}}}\\clearpage")
    (folder / "all.tex").write_text("\n".join([*lines, "Text.\\end{document}"]), "utf-8")
    subprocess.run([tex, "-interaction=nonstopmode", "all.tex"], cwd=folder, timeout=PATIENCE_S,
                   stdin=subprocess.DEVNULL, capture_output=True, check=False)  # fmt: skip
    told, where = [], ""
    for line in (folder / "all.log").read_text("utf-8", errors="replace").splitlines():
        where = line if line.startswith("FILE ") else where
        if line.startswith(("Overfull", "!")) or "too large" in line:
            told.append(f"{where}: {line}")
    assert (folder / "all.pdf").exists(), told
    assert where == f"FILE {list(texts)[-1]}"
    return told


@pytest.fixture(scope="module")
def texts(reports):
    """Every .tex by its name; letters that need another engine are made such that do not."""
    found = {named.key: latex_table(named) for named in hard_tables()}
    for number, report in enumerate(reports):
        for path, content in bundle_files(report, wanted=BundleChoice(figures=False)):
            if path.endswith(".tex"):
                name = f"{number}-{path.replace('/', '-').removesuffix('.tex')}"
                found[name] = content.decode()
    assert any(CHINESE[0] in text for text in found.values())
    letters = {letter for letter in CHINESE if not letter.isascii()}
    return {k: "".join("m" if x in letters else x for x in t) for k, t in found.items()}


@pytest.mark.slow
def test_every_table_fits_a_two_column_article(texts, tmp_path):
    assert len(texts) > 30
    assert not complaints(tmp_path, texts)


@pytest.mark.slow
def test_no_table_is_made_smaller_than_people_can_read(texts, tmp_path):
    """Set without a limit, each is wider than its place by an amount that is still legible."""
    limit = r"\ifdim\width>\linewidth\linewidth\else\width\fi"
    unlimited = {name: text.replace(limit, r"\width") for name, text in texts.items()}
    told = complaints(tmp_path, unlimited)
    excess = [float(found[1]) for line in told if (found := re.search(r"\(([\d.]+)pt", line))]
    assert len(excess) > 10
    assert max(excess) < 230  # of 450 pt: six points instead of nine


@pytest.mark.slow
def test_the_main_table_takes_one_column_and_says_labels(texts, reports):
    for report in reports:
        (sheet,) = sheets(results_grid(report))
        assert not sheet.wide
    assert not re.search(r"k1|sys\\_two", texts["0-results"] + texts["0-differences"])


def test_a_column_without_heading_and_cells_is_set():
    """As the letters beside differences are where no difference has one."""
    grid = Grid("marks", "Differences", ("Name", ""), (False, False), (("A", ""), ("B", "")))
    assert "A &  \\\\" in latex_grid(grid)
