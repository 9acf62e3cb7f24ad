"""The methods paragraph: 250 words, nothing that was not done, citations and references alike."""

import ast
import random
import re
from pathlib import Path

import pytest

from analysis.ratings.table import read_csv
from analysis.report.build import report_of
from analysis.report.part import Part
from analysis.report.works import WORKS, found_in
from analysis.report.writers.methods_text import (
    MOST_WORDS,
    methods_tex,
    methods_text,
    references_bib,
)
from analysis.statistics.options import Options
from listening.methods import Method
from tests.analysis.reference import rows_of as scored
from tests.analysis.test_every_method import rows_of, wrote

CITED = re.compile(
    r"[A-ZŠ][\w\-]+(?: et al\.| and [A-Z]\w+)?(?:'s)?(?: [a-z]+)?,? \(?(?:19|20)\d\d\b"
)
PARTS = Path(__file__).resolve().parents[2] / "analysis" / "report" / "parts"
OF_TRAPS = re.compile(r"\btraps?\b|Turing|\bATT\b", re.IGNORECASE)


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """A small report of every method, without the parts that cost."""
    with pytest.MonkeyPatch.context() as patch:
        for part in Part.registry.values():
            if part.key not in ("pairs", "recommendation"):
                patch.setattr(part, "applies", lambda self, given: False)
        made = {}
        for place, key in enumerate(sorted(Method.registry)):
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
    cited = [work.key for work, _ in found_in(text)]
    assert set(re.findall(r"\\cite\{(\w+)\}", tex)) == set(cited)
    assert sorted(re.findall(r"@\w+\{(\w+),", bib)) == sorted(set(cited))
    assert bib.isascii()
    return set(cited)


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
        assert ("wang2025" in works) is (key == "att")
        assert not works & {"hothorn2008", "sidak1967"}  # two conditions: one difference alone
        assert "PyMC" not in methods_text(reports[key])


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


@pytest.mark.medium
def test_every_work_that_parts_cite_is_in_the_table():
    unknown = set()
    for path in PARTS.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                known = [hit.span() for _, hit in found_in(node.value)]
                for hit in CITED.finditer(node.value):
                    if not any(a < hit.end() and hit.start() < b for a, b in known):
                        unknown.add(hit[0])
    assert unknown == set()


def test_each_work_is_found_where_prose_names_it():
    for work in WORKS:
        assert [found.key for found, _ in found_in(f"as in {work.citation}.")] == [work.key]
        assert work.reference.endswith(".")
        assert "{" not in work.reference
        assert "\\" not in work.reference
    named = "Krippendorff's alpha (2019; ordinal), Davidson's (1970) model, ITU-R BS.1534-3"
    assert {w.key for w, _ in found_in(named)} == {"krippendorff2019", "davidson1970", "itu_bs1534"}


def test_references_keep_their_titles_and_initials_and_list_authors():
    (cgm,) = (each for each in WORKS if each.key == "cameron2011")
    assert cgm.reference.startswith(
        "Cameron, A. Colin; Gelbach, Jonah B.; Miller, Douglas L. (2011). "
    )
    for work in WORKS:
        assert work.reference.count(" and ") >= work.fields["title"].count(" and ")
        assert ".." not in work.reference


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
