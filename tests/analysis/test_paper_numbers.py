"""One set of numbers: every paper file and the page of every method, against one count by hand."""

from __future__ import annotations

import csv
import io
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial
from html.parser import HTMLParser
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from analysis.ratings.table import from_rows, read_csv, table_hash
from analysis.report import build
from analysis.report.build import report_of
from analysis.report.html.page import page_html
from analysis.report.interim import interim_families
from analysis.report.writers.bundle import date_by_ratings
from analysis.report.writers.methods_text import methods_text
from analysis.report.writers.paper_bundle import paper_bundle
from analysis.statistics.options import Options
from analysis.statistics.screening.rule import Rule
from analysis.statistics.screening.screened import DEFAULT, study_rules
from analysis.statistics.screening.single_ratings import AnswerTime
from listening.design.presets import presets
from listening.design.studyfile import read_folder
from listening.design.traps import TrapPlan
from listening.methods import Method
from tests.analysis.counted import CASES, Count, Row, answers, ratings, scale_of, trap_row
from tests.analysis.reference import BLANK

PARTS = ("answer", "comparisons", "pairs")  # what the page says of conditions
OPTIONS = Options(intervals=("two_way",))
NUMBER = r"[-−+]?\d+(?:\.\d+)?"
YEAR = re.compile(r"(?:19|20)\d\d")


class Case:
    """A study with its report, its paper files, its page and what a person counts of it."""

    def __init__(self, method: type[Method], case: str) -> None:
        self.method, self.case = method, case
        self.rows: list[Row] = ratings(method, case)
        self.is_open = case == "open"
        table = from_rows(self.rows)
        looking = partial(interim_families, questions=[_question(method)])
        every = build.parts_to_make
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                build, "parts_to_make", lambda given: [p for p in every(given) if p.key in PARTS]
            )
            patch.setattr(build, "sensitivity", lambda *given: [])  # no number of these files
            self.report = report_of(
                table, options=OPTIONS, looking=looking if self.is_open else None
            )
        has_bounds = self.is_open and any(r["kind"] != "none" for r in self.report["interim"])
        self.sequential = has_bounds
        self.count = Count(self.rows, finished_only=has_bounds)
        made = paper_bundle(date_by_ratings(self.report), _judged(table, self.report), drawn=False)
        self.files = {name: content.decode() for name, content in made.items()}
        self.page = Page()
        self.page.feed(page_html(self.report, methods=methods_text(self.report)))


def _question(method: type[Method]) -> Any:
    columns = [{"condition": "sysA", "versus_condition": "sysB", "ratings": 99}]
    return {"task": "t", "criterion": "naturalness", "ends": scale_of(method), "columns": columns}


def _judged(table: Any, report: Any) -> str:
    from analysis.ratings.table import to_rows
    from analysis.report.exclusions import judged_csv

    return "".join(judged_csv(to_rows(table), report))


class Page(HTMLParser):
    """A page's text, its tables by their headings, its figures' words, and its counts."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self.tables: list[list[list[str]]] = []
        self.marks: list[str] = []  # what figures say of each line
        self.terms: list[str] = []
        self._within: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self._within.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
        elif tag in ("dt", "dd"):
            self.terms.append("")
        elif tag == "title" and "svg" in self._within:
            self.marks.append("")

    def handle_endtag(self, tag: str) -> None:
        while self._within and self._within.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if "style" in self._within:
            return
        self.words.append(data)
        if "td" in self._within or "th" in self._within:
            self.tables[-1][-1][-1] += data
        elif "dt" in self._within or "dd" in self._within:
            self.terms[-1] += data
        elif "title" in self._within and "svg" in self._within:
            self.marks[-1] += data

    @property
    def text(self) -> str:
        return " ".join(self.words)

    def table(self, *heads: str) -> list[list[str]]:
        """The rows of the first table whose headings begin so; none where there is no such."""
        for rows in self.tables:
            if rows and rows[0][: len(heads)] == list(heads):
                return rows[1:]
        return []

    def counts(self) -> dict[str, int]:
        pairs = zip(self.terms[::2], self.terms[1::2], strict=False)
        return {
            k: int(v.replace("\u202f", "")) for k, v in pairs if re.fullmatch(r"[\d\u202f]+", v)
        }


@cache
def case_of(key: str, case: str) -> Case:
    return Case(Method.registry[key], case)


def number_of(text: str) -> float:
    return float(text.replace("−", "-").replace("+", "").rstrip(" %"))


def says(shown: str, value: float) -> bool:
    """Whether a printed number is the value, rounded to the decimals that it has."""
    digits = len(shown.rstrip(" %").partition(".")[2])
    return abs(number_of(shown) - value) <= 0.5 * 10.0**-digits + 1e-9


def csv_rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def tex_rows(text: str) -> Iterator[list[str]]:
    """The cells of each row of a LaTeX table, as plain text; headings of groups left out."""
    body = text.partition("\\midrule\n")[2].partition("\\bottomrule")[0]
    for line in body.replace("\\addlinespace ", "").splitlines():
        if "\\multicolumn" in line or not line.strip():
            continue
        cells = line.strip().removesuffix("\\\\").split(" & ")
        yield [plain(cell) for cell in cells]


def plain(cell: str) -> str:
    for written, shown in (("$-$", "−"), ("{}", ""), ("\\%", "%"), ("\\textless", "<")):
        cell = cell.replace(written, shown)
    return re.sub(r"\\hspace\{0pt\}|[\\$]", "", cell).strip()


# One method of each kind with all that there can be, and bare, open and closed, where that differs
KINDS = {
    "everything": ("abx", "att", "cmos", "free_choice", "mos", "mushra", "rank"),
    "closed": ("cmos",),
    "open": ("mos",),
}
CASES_OF_METHODS = [
    pytest.param(
        *(key, case),
        id=f"{key}-{case}",
        marks=[] if key in KINDS[case] else pytest.mark.soak,
    )
    for key in sorted(Method.registry)
    for case in CASES
]


@pytest.mark.slow
@pytest.mark.parametrize(("key", "case"), CASES_OF_METHODS)
def test_every_number_of_paper_files_and_page_is_the_one_that_a_person_counts(
    key: str, case: str
) -> None:
    study = case_of(key, case)
    means_are_counted(study)
    differences_are_counted(study)
    texts_are_counted(study)
    the_page_says_the_same(study)
    an_open_study_has_one_verdict(study)
    the_ratings_say_what_was_left_out(study)


def means_are_counted(study: Case) -> None:
    rows = csv_rows(study.files["results.csv"])
    tex = list(tex_rows(study.files["results.tex"]))
    assert len(rows) == len(tex) > 0
    value_at = list(rows[0])[2]
    sides = {frozenset(row["Condition"].split(" versus ")) for row in rows}
    if study.method.estimand.in_pairs:
        assert len(sides) == len(rows) == study.count.conditions * (study.count.conditions - 1) / 2
    for row, printed in zip(rows, tex, strict=True):
        name, _, label = row["Condition"].partition(": ")
        group = study.count.group(name, label)
        mean = fmean(group.by_rater) if study.sequential else group.mean
        assert says(row[value_at], 100 * mean if label else mean), (row, mean)
        assert tuple(int(row[k]) for k in ("Ratings", "Raters", "Items")) == group.n, row
        assert printed[0] == row["Condition"]
        assert number_of(printed[1]) == number_of(row[value_at])
        assert int(printed[-1].replace(",", "")) == group.n[0]
        low, high = (row[end] for end in list(row)[3:5])
        assert re.findall(NUMBER, printed[2]) == (
            [low.replace("-", "−"), high.replace("-", "−")] if low else []
        )
        if low:
            assert number_of(low) <= number_of(row[value_at]) <= number_of(high)


def differences_are_counted(study: Case) -> None:
    if "differences.csv" not in study.files:
        assert (
            study.method.estimand.in_pairs
            or study.method.estimand.maybe_without_score
            or (study.is_open and not study.sequential)
        )
        return
    rows = csv_rows(study.files["differences.csv"])
    tex = list(tex_rows(study.files["differences.tex"]))
    tested = list(rows[0])[5]
    assert tested == ("Significant at the sequential bound" if study.is_open else "p, adjusted")
    assert not [row for row in rows if "anchor" in row["Difference"]], "an anchor is compared"
    pairs = {frozenset(row["Difference"].split(" − ")) for row in rows}
    assert len(pairs) == len(rows) == 3
    for row, printed in zip(rows, tex, strict=True):
        value, n = study.count.difference(row["Difference"])
        assert tuple(int(row[k]) for k in ("Ratings", "Raters", "Items")) == n, row
        if not study.is_open:  # then it is the mean within raters, who all rated everything
            assert says(row["Value"], value), (row, value)
        assert printed[0].replace(" ", "") == row["Difference"].replace(" ", "")
        assert number_of(printed[1]) == number_of(row["Value"])
        ends = [row[end].replace("-", "−") for end in list(row)[3:5]]
        assert re.findall(NUMBER, printed[2]) == [end for end in ends if end]
        assert printed[3] == row[tested]
    caption = study.files["differences.tex"].partition("\\caption{")[2].partition("}\n")[0]
    assert ("adjusted p values" in caption) is not study.is_open
    anchors = re.findall(r"(\d+) differences with an anchor", study.files["differences.tex"])
    assert anchors == (["3"] if study.case == "everything" else [])


def texts_are_counted(study: Case) -> None:
    """Every number of the methods paragraph, of captions and of the README is a count or a name."""
    every = Count(study.rows)
    took_part = len({row["rater"] for row in study.rows if not row["trap"]})
    counts = {
        *(took_part, every.given, len(every.kept), every.left_out, every.traps, every.finished),
        *(every.raters, every.items, every.conditions, every.clips),
        *(every.ratings_per_clip, every.ratings_per_rater),
    }
    low, high = scale_of(study.method)
    allowed = {float(each) for each in counts} | {95.0, 0.05, 0.5, low, high}
    scores = [each["score"] for each in every.kept if each["score"] is not None]
    allowed |= {min(scores), max(scores)} if scores else set()  # "scores given: 2 to 5"
    methods = study.files["methods.txt"]
    body = methods.partition("Analyses used")[0]
    for found in re.findall(rf"(?<![\w.]){NUMBER}(?![\w])", body.replace(",", "")):
        assert number_of(found) in allowed or YEAR.fullmatch(found), (found, methods)
    assert not re.search(r"[0-9a-f]{12}|_|\bkey\b", methods)
    kept, people = len(every.kept), f"{every.raters} raters"
    of_all = people if took_part == every.raters else f"{every.raters} of {took_part} raters"
    assert f"{kept} ratings by {of_all} of {every.clips} clips" in methods
    assert f"({every.items} items, {every.conditions} conditions)" in methods
    caption = study.files["results.tex"].partition("\\caption{")[2].partition("}\n")[0]
    if study.sequential:
        people = f"{every.finished} raters who finished"
    assert f"({every.conditions} conditions), rated by {people} on {every.items} items" in caption
    readme = study.files["README.txt"]
    assert f"{kept} of {every.given} ratings are in the estimates." in readme
    lost = re.findall(r"Left out: (\d+) ratings? \(", readme)
    assert sum(map(int, lost)) == every.left_out
    assert ("The anchor was anchor" in methods) is (
        study.case == "everything"
        and not every.estimand.in_pairs
        and bool(study.report["estimates"])
    )


def the_page_says_the_same(study: Case) -> None:
    every = Count(study.rows)
    counts = study.page.counts()
    assert counts["Ratings in the estimates"] == len(every.kept)
    assert counts["Left out"] == every.left_out
    assert counts["Raters"] == every.raters
    assert counts["Items"] == every.items
    assert counts["Conditions"] == every.conditions
    drawn = dict(filter(None, map(_said_of, study.page.marks)))
    for row in csv_rows(study.files["results.csv"]):
        if ": " in row["Condition"]:  # bars of shares say other words
            continue
        value_at = list(row)[2]
        name = next(n for n in (row["Condition"], *_roles(row["Condition"])) if n in drawn)
        value, low, high, n = drawn[name]
        assert number_of(value) == number_of(row[value_at])
        assert int(n) == int(row["Ratings"])
        if low:
            shown = [max(min(number_of(e), 1e9), -1e9) for e in (low, high)]
            printed = [number_of(row[end]) for end in list(row)[3:5]]
            ends = study.method.estimand.ends
            inside = [min(max(e, ends[0]), ends[1]) for e in shown] if ends else shown
            assert inside == pytest.approx(printed)
    for cells in study.page.table("Condition", "Mean"):
        if every.estimand.in_pairs:
            continue  # what is compared with the last of the others
        group = every.group(cells[0])
        assert says(cells[1], group.mean)
        assert tuple(map(int, cells[-3:])) == group.n
    for cells in study.page.table("Pair"):
        pair = re.split(" against | and ", cells[0])
        if len(pair) == 2:
            group = every.group(" versus ".join(pair))
            assert says(cells[1], group.mean), cells
            assert tuple(map(int, cells[-3:])) == group.n
    if not study.is_open:
        for (
            condition,
            versus,
            value,
            *_,
        ) in study.page.table("Condition", "Versus", "Difference"):
            name = f"{condition} − {versus}"
            if not every.estimand.in_pairs:
                assert says(value, every.difference(name)[0])


def _roles(name: str) -> list[str]:
    return [f"{name} (reference)", f"{name} (ref.)", f"{name} (anchor)"]


def _said_of(mark: str) -> tuple[str, tuple[str, str, str, str]] | None:
    said = re.fullmatch(
        rf"(.*?)(?: \([a-z*]+\))?: ({NUMBER})(?:, from ({NUMBER}) to ({NUMBER})"
        rf"(?: \(runs past the scale\))?|, no interval)?(?:, (\d+) ratings?)?",
        mark,
    )
    if said is None or said[5] is None:
        return None
    return said[1], (said[2], said[3] or "", said[4] or "", said[5])


def an_open_study_has_one_verdict(study: Case) -> None:
    says_interim = {
        name: "Interim results: recruiting was still open" in text
        for name, text in study.files.items()
        if name.endswith((".txt", ".tex"))
    }
    assert set(says_interim.values()) == {study.is_open}, says_interim
    for name in ("results.csv", "differences.csv"):
        head = study.files.get(name, "").splitlines()[:1]
        assert [("sequential interval" in line) for line in head] == [study.sequential] * len(head)
    text = study.page.text
    if study.is_open:
        assert not re.search(r"adjusted p|p, adjusted|pairs? differ|scores? highest", text)
        assert "Letters" not in {cell for rows in study.page.tables for cell in rows[0]}
    assert ("Recruiting is still open" in text) is study.is_open


def the_ratings_say_what_was_left_out(study: Case) -> None:
    rows = csv_rows(study.files["ratings.csv"])
    every = Count(study.rows)
    assert sum(row["left_out_by"] == "" for row in rows) == len(every.kept)
    assert sum(row["left_out_by"] == "trap" for row in rows) == every.traps


DEMO = Path(__file__).resolve().parents[2] / "demo"
PRESETS = presets(DEMO)


def ratings_of_preset(name: str) -> tuple[list[Row], tuple[Rule, ...]]:
    """Ratings as the study of a preset stores them, and its own rules: one rater fails all traps,
    one is rejected, one rating fills no place, one has no reason."""
    study = read_folder(PRESETS[name].folder, DEMO).study
    assert study is not None
    rng, rows = random.Random(name), []
    plans = {task.key: TrapPlan.from_dict(task.traps) for task in study.tasks}
    every = [c.key for c in study.conditions if c.role != "trap"]
    roles = {c.key: c.role for c in study.conditions}
    for task in study.tasks:
        names = list(task.conditions or every)[:3]
        for r in range(5):
            about = {
                **{"study": study.key, "task": task.key, "rater": f"r{r}", "session": f"s{r}"},
                **{"block": f"{task.key}{r}", "counts": True},
                "session_status": "rejected" if r == 4 else "finished",
            }
            own = answers(Method.registry[task.method], names, 2, rng)
            for position, row in enumerate(own, start=1):
                for criterion in [each.key for each in task.criteria] or ["naturalness"]:
                    place = {"criterion": criterion, "position": position}
                    role = roles.get(row["condition"], "")
                    rows.append({**BLANK, **row, **about, **place, "role": role})
            for kind in plans[task.key].kinds:
                rows += [
                    {**trap_row(rows[-1], 100 + n, r != 3), "trap": kind.kind}
                    for n in range(kind.count)
                ]
        rows[-1 - sum(kind.count for kind in plans[task.key].kinds)]["counts"] = False
    needed = {
        key: [
            {"kind": kind.kind, "count": kind.count, "pass_at_least": kind.pass_at_least}
            for kind in plan.kinds
        ]
        for key, plan in plans.items()
    }
    return rows, (*study_rules(needed), AnswerTime())


# One task or several, in pairs, of several criteria, with traps and training; the others are alike.
READ_AGAIN = ("att", "cmos", "p808")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        name if name in READ_AGAIN else pytest.param(name, marks=pytest.mark.soak)
        for name in PRESETS
    ],
)
def test_the_csv_of_every_preset_gives_the_numbers_of_its_page_again(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "parts_to_make", lambda given: [])  # they are made of these numbers
    monkeypatch.setattr(build, "sensitivity", lambda *given: [])
    rows, rules = ratings_of_preset(name)
    table = from_rows(rows)
    spared = (("session_status", "r4"),)  # an exclusion that was undone: no rule says so
    own = report_of(table, options=replace(OPTIONS, rules=rules, spared=spared))
    path = tmp_path / "ratings.csv"
    path.write_text(_judged(table, own), "utf-8", newline="")
    again = read_csv(path).table
    assert table_hash(again) == table_hash(table) == own["provenance"]["table_hash"]
    bare = report_of(again, options=replace(OPTIONS, rules=DEFAULT))
    for part in ("estimates", "contrasts", "shares", "data", "design", "scales"):
        assert bare[part] == own[part]  # type: ignore[literal-required]
    assert own["data"]["ratings_kept"] < own["data"]["ratings"]
    taken = [[(r["rule"], r["ratings_told"]) for r in each["exclusions"]] for each in (own, bare)]
    assert {each for each in taken[0] if each[1]} == {each for each in taken[1] if each[1]}
