"""A method that is one new file: through reading, report, figures, page, planning and interim."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from analysis.ratings.estimands import estimand_of, estimands
from analysis.ratings.problems import RatingsError
from analysis.ratings.table import read_csv
from analysis.report.build import report_of
from analysis.report.figures.all_figures import plots
from analysis.report.html.page import page_html
from analysis.report.planning.interim_narrative import box
from analysis.statistics.options import Options
from analysis.statistics.planning.interim import interim
from analysis.statistics.planning.pilot import pilots
from listening.methods import Method
from tests.analysis.shown_by import in_keys
from tests.analysis.test_every_method import rows_of, wrote

FILE = """
from listening.methods.method import Scale, Step
from listening.methods.estimand import PREFERENCE, Estimand
from listening.methods.paired import Paired


class Toy(Paired):
    key = "which_is_real"
    title = "Which one is real?"
    estimand = Estimand(
        key="real",
        name="Taken for real",
        phrase="the share of pairs in which it was taken for the real one",
        axis="Share taken for the real one",
        ends=(0.0, 1.0),
        neutral=0.5,
        comparison=PREFERENCE,
        decimals=3,
        equivalence=0.05,
        ceilings=False,
        scores=(0.0, 1.0),
        answers={1.0: "it", 0.0: "the other"},
    )
    standard = "Two-alternative forced choice"
    default_question = "Which one is real?"

    def scale(self, options):
        return Scale((Step("A", 1.0, "The first", "1"), Step("B", 0.0, "The second", "2")))
"""


@pytest.fixture
def toy() -> Iterator[type[Method]]:
    exec(FILE, {})  # as importing the file would
    yield Method.registry["which_is_real"]
    del Method.registry["which_is_real"]


@pytest.mark.slow
def test_one_file_adds_a_method_to_every_analysis(toy: type[Method], tmp_path: Path) -> None:
    loses = rows_of(toy, a_is_better=False)
    table = read_csv(wrote(tmp_path, loses), constants={"method": toy.key}).table
    report = report_of(table, options=Options(replicates=100))
    assert [part["key"] for part in report["parts"] if part["problem"]] == []
    answer, pairs = (
        next(part for part in report["parts"] if part["key"] == key) for key in ("answer", "pairs")
    )
    assert in_keys(answer)["sentences"][0].startswith("Against B: A (0.283 [")
    assert ") is less preferred (p < 0.05)" in answer["sentences"][0]
    assert "B is preferred" in in_keys(pairs)["sentences"][0]
    drawn = {plot.figure.x: plot.figure for plot in plots(report)}
    assert tuple(drawn[toy.estimand.axis].at) == (0.5,)
    assert drawn[toy.estimand.axis].ends == (0.0, 1.0)
    assert "Taken for real · " in page_html(report)
    (pilot,) = pilots(table)
    assert (pilot.estimand, pilot.compared) == ("real", True)
    means = [
        {"condition": "A", "versus_condition": "B", "rater": f"r{n}", "score": 0.1, "ratings": 12}
        for n in range(40)
    ]
    found = interim(means, (0.0, 1.0), estimand="real")
    told = box(found, {"title": "t", "criterion": "", "labels": {}, "estimand": "real"})
    assert (told["estimand"], told["neutral"]) == ("Taken for real", "0.5")
    assert told["lines"][0]["words"] == "B scores higher than A."


def test_without_its_file_a_method_is_refused_with_those_that_there_are(tmp_path: Path) -> None:
    rows = rows_of(Method.registry["ab"], a_is_better=True)
    with pytest.raises(RatingsError, match=r"which_is_real.*known are ab, abx, "):
        read_csv(wrote(tmp_path, rows), constants={"method": "which_is_real"})
    with pytest.raises(KeyError, match=r"no estimand 'real'.*known are ab, abx, "):
        estimand_of("real")
    assert "real" not in estimands()


def test_two_methods_may_not_declare_one_estimand_differently() -> None:
    with pytest.raises(ValueError, match="two methods declare the estimand “mos” differently"):
        exec(FILE.replace('key="real"', 'key="mos"'), {})
    assert "which_is_real" not in Method.registry
