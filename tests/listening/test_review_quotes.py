"""Quotes of a review of codes: what is marked, whose they are, and files that can be cited."""

from __future__ import annotations

import csv
import io

import pytest

from listening import review
from listening.models import Justification, Session
from listening.selectors.review_quotes import pieces
from tests.listening.test_review_codes import coded, job  # noqa: F401
from tests.listening.test_review_desk import desk_of

pytestmark = pytest.mark.django_db
HARD = "😀 50 % _off_ & *more*, said flatly"


def test_marks_are_cut_by_the_units_that_browsers_count_and_overlaps_are_one():
    assert pieces("😀 is flat", [(3, 5), (4, 10)]) == [("😀 ", False), ("is flat", True)]
    assert pieces("flat", []) == [("flat", False)]
    assert pieces("flat", [(2, 90)]) == [("fl", False), ("at", True)]


@pytest.mark.medium
def test_quotes_are_cited_with_their_marks_and_nobody_is_named(job, client):  # noqa: F811
    client.force_login(job.study.owner)
    url = f"/studies/voices/reviews/{job.pk}/quotes"
    assert "No codes yet" in client.get(f"{url}/").content.decode()
    Justification.objects.update(text=HARD)
    coded(desk_of(job), ["speed"], spans=[{"code": "speed", "start": 3, "end": 7}])
    page = client.get(f"{url}/").content.decode()
    assert "No quotes match these filters" in page  # the rule wants two
    coded(desk_of(job), ["noise", "speed"])
    page = client.get(f"{url}/?code=speed").content.decode()
    assert '<mark class="desk-mark">50 %</mark>' in page
    assert "Speed 2 of 2" in page
    assert page.count("<blockquote") == 5
    assert "Systems are hidden" in page
    assert "<mark" not in client.get(f"{url}/?code=noise&which=given").content.decode()
    rows = list(csv.DictReader(io.StringIO(client.get(f"{url}.csv").content.decode())))
    assert {(r["code"], r["state"], r["marked"], r["rater"]) for r in rows} == {
        ("speed", "holds", "50 %", "1")
    }
    assert {row["system"] for row in rows} == {""}
    latex = client.get(f"{url}.tex").content.decode()
    assert r"\emph{50 \%} \_off\_ \&" in latex
    assert "systems are not named" in latex
    assert r"**50 %** \_off\_ & \*more\*" in client.get(f"{url}.md").content.decode()
    review.unblind(job, by="ada")
    rows = list(csv.DictReader(io.StringIO(client.get(f"{url}.csv?which=given").content.decode())))
    assert len(rows) == 10
    assert "" not in {row["system"] for row in rows}


@pytest.mark.medium
def test_withdrawn_reasons_are_not_cited(job, client):  # noqa: F811
    client.force_login(job.study.owner)
    coded(desk_of(job), ["speed"])
    Session.objects.update(status=Session.Status.REJECTED)
    page = client.get(f"/studies/voices/reviews/{job.pk}/quotes/?which=given").content.decode()
    assert "<blockquote" not in page
