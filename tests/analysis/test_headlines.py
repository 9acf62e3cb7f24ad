"""Headlines: one to three short sentences that claim what the differences claim, no more."""

import re
from itertools import product

import numpy as np
import pytest

from analysis.name_spans import resolve
from analysis.report.build import report_of
from analysis.report.condition_labels import label_report
from analysis.report.parts.answer.narrative import MOST_WORDS, word_count
from analysis.statistics.options import Options
from tests.analysis.reference import rows_of

pytestmark = pytest.mark.usefixtures("without_models", "answer_alone")
QUICK = Options(replicates=100, rules=())


def of(means, roles=None, raters=12, items=10, noise=0.6, seed=1, **fields):
    rng = np.random.default_rng(seed)
    scores = {
        (name, f"r{r:02}", f"i{i:02}"): float(np.clip(mean + rng.normal(0, noise), 1, 5))
        for (name, mean), r, i in product(means.items(), range(raters), range(items))
    }
    table = rows_of(scores, **fields)
    for name, role in (roles or {}).items():
        table.loc[table["condition"] == name, "role"] = role
    return report_of(table, options=QUICK)


def headlines(report):
    (answer,) = (part for part in report["parts"] if part["key"] == "answer")
    return answer["headlines"]


def said(report):
    (headline,) = headlines(report)
    return resolve(headline["sentence"])


@pytest.mark.medium
def test_one_clear_winner():
    text = said(of({"A": 4.4, "B": 3.2, "C": 2.1}))
    assert re.fullmatch(
        r"A scores highest of the 3 systems \(MOS 4\.\d\d, 95% CI 4\.\d\d–4\.\d\d\)\. "
        r"It scores significantly higher than both others\.",
        text,
    )


@pytest.mark.medium
def test_a_system_below_the_reference_is_the_highest_of_the_systems():
    text = said(of({"R": 4.8, "A": 4.0, "B": 2.1, "C": 1.6}, roles={"R": "reference"}))
    assert text.startswith("A scores highest of the 3 systems (MOS 3.")
    assert "It scores significantly higher than both others. All 3 systems score" in text


@pytest.mark.medium
def test_a_shared_first_place_names_who_shares_it():
    text = said(of({"A": 4.01, "B": 4.0, "C": 2.1, "D": 2.0}, noise=1.0))
    assert re.match(r"(A and B|B and A) score highest \(MOS [34]\.\d\d and 3\.\d\d\)", text)
    assert "and are not significantly different. Each scores significantly higher than" in text


@pytest.mark.medium
def test_nothing_is_claimed_where_nothing_differs():
    text = said(of({"A": 3.0, "B": 3.0, "C": 3.0}, raters=4, items=4, noise=1.0))
    assert "None of the 3 systems is significantly different from another" in text


@pytest.mark.medium
def test_the_reference_is_what_systems_are_measured_by():
    roles = {"H": "reference"}
    text = said(of({"H": 4.8, "A": 3.9, "B": 3.0}, roles, noise=0.3))
    assert "Both systems score significantly lower than H, the reference (4." in text
    alone = said(of({"H": 4.8, "A": 3.0}, roles, noise=0.3))
    assert "scores significantly lower than the reference, H (4." in alone


@pytest.mark.medium
def test_two_systems_and_one():
    assert said(of({"A": 4.4, "B": 2.0})).startswith("A scores significantly higher than B (MOS ")
    assert "is the only system" in said(of({"A": 4.4}))


@pytest.mark.slow
def test_a_headline_is_the_same_beside_every_other_part(request):
    means = {"H": 4.8, "A": 3.9, "B": 3.0}
    alone = of(means, {"H": "reference"}, raters=6, items=5)
    request.getfixturevalue("every_part")
    whole = of(means, {"H": "reference"}, raters=6, items=5)
    assert [part["key"] for part in alone["parts"]] == ["answer"]
    keys = {part["key"] for part in whole["parts"]}
    assert {"answer", "agreement", "screening"} < keys
    assert headlines(whole) == headlines(alone)
    assert whole["contrasts"] == alone["contrasts"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "seed", [pytest.param(n, marks=[] if n < 4 else pytest.mark.soak) for n in range(12)]
)
def test_no_headline_is_long_or_says_more_than_the_claimed_differences(seed):
    rng = np.random.default_rng(seed)
    names = [f"sys-{n}" for n in range(int(rng.integers(2, 9)))]
    means = {name: float(rng.choice([2.5, 3.0, 3.1, 3.6, 4.2])) for name in names}
    roles = {names[0]: "reference"} if seed % 2 and len(names) > 2 else {}
    report = of(means, roles, raters=8, items=6, noise=1.0, seed=seed)
    (headline,) = headlines(report)
    sentences = re.split(r"(?<=[.)])\.? (?=[A-Z\ue000-\uf8ff])", headline["sentence"])
    assert max(word_count(sentence) for sentence in sentences) <= MOST_WORDS
    text = said(report)
    rows = [
        row
        for row in report["contrasts"]
        if row["breakdown"] == "condition:" and row.get("claimed") is not None
    ]
    claimed = [row for row in rows if row["claimed"]]
    if not claimed:
        assert not re.search(r"(?<!not )significantly (higher|lower)", text)
    if re.search(r"It scores significantly higher than (both|all \d) others", text):
        best = text.split(" ")[0]
        systems = [name for name in names if name not in roles]
        mine = {
            frozenset((row["condition"], row["versus"]))
            for row in claimed
            if best in (row["condition"], row["versus"])
        }
        assert {frozenset((best, other)) for other in systems if other != best} <= mine


@pytest.mark.medium
def test_labels_take_the_place_of_any_key_even_of_plain_words():
    report = of({"best": 4.6, "good, old": 2.2})
    report["labels"] = {"best": "A reader", "good, old": "Flite, kal"}
    (part,) = (part for part in label_report(report)["parts"] if part["key"] == "answer")
    sentence = part["headlines"][0]["sentence"]
    assert sentence.startswith("A reader scores significantly higher than “Flite, kal” (MOS 4.")
    assert "best" not in sentence


@pytest.mark.medium
def test_caveats_stand_the_worst_first():
    report = of({"A": 4.9, "B": 1.5}, raters=3, items=3, noise=0.1, session_status="started")
    (headline,) = headlines(report)
    starts = [text.split(":")[0].split(",")[0] for text in headline["caveats"]]
    assert starts[0].endswith("still running")
    assert starts[1].startswith("Only 3 raters and 3 items")
