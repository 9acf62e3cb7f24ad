"""What of a report is looked at: slices, families, labels, tables cut short; the list of parts."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from analysis.name_spans import condition_span, family_prefix, family_span, starts_with_family
from analysis.report.build import report_of
from analysis.report.catalogue import catalogue, presets
from analysis.report.condition_labels import label_report
from analysis.report.html.brief import brief_of, count_differences
from analysis.report.html.html_tables import Column, table
from analysis.report.html.page import sections
from analysis.report.html.view import View, slices, titles, view_report
from analysis.report.part import Part
from analysis.report.parts.answer import _marks
from analysis.statistics.options import Options
from tests.analysis.reference import rows_of

PARTS = ("agreement", "comparisons", "raters")
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def report(without_models, answer_alone):
    """Twelve conditions and two criteria; half of the items are poetry."""
    tables = []
    names = [f"voice-{c:02d}" for c in range(12)]
    for criterion in ("naturalness", "clarity"):
        scores = {
            (name, f"r{r}", f"i{i}"): 1 + (n + r * i + 2 * r) % 5
            for n, name in enumerate(names)
            for r in range(4)
            for i in range(4)
        }
        table = rows_of(scores)
        table["criterion"] = criterion
        tables.append(table)
    import pandas as pd

    table = pd.concat(tables, ignore_index=True)
    table["dimension"] = ["poetry" if item in ("i0", "i1") else "prose" for item in table["item"]]
    return report_of(table, options=Options(replicates=200))


def html_of(report, **given):
    return {s.id: s.html for s in sections(report, **given)}


@pytest.mark.slow
def test_slices_and_families_are_listed_as_the_report_has_them(report):
    assert [s.key for s in slices(report)] == [
        "condition:dimension=poetry",
        "condition:dimension=prose",
    ]
    assert {s.group for s in slices(report)} == {"By dimension"}
    assert titles(report) == ["MOS · t · clarity", "MOS · t · naturalness"]


@pytest.mark.slow
def test_a_slice_shows_its_own_numbers(report):
    shown = view_report(report, View(within="condition:dimension=poetry"))
    expected = [r for r in report["estimates"] if r.get("dimension") == "poetry"]
    assert len(shown["estimates"]) == len(expected) > 0
    assert [r["value"] for r in shown["estimates"]] == [r["value"] for r in expected]
    assert {r["breakdown"] for r in shown["estimates"]} == {"condition:"}
    pairs = [r for r in report["contrasts"] if r.get("dimension") == "poetry"]
    assert [r["value"] for r in shown["contrasts"]] == [r["value"] for r in pairs]
    html = html_of(report, view=View(within="condition:dimension=poetry"))
    assert "<svg" in html["in-full-1"]
    assert "dimension: poetry" in html["answer-1"]


@pytest.mark.slow
def test_one_family_alone(report):
    html = html_of(report, view=View(about="MOS · t · clarity"))
    assert "answer-1" in html
    assert "answer-2" not in html
    shown = view_report(report, View(about="MOS · t · clarity"))
    assert {row["criterion"] for row in shown["estimates"]} == {"clarity"}
    abouts = {t["about"] for p in shown["parts"] for t in p.get("tables", ())}
    assert "MOS · t · naturalness" not in abouts
    said = [text for part in shown["parts"] for text in (*part["sentences"], *part["warnings"])]
    assert said
    other = {"MOS · t · naturalness", "t, naturalness"}
    assert not any(starts_with_family(text, other) for text in (*said, *shown["warnings"]))
    every = [text for part in report["parts"] for text in part["sentences"]]
    assert any(starts_with_family(text, other) for text in every)


@pytest.mark.slow
def test_what_is_unknown_changes_nothing(report):
    assert view_report(report, View("nothing", "condition:moon=full")) is report


@pytest.mark.slow
def test_no_estimate_is_drawn_or_listed_twice(report):
    html = html_of(report)
    assert html["answer-1"].count("<svg") == html["answer-2"].count("<svg") == 2  # laptop, phone
    assert html["in-full-1"].count("<svg") == 0
    assert "Differences between conditions" not in html["in-full-1"]
    assert "Differences between conditions" in html_of({**report, "parts": []})["in-full-1"]


@pytest.mark.slow
def test_a_part_that_could_not_be_made_says_why(report):
    bad = {**report["parts"][1], "problem": "Two <raters> are needed."}
    html = html_of({**report, "parts": [report["parts"][0], bad]})
    assert "Two &lt;raters&gt; are needed." in html["not-made"]
    assert f"part-{bad['key']}" not in html


@pytest.mark.slow
def test_an_answer_that_could_not_be_made_leaves_the_plots(report):
    bad = {**report["parts"][0], "problem": "No ratings that can be compared."}
    html = html_of({**report, "parts": [bad]})
    assert html["in-full-1"].count("<svg") == 1
    assert "No ratings that can be compared." in html["not-made"]


@pytest.mark.slow
def test_a_brief_report_keeps_the_pairs_of_the_best_and_counts_all(report):
    brief = brief_of(report, 10)
    overall = [r for r in brief["contrasts"] if r["breakdown"] == "condition:"]
    clarity = [r for r in overall if r["criterion"] == "clarity" and r["weighting"] == "ratings"]
    pairs = {(r["condition"], r["versus"]) for r in clarity}
    values = {
        r["condition"]: r["value"]
        for r in report["estimates"]
        if (r["breakdown"], r["criterion"], r["weighting"]) == ("condition:", "clarity", "ratings")
    }
    best = sorted(values, key=lambda name: (-values[name], name))[:5]
    assert pairs == {(a, b) for a in sorted(best) for b in sorted(best) if a < b}
    assert count_differences(brief) == count_differences(report)
    assert count_differences(brief)["MOS · t · clarity"][0] == 66
    tables = [t for p in brief["parts"] for t in p.get("tables", ())]
    assert all(len(t["rows"]) <= 10 for t in tables)
    cut = [t for t in tables if "more rows are in the file" in t["note"]]
    assert cut
    html = html_of({**brief, "parts": []}, most=10)["in-full-1"]
    assert "56 more rows are in the file contrasts.csv." in html
    assert "of 66 pairs differ" in html


def test_labels_stand_in_rows_and_in_the_spans_of_sentences():
    part = {
        "key": "x",
        "problem": "",
        "methods": [],
        "sentences": [
            f"{condition_span('sys-1')} beats {condition_span('human')}; no human is sys-12."
        ],
        "warnings": [f"{family_prefix('MOS · t · clear_speech')}few"],
        "tables": [
            {
                "title": f"Means · {family_span('MOS · t · clear_speech')}",
                "rows": [{"condition": "human", "letters": "a", "mark": "sys-1"}],
            }
        ],
        "figures": [{"title": "", "rows": [{"name": "sys-1", "group": "sys-1"}]}],
        "headlines": [
            {
                "about": "",
                "sentence": f"{condition_span('human')} leads.",
                "caveats": ["Few raters."],
            }
        ],
    }
    names = ("estimates", "contrasts", "shares", "screening")
    place = {"estimand": "mos", "task": "t", "criterion": "clear_speech"}
    report = {
        **{name: [] for name in names},
        "estimates": [
            {"breakdown": "condition:", "condition": "sys-1", **place},
            {"breakdown": "system:", "condition": "sys-1", **place},
        ],
        "labels": {"sys-1": "Tacotron", "human": "A reader", "sys-12": "sys-12"},
        "task_titles": {"t": "How good is it?"},
        "warnings": [],
        "parts": [part],
    }
    shown = label_report(report)
    assert [r["condition"] for r in shown["estimates"]] == ["Tacotron", "sys-1"]
    assert shown["parts"][0]["headlines"][0]["sentence"] == "A reader leads."
    assert shown["parts"][0]["warnings"] == ["MOS · How good is it?: few"]
    assert shown["parts"][0]["tables"][0]["title"] == "Means · MOS · How good is it?"
    (made,) = shown["parts"]
    (said,) = made["sentences"]
    assert said == "Tacotron beats A reader; no human is sys-12."
    row = made["tables"][0]["rows"][0]
    assert row == {"condition": "A reader", "letters": "a", "mark": "sys-1"}
    assert made["figures"][0]["rows"] == [{"name": "Tacotron", "group": "Tacotron"}]
    bare = label_report({**report, "labels": {}, "task_titles": {}})["parts"][0]
    assert bare["sentences"] == ["sys-1 beats human; no human is sys-12."]
    assert bare["headlines"][0]["sentence"] == "human leads."
    twins = label_report({**report, "labels": {"sys-1": "Same", "human": "Same"}})
    assert twins["estimates"][0]["condition"] == "Same (sys-1)"


@pytest.mark.medium
def test_the_catalogue_is_that_of_the_registry():
    registered = [
        (key, part.title, part.order, part.always, part.presets)
        for key, part in Part.registry.items()
    ]
    listed = [(e.key, e.title, e.order, e.always, e.presets) for e in catalogue().values()]
    assert listed == registered
    assert set(presets()) == {preset for part in Part.registry.values() for preset in part.presets}
    assert all(e.about for e in catalogue().values())


@pytest.mark.medium
def test_the_catalogue_loads_no_pandas():
    code = (
        "import sys; from analysis.report.catalogue import optional_parts; optional_parts();"
        "sys.exit(', '.join(m for m in ('pandas', 'scipy', 'numpy.linalg') if m in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stderr.strip() in ("", "numpy.linalg")


def test_letters_that_would_fill_a_figure_give_way_to_tiers():
    def marks(letters):
        tiers = SimpleNamespace(letters=letters, tiers=(("A",), ("B",)))
        return _marks(SimpleNamespace(tiers=tiers, alpha=0.05))

    assert marks({"A": "a", "B": "ab"})[0] == {"A": "a", "B": "ab"}
    found, told = marks({"A": "a", "B": "abcdefghijk"})
    assert found == {"A": "tier 1", "B": "tier 2"}
    assert "tier" in told
    assert _marks(SimpleNamespace(tiers=None, alpha=0.05)) == ({}, "")


def test_a_difference_of_names_that_run_right_to_left_keeps_its_order_in_a_table():
    pair = "\u05d0 − \u05d1"
    shown = table([pair, "A − B"], [Column("Difference", str)])
    assert "\u2068\u05d0\u2069 − \u2068\u05d1\u2069</th>" in shown
    assert '<th scope="row" class="nowrap">A − B</th>' in shown
