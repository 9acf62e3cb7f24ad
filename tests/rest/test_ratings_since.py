"""Ratings since a cursor: each exactly once, whatever is being stored meanwhile."""

import io
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from django.db import connection

from listening.models import Rating, StudyEvent
from listening.selectors import ratings
from listening.sessions import lifecycle
from tests.factories import answer_all, arrive, make_study
from tests.listening.web import database_url
from tests.rest.asking import Script, content, token_of


@contextmanager
def writer() -> Iterator[psycopg.Connection]:
    """Somebody else's connection."""
    with psycopg.connect(database_url()) as opened:
        yield opened


COPY = (
    "INSERT INTO listening_rating (trial_id, slot_id, criterion_id, stimulus_id, label, score,"
    " counts, rated_at) SELECT trial_id, NULL, criterion_id, %s, label, 1, false, rated_at"
    " FROM listening_rating WHERE id = %s RETURNING id"
)


@pytest.mark.django_db(transaction=True)
@pytest.mark.medium
def test_a_rating_that_is_seen_after_one_with_a_larger_number_is_not_lost():
    study = make_study(key="voices")
    answer_all(arrive(study), stop_after=2)
    script = Script(token_of())
    first = script.get("studies/voices/ratings")
    begun = json.loads(content(first))
    assert (len(begun["ratings"]), begun["more"]) == (2, False)
    given = Rating.objects.order_by("pk").last()
    other = study.stimuli.exclude(pk=given.stimulus_id).first().pk
    with writer() as slow:  # numbered now, seen later
        late = slow.execute(COPY, [other, given.pk]).fetchone()
        answer_all(arrive(study), stop_after=1)
        ending = threading.Timer(0.2, slow.commit)
        ending.start()
        answer = json.loads(content(script.get(f"studies/voices/ratings?since={begun['next']}")))
        ending.join()
    assert late is not None
    assert late[0] < Rating.objects.order_by("pk").last().pk
    assert len(answer["ratings"]) == 2
    again = json.loads(content(script.get(f"studies/voices/ratings?since={answer['next']}")))
    assert (again["ratings"], again["next"]) == ([], answer["next"])


@pytest.mark.medium
@pytest.mark.django_db(transaction=True)
def test_who_waits_too_long_for_a_writer_is_told_to_come_again(monkeypatch):
    study = make_study(key="voices")
    answer_all(arrive(study), stop_after=1)
    monkeypatch.setattr(ratings, "PATIENCE_S", 0.0)
    monkeypatch.setattr(ratings.wait_for_writers, "__defaults__", (0.05,))
    with writer() as slow:
        slow.execute("UPDATE listening_rating SET counts = counts")
        answer = Script(token_of()).get("studies/voices/ratings")
        assert (answer.status_code, answer["Retry-After"]) == (503, "1")
        assert "same cursor" in answer.json()["detail"]
        slow.rollback()
    assert Script(token_of()).get("studies/voices/ratings").status_code == 200


@pytest.mark.django_db
@pytest.mark.medium
def test_every_form_has_the_same_ratings_and_the_log_says_once_that_they_were_taken():
    import pyarrow as pa
    import pyarrow.parquet as parquet

    study = make_study(key="voices")
    for _ in range(2):
        answer_all(arrive(study))
    script = Script(token_of())
    plain = json.loads(content(script.get("studies/voices/ratings")))["ratings"]
    assert len(plain) == Rating.objects.count() > 4
    labels = [row["label"] for row in plain]
    arrow = content(script.get("studies/voices/ratings?format=arrow"))
    table = pa.ipc.open_stream(io.BytesIO(arrow)).read_all()
    assert table["label"].to_pylist() == labels
    assert str(table.schema.field("rated_at").type) == "timestamp[ms, tz=UTC]"
    accept = "application/vnd.apache.parquet"
    kept = content(script.get("studies/voices/ratings", HTTP_ACCEPT=accept))
    assert parquet.read_table(io.BytesIO(kept)).equals(table)
    lines = content(script.get("studies/voices/ratings?format=csv")).decode().splitlines()
    assert [line.split(",")[0] for line in lines] == ["study"] + ["voices"] * len(labels)
    assert StudyEvent.objects.filter(what="exported", details__file="ratings.csv").count() == 1
    seen, since = [], ""
    for _ in range(len(labels)):
        page = script.get(f"studies/voices/ratings?limit=3&since={since}")
        told = json.loads(content(page))
        since, seen = told["next"], seen + [row["label"] for row in told["ratings"]]
        assert page["Earnest-Next"] == since
        if page["Earnest-More"] == "false":
            break
    assert seen == labels
    refused = script.get("studies/voices/ratings?since=r9-9")
    assert (refused.status_code, refused.json()["mistakes"][0]["field"]) == (422, "since")
    assert script.get("studies/voices/ratings?format=xlsx").status_code == 406
    assert connection.in_atomic_block
    assert lifecycle.delete_simulated(study) == 2
