"""The methods paragraph: 250 words, nothing that was not done, citations and references alike."""

import ast
import random
import re
from pathlib import Path

import pytest

from analysis.citations import WORKS, citation, cite, cite_author, work_of, works_in
from analysis.name_spans import resolve
from analysis.ratings.table import from_rows, read_csv
from analysis.report import build
from analysis.report.build import report_of
from analysis.report.part import Part
from analysis.report.writers import methods_text as methods_module
from analysis.report.writers.markdown import report_markdown
from analysis.report.writers.methods_text import (
    MOST_WORDS,
    methods_tex,
    methods_text,
    methods_with_spans,
    references_bib,
)
from analysis.statistics.options import Options
from analysis.statistics.screening.rule_text import rule_from
from listening.methods import Method
from tests.analysis.reference import BLANK
from tests.analysis.reference import rows_of as scored
from tests.analysis.test_every_method import rows_of, wrote

ANALYSIS = Path(__file__).resolve().parents[2] / "analysis"
KINDS = ("ab", "att", "cmos", "free_choice", "mos", "mushra", "rank")
CITING = {"cite", "citation", "cite_author", "work_of"}
AUTHOR_AND_YEAR = re.compile(
    r"[A-ZŠ][\w\-]+(?: et al\.| and [A-Z]\w+)?(?:'s)?(?: [a-z]+)?,? \(?(?:19|20)\d\d\b"
)
OF_TRAPS = re.compile(r"\btraps?\b|Turing|\bATT\b", re.IGNORECASE)


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """A small report of a method of each kind, without the parts that cost."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "sensitivity", lambda *given: [])
        for part in Part.registry.values():
            if part.key not in ("pairs", "recommendation"):
                patch.setattr(part, "applies", lambda self, given: False)
        made = {}
        for place, key in enumerate(KINDS):
            path = wrote(tmp_path_factory.mktemp(key), rows_of(Method.registry[key], True))
            table = read_csv(path, constants={"method": key}).table
            intervals = (("two_way",), ("bootstrap",), ("mixed",))[place % 3]
            options = Options(replicates=100, intervals=intervals, preset="p808")
            made[key] = report_of(table, options=options)
        return made


def varied(report, rng):
    """The same study as others might have run it: many tasks, long names, many rules and slices."""
    words = ["naturalness", "of_the", "speech", "语音", "a, b", "50 % & _x_", "{y}"]
    designs = [
        {
            **design,
            "task": " ".join(rng.choices(words, k=rng.randint(0, 30))),
            "criterion": "_".join(rng.choices(words, k=rng.randint(0, 30))),
        }
        for design in report["design"] * rng.randint(1, 9)
    ]
    gone = rng.randint(0, report["data"]["ratings_kept"])
    rules = [
        {**row, "what": " ".join(rng.choices(words, k=rng.randint(1, 60))), "ratings": gone}
        for row in report["exclusions"] * rng.randint(0, 4)
    ]
    parts = [
        {**part, "key": rng.choice(["att", "long_form", "recommendation"])}
        | {"methods": [" ".join(rng.choices(words, k=rng.randint(1, 120)))]}
        for part in report["parts"] * 3
    ]
    slices = [f"condition:{','.join(rng.choices(words, k=3))}" for _ in range(rng.randint(0, 9))]
    data = {**report["data"], "ratings": report["data"]["ratings_kept"] + gone}
    data["trap_ratings"] = rng.choice([0, 1, 40])
    origin = {**report["provenance"], "breakdowns": slices}
    return {
        **report,
        **{"design": designs, "exclusions": rules, "parts": parts, "data": data},
        **{"provenance": origin, "scripted": rng.choice([0, 9])},
    }


def works_of(report):
    text, tex, bib = methods_text(report), methods_tex(report), references_bib(report)
    cited = [work.key for work in works_in([methods_with_spans(report)])]
    assert "\ue0f0" not in text + tex
    assert set(re.findall(r"\\cite\{(\w+)\}", tex)) == set(cited)
    assert sorted(re.findall(r"@\w+\{(\w+),", bib)) == sorted(set(cited))
    assert bib.isascii()
    return set(cited)


def rows_in(report):
    return report["estimates"] or report["shares"]


@pytest.mark.medium
def test_it_has_at_most_250_words_and_its_references_and_no_others(reports):
    rng = random.Random(7)
    for report in reports.values():
        for each in (report, *(varied(report, rng) for _ in range(12))):
            text = methods_text(each)
            assert len(text.split()) <= MOST_WORDS
            assert text.count("\n") == 1
            works_of(each)
            if not each["data"]["trap_ratings"]:
                named = {hit for row in each["exclusions"] for hit in OF_TRAPS.findall(row["what"])}
                assert named or not OF_TRAPS.search(text)


@pytest.mark.medium
def test_no_procedure_is_named_that_was_not_used(reports):
    clustered = {"cameron2011", "satterthwaite1946"}
    for key in reports:
        works = works_of(reports[key])
        assert "owen2007" not in works, "the bootstrap is printed beside, not in the paper"
        estimated = key != "free_choice" or bool(reports[key]["estimates"])
        assert (clustered <= works) is estimated
        assert ("korn1998" in works) is any(
            "Korn" in row["interval"] for row in rows_in(reports[key])
        )
        assert ("wang2025" in works) is (key == "att")
        assert not works & {"hothorn2008", "sidak1967"}  # two conditions: one difference alone
        assert "PyMC" not in methods_text(reports[key])


@pytest.mark.medium
def test_each_of_several_questions_has_its_ratings_raters_and_baseline(reports, monkeypatch):
    report, (design,) = reports["cmos"], reports["cmos"]["design"]
    (versus,) = {row["versus_condition"] for row in report["estimates"]}
    assert f"(CMOS) against {versus}" in methods_text(report)
    few = {**design, "task": "similarity", "estimand": "mos", "in_pairs": False}
    few |= {"ratings": 36, "raters": 3}
    text = methods_text({**report, "design": [design, few, few]})
    assert text.count("36 ratings by 3 raters, a median of") == 2
    monkeypatch.setattr(methods_module, "MOST_WORDS", 60)  # fewer than any paragraph has
    assert methods_text({**report, "design": [design, few, few]}).count("36 ratings by") == 2
    raters = report["data"]["raters"]
    kept = {**report["data"], "raters_kept": raters - 1}
    assert f"by {raters - 1} of {raters} raters of" in methods_text({**report, "data": kept})


@pytest.mark.medium
def test_several_differences_are_one_family_and_several_pairs_are_adjusted(reports):
    report = reports["mos"]
    row = next(row for row in report["estimates"] if row["weighting"] == "ratings")
    adjusted = {**row, "versus": "B", "family": "among the systems", "p_adjusted": 0.01}
    two = [{**adjusted, "condition": name} for name in "AC"]
    assert "hothorn2008" in works_of({**report, "contrasts": two})
    assert "one family, adjusted" in methods_text({**report, "contrasts": two})
    (pairs,) = (part for part in reports["ab"]["parts"] if part["key"] == "pairs")
    tables = [{**table, "rows": [*table["rows"]] * 2} for table in pairs["tables"]]
    assert "sidak1967" not in works_of(reports["ab"])
    assert "sidak1967" in works_of({**reports["ab"], "parts": [{**pairs, "tables": tables}]})


@pytest.mark.medium
def test_nothing_left_is_said_and_cites_nothing():
    empty = report_of(scored({("A", "r", "i"): 3.0}).iloc[:0], options=Options(replicates=100))
    assert "none is left" in methods_text(empty)
    assert works_of(empty) == set()


def strings_and_cited_keys():
    """Strings of the code but for its docstrings, and the keys that it cites."""
    strings, keys = [], []
    for path in ANALYSIS.rglob("*.py"):
        docs = set()
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):  # a parent before its children
            if isinstance(node, ast.Expr):
                docs.add(id(node.value))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                strings += [node.value] * (id(node) not in docs)
            elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in CITING:
                keys += [each.value for each in node.args[:9] if isinstance(each, ast.Constant)]
    return strings, keys


@pytest.mark.medium
def test_each_citation_in_the_code_is_a_key_of_the_bibliography():
    strings, keys = strings_and_cited_keys()
    assert [hit[0] for text in strings for hit in AUTHOR_AND_YEAR.finditer(text)] == []
    editions = {"-3"}
    assert len(keys) > 40
    assert {work_of(key).key for key in set(keys) - editions} == {work.key for work in WORKS}


def test_a_citation_without_an_entry_fails_where_it_is_made():
    for citing in (cite, citation, cite_author):
        with pytest.raises(KeyError, match="no entry 'owen2077'"):
            citing("owen2077")


def test_a_citation_keeps_its_key_and_is_written_as_its_sentence_needs():
    text = f"{cite_author('davidson1970', possessive=True)} model {cite('owen2007', 'holm1979')}"
    text += f" as {citation('itu_bs1534', '-3')} asks, unlike Piepho 2004"
    assert resolve(text) == (
        "Davidson's (1970) model (Owen 2007; Holm 1979) as ITU-R BS.1534-3 asks, unlike Piepho 2004"
    )
    cited = [work.key for work in works_in([text, cite("owen2007")])]
    assert cited == ["davidson1970", "owen2007", "holm1979", "itu_bs1534"]


@pytest.mark.medium
def test_the_markdown_lists_each_work_that_a_sentence_of_the_report_cites(reports):
    report = reports["mos"]
    part = report["parts"][0] if report["parts"] else reports["ab"]["parts"][0]
    said = {**part, "problem": "", "warnings": [f"Beware {cite('piepho2004')}."]}
    text = report_markdown({**report, "parts": [said]}, figures=False)
    assert "Beware (Piepho 2004)." in text
    assert f"- {work_of('piepho2004').reference[:20]}" in text.partition("### References")[2]
    assert "\ue0f0" not in text


def test_each_work_is_written_in_plain_words():
    for work in WORKS:
        assert work.reference.endswith(".")
        assert "{" not in work.reference
        assert "\\" not in work.reference


def test_references_keep_their_titles_and_initials_and_list_authors():
    (cgm,) = (each for each in WORKS if each.key == "cameron2011")
    assert cgm.reference.startswith(
        "Cameron, A. Colin; Gelbach, Jonah B.; Miller, Douglas L. (2011). "
    )
    for work in WORKS:
        assert work.reference.count(" and ") >= work.fields["title"].count(" and ")
        assert ".." not in work.reference


@pytest.mark.slow
def test_of_one_item_no_interval_for_others_is_named():
    rows = scored(
        {(c, f"r{r}", "i"): 3.0 + (r + k) % 3 for k, c in enumerate("AB") for r in range(9)}
    )
    text = methods_text(report_of(rows, options=Options(intervals=("two_way", "these_items"))))
    assert "too few raters or items for intervals of new ones" in text
    assert "9 ratings per clip" in text
    rows = scored({(c, "r", f"i{i}"): 3.0 + i % 3 for c in "AB" for i in range(5)})
    text = methods_text(report_of(rows, options=Options(intervals=("two_way",))))
    assert "a median of 1 rating per clip and 10 per rater" in text


@pytest.mark.medium
def test_a_rule_that_cites_its_recommendation_is_in_the_bibliography() -> None:
    rows = [
        {**BLANK, "rater": f"r{r}", "session": f"r{r}", "item": f"i{i}", "condition": "codec"}
        | {"method": "bs1116", "estimand": "sdg", "stimulus": f"c{i}", "versus_stimulus": f"h{i}"}
        | {"score": -1.0 - 0.1 * i if r else 0.1 * i}
        for r in range(4)
        for i in range(4)
    ]
    report = report_of(from_rows(rows), options=Options(rules=(rule_from("expertise"),)))
    assert "4 of listeners who took objects for the reference" in methods_text(report)
    assert "itu_bs1116" in references_bib(report)
