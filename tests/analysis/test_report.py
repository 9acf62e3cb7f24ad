"""Reports: everything with its provenance, the same bytes each time, safe to show anywhere."""

import csv
import io
import json
import re
from html.parser import HTMLParser

import pytest

from analysis.ratings.grouping import Breakdown
from analysis.ratings.table import from_csv, from_rows, rated, table_hash, to_csv, to_rows
from analysis.report import build
from analysis.report.build import report_of
from analysis.report.html.page import page_html, sections
from analysis.report.writers.bundle import write_report
from analysis.report.writers.exports import report_json, table_csv
from analysis.statistics.estimators.mean_score import MeanScore
from analysis.statistics.options import Options, OptionsError, breakdown_from, options_from
from analysis.statistics.screening.screened import screen
from analysis.statistics.screening.single_ratings import AnswerTime
from analysis.statistics.screening.trap_rules import AttTraps
from tests.analysis.reference import att_rows, edge, rows_of

pytestmark = pytest.mark.usefixtures("without_models", "answer_alone")
PARTS = ("screening",)
MADE_AT = "2026-01-01T00:00:00Z"
QUICK = Options(replicates=200)
EVIL = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def turing():
    """The first 120 raters of att_s1, some of whom fail its traps."""
    rows = list(att_rows("att_s1"))
    raters = set(sorted({row["rater"] for row in rows})[:120])
    return from_rows(row for row in rows if row["rater"] in raters)


@pytest.fixture(scope="module")
def report(turing, without_models, answer_alone):
    return report_of(turing, options=QUICK, made_at=MADE_AT)


@pytest.fixture(scope="module")
def of_small(without_models, answer_alone):
    return report_of(small(), options=QUICK, made_at=MADE_AT)


def small(**fields):
    scores = {
        (c, f"r{r}", f"i{i}"): 1 + (r * i + len(c)) % 5
        for c in ("A", "BB", "CCC")
        for r in range(4)
        for i in range(5)
    }
    return rows_of(scores, **fields)


@pytest.mark.slow
def test_provenance_says_where_every_number_is_from(report, turing):
    origin = report["provenance"]
    assert origin["table_hash"] == table_hash(turing)
    assert (origin["estimator"], origin["estimator_version"]) == ("mean_score", "1")
    assert (origin["seed"], origin["level"], origin["replicates"]) == (0, 0.95, 200)
    assert origin["code"]
    assert {"python", "numpy", "pandas", "scipy"} <= set(origin["packages"])
    assert "att_traps:flawed=1/1,human=1/2" in origin["rules"]
    assert "--rule att_traps:flawed=1/1,human=1/2" in origin["again"]


@pytest.mark.slow
def test_exclusions_and_estimates_without_each_rule_are_there(report, turing):
    rated_ = turing[(turing["trap"] == "") & (turing["condition"] == "GPT-4o")]
    kept = screen(turing, QUICK.rules).kept(QUICK.rules)
    counts = {row["rule"]: row["ratings"] for row in report["exclusions"]}
    assert counts["att_traps"] == (turing["trap"] == "").sum() - (kept["trap"] == "").sum() > 0
    means = {
        row["screening"]: row["value"]
        for row in report["screening"]
        if row["condition"] == "GPT-4o" and row["interval"].startswith("two-way")
    }
    assert set(means) == {"no rule", "session_status", "att_traps", "not_counted", "all rules"}
    assert means["no rule"] == pytest.approx(rated_["score"].mean())
    mine = kept[(kept["trap"] == "") & (kept["condition"] == "GPT-4o")]
    assert means["all rules"] == pytest.approx(mine["score"].mean())
    assert means["all rules"] != pytest.approx(means["no rule"])


@pytest.mark.slow
def test_default_breakdowns_are_the_columns_that_vary(report):
    assert report["provenance"]["breakdowns"] == [
        "condition:",
        "condition:voice",
        "condition:dimension",
        "condition:split",
    ]


@pytest.mark.slow
@pytest.mark.usefixtures("every_part")
def test_the_same_table_seed_and_date_give_the_same_bytes(with_models):
    again = from_rows(to_rows(small().sample(frac=1, random_state=1)))
    first, second = (report_of(t, options=QUICK, made_at=MADE_AT) for t in (small(), again))
    assert "models" in {part["key"] for part in first["parts"]}
    assert report_json(first) == report_json(second)


@pytest.mark.slow
def test_a_later_report_from_the_written_csv_is_the_same_but_for_its_date(tmp_path, of_small):
    to_csv(small(), tmp_path / "r.csv")
    later = report_of(from_csv(tmp_path / "r.csv"), options=QUICK, made_at="later")
    assert later["made_at"] == "later"
    assert report_json({**later, "made_at": MADE_AT}) == report_json(of_small)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        *("empty", "one_rating", "one_rater"),
        *(pytest.param(name, marks=pytest.mark.soak) for name in ("all_equal", "unicode")),
    ],
)
@pytest.mark.usefixtures("every_part")
def test_reports_of_edge_data_are_complete_and_hold_no_nan(name, tmp_path):
    report = report_of(edge(name), options=QUICK, made_at=MADE_AT)
    json.loads(report_json(report))
    assert "NaN" not in page_html(report)
    written = {path.name for path in write_report(report, tmp_path / "out")}
    assert {"report.html", "report.json", "estimates.csv", "estimates.json"} <= written
    if name == "empty":
        assert report["warnings"] == ["No ratings yet."]
        assert "nothing to estimate yet" in page_html(report)


@pytest.mark.slow
def test_csv_tables_hold_all_rows_with_provenance(report):
    rows = list(csv.DictReader(io.StringIO(table_csv(report, "estimates"))))
    assert len(rows) == len(report["estimates"])
    for text, row in zip(rows, report["estimates"], strict=True):
        assert float(text["value"]) == row["value"]
        assert text["low"] == ("" if row["low"] is None else repr(row["low"]))
        assert text["interval"] == row["interval"]
        assert text["table_hash"] == report["provenance"]["table_hash"]
        assert text["estimator"] == "mean_score 1"


@pytest.mark.slow
@pytest.mark.usefixtures("every_part")
def test_formulas_in_names_are_neutralised_in_every_csv():
    table = rows_of({("=cmd()", "r1", "i1"): 1, ("=cmd()", "r2", "i2"): 2})
    report = report_of(table, options=QUICK)
    for name in ("estimates", "shares", "screening"):
        assert "'=cmd()" in table_csv(report, name)
        assert not re.search(r"(^|,)=cmd", table_csv(report, name), re.MULTILINE)


class Tags(HTMLParser):
    VOID = frozenset({"meta", "br", "img"})

    def __init__(self, html):
        super().__init__()
        self.open, self.seen, self.attributes = [], [], set()
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.slow
def test_the_page_is_well_formed_and_a_strict_policy_lets_its_parts_through(report):
    page = Tags(page_html(report))
    assert page.open == []
    assert "script" not in page.seen
    for section in sections(report):
        part = Tags(section.html)
        assert part.open == []
        assert "style" not in part.seen
        assert not {a for a in part.attributes if a == "style" or a.startswith("on")}


@pytest.mark.slow
@pytest.mark.usefixtures("every_part")
def test_what_raters_and_researchers_typed_is_escaped_everywhere():
    table = small(voice=EVIL, task=EVIL, criterion=EVIL, dimension=EVIL, system=EVIL)
    table["condition"] = EVIL + table["condition"]
    page = page_html(report_of(table, options=QUICK))
    assert "onerror=alert(1)" in page
    assert "<img" not in page


@pytest.mark.slow
def test_every_interval_stands_beside_the_naive_one_on_the_page(report, turing):
    estimates = next(s for s in sections(report) if s.id == "in-full-1")
    assert "95 % interval" in estimates.html
    assert "Naive" in estimates.html
    kept = rated(screen(turing, QUICK.rules).kept(QUICK.rules))
    scores = kept.loc[kept["condition"] == "Seed-TTS", "score"]
    half = 1.96 * scores.std() / len(scores) ** 0.5
    assert f"[{scores.mean() - half:.3f}, {scores.mean() + half:.3f}]" in estimates.html
    (two_way,) = [
        row
        for row in report["estimates"]
        if (row["condition"], row["breakdown"], row["weighting"])
        == ("Seed-TTS", "condition:", "ratings")
        and row["interval"].startswith("two-way")
    ]
    assert f"[{two_way['low']:.3f}, {two_way['high']:.3f}]" in estimates.html


@pytest.mark.medium
def test_methods_that_an_estimator_does_not_know_are_told_and_left_out(monkeypatch):
    monkeypatch.setattr(MeanScore, "methods", frozenset({"mos"}))
    report = report_of(small(method="rank", estimand="rank"), options=QUICK)
    assert report["estimates"] == []
    assert "60 ratings of method rank" in report["warnings"][0]


@pytest.mark.slow
def test_over_the_limit_of_conditions_contrasts_are_overall_only(monkeypatch):
    monkeypatch.setattr(build, "MOST_CONDITIONS", 3)
    scores = {
        (f"c{c}", f"r{r}", f"i{i}"): (c + r * i) % 5
        for c in range(4)
        for r in range(3)
        for i in range(2)
    }
    table = rows_of(scores)
    table["dimension"] = table["item"]
    report = report_of(table, options=QUICK)
    assert {row["breakdown"] for row in report["contrasts"]} == {"condition:"}
    assert "Over 3 conditions: differences are listed overall only." in report["warnings"]
    assert "table-scroll" in page_html(report)


def test_options_survive_their_plain_form():
    options = Options(
        breakdowns=(Breakdown("system", ("voice", "dimension")),),
        level=0.9,
        seed=7,
        intervals=("bootstrap",),
        rules=(AttTraps((("flawed", 1, 1),)), AnswerTime(500)),
        replicates=300,
    )
    assert options_from(json.loads(json.dumps(options.parameters()))) == options
    assert options_from({}) == Options()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"level": 1}, "level is 1"),
        ({"level": "nan"}, "level is nan"),
        ({"level": "x"}, "give a number, like 0.95"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": "1.5"}, "seed is '1.5'"),
        *(({name: None}, f"{name} is None") for name in ("seed", "level", "chains", "preset")),
        *(({name: {"a": 1}}, f"{name} is {{'a': 1}}") for name in ("by", "parts", "reference")),
        ({"rope": "inf"}, "rope is inf"),
        ({"rules": [["a"]]}, "rules is [['a']]"),
        ({"by": "voice"}, "by is 'voice'; give a list of texts"),
        ({"replicates": 5}, "100 to"),
        ({"intervals": ["magic"]}, "choose from two_way, bootstrap"),
        ({"by": ["rater"]}, "no results by rater"),
        ({"by": ["split:voice"]}, "cannot be compared"),
        ({"by": ["item:voice"]}, "write --by item"),
        ({"rules": ["nope"]}, "no rule 'nope'"),
        ({"colour": 1}, "no option colour"),
    ],
)
def test_options_that_make_no_sense_are_refused(given, told):
    with pytest.raises(OptionsError, match=re.escape(told)):
        options_from(given)


def test_breakdowns_are_read_from_text():
    assert breakdown_from("voice,dimension") == Breakdown("condition", ("voice", "dimension"))
    assert breakdown_from("system:split") == Breakdown("system", ("split",))
    assert breakdown_from("condition:") == breakdown_from("criterion") == Breakdown()
    assert breakdown_from(str(Breakdown("voice", ("split",)))) == Breakdown("voice", ("split",))


@pytest.mark.slow
def test_ratings_that_a_program_gave_are_named_first(of_small):
    table = small()
    table["rater"] = table["rater"].replace({"r0": "sim-aaaaaaaaaa", "r2": "sim-bbbbbbbbbb"})
    told = report_of(table, options=QUICK)["warnings"]
    assert told[0].startswith("2 of 4 raters are simulated (codes sim-…)")
    assert not any("scripted" in text for text in of_small["warnings"])
