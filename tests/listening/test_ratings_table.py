"""Ratings one by one: a filter means the same on the page and in its CSV; counts that are kept."""

import csv
import io
import re
import time
from datetime import UTC, datetime, timedelta

import pytest
from django.core.cache import cache

from listening.common import cached_counts
from listening.jobs import recount
from listening.models import Criterion, Justification, Rating, Study, StudyEvent
from listening.selectors import progress, ratings
from listening.selectors.clip_answers import tallies
from listening.selectors.study_overview import MOST_MARKS, Hour, Mark, rating_hours, state_marks
from listening.sessions import lifecycle
from listening.web.researcher.study_page import time_plot
from tests.factories import ATT_TRAPS, answer_all, arrive, make_study
from tests.listening.test_researcher_pages import page_of, words_of
from tests.own_cache import empty_cache
from tests.shared_rows import shared_rows

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _empty_cache():
    empty_cache()


@pytest.fixture(scope="module")
def rated(django_db_setup, django_db_blocker):
    """Three raters with traps and reasons: one failed the traps, one is rejected."""
    task = {"method": "att", "traps": ATT_TRAPS}
    with shared_rows(django_db_blocker):
        made = make_study(key="voices", traps={"flawed": 2, "human": 3}, task=task)
        for number in range(3):
            session = arrive(made)
            answer_all(session, pass_traps=number != 1)
            if number == 2:
                lifecycle.reject(session, "no sound")
        first = Rating.objects.filter(counts=True).order_by("pk")[:2]
        Justification.objects.exclude(trial__in=[rating.trial_id for rating in first]).delete()
        Justification.objects.update(text='=HYPERLINK("x")')
        yield made


@pytest.fixture
def study(rated, db):
    return Study.objects.get(pk=rated.pk)


@pytest.fixture
def owner(client, study):
    client.force_login(study.owner)
    return client


def on_page(client, query: str) -> list[tuple[str, int]]:
    answer = client.get(f"/studies/voices/ratings/?{query}")
    assert answer.status_code == 200
    trials = [row["rating"].trial for row in answer.context["rows"]]
    told = [int(n) for n in re.findall(r", trial (\d+)", answer.content.decode())]
    assert told == [trial.position for trial in trials], "positions are counted from 1"
    return [(f"s{trial.session_id}", trial.position) for trial in trials]


def in_csv(client, query: str = "") -> list[dict[str, str]]:
    answer = client.get(f"/studies/voices/results/ratings.csv?{query}")
    assert answer.status_code == 200
    return list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode())))


@pytest.mark.medium
def test_what_is_filtered_on_the_page_is_what_its_csv_holds(owner, study, monkeypatch):
    monkeypatch.setattr(ratings, "RATINGS_PER_PAGE", 500)
    rows = in_csv(owner)
    today = datetime.now(UTC).strftime("%Y-%m-%d")
    last = rows[-1]
    cases = {
        "condition=cond-1": lambda r: r["condition"] == "cond-1",
        "clip=item-3": lambda r: r["item"] == "item-3",
        f"rater={last['rater']}": lambda r: r["rater"] == last["rater"],
        f"rater={last['session']}": lambda r: r["session"] == last["session"],
        "rater=nobody": lambda r: False,
        "from=0.5": lambda r: r["score"] and float(r["score"]) >= 0.5,
        "to=0,5&from=-1": lambda r: r["score"] and -1 <= float(r["score"]) <= 0.5,
        f"answer={last['label']}": lambda r: r["label"] == last["label"],
        "reason=with": lambda r: r["justification"] != "",
        "reason=without": lambda r: r["justification"] == "",
        "use=trap": lambda r: r["trap"] != "",
        "use=rejected": lambda r: r["trap"] == "" and r["session_status"] == "rejected",
        "use=no_place": lambda r: r["trap"] == "" and r["counts"] == "false",
        "use=counts": lambda r: r["counts"] == "true" and r["session_status"] != "rejected",
        "use=left_out": lambda r: r["counts"] == "false" or r["session_status"] == "rejected",
        "use=withdrawn": lambda r: False,
        f"since={today}": lambda r: True,
        f"until={today}&reason=with": lambda r: r["justification"] != "",
        "until=2001-01-01": lambda r: False,
        "faster=1": lambda r: int(r["latency_ms"]) <= 1000,
        "place=att naturalness&use=trap": lambda r: r["trap"] != "",
    }
    for query, wanted in cases.items():
        expected = sorted((r["session"], int(r["position"])) for r in rows if wanted(r))
        found = in_csv(owner, query)
        assert sorted((r["session"], int(r["position"])) for r in found) == expected, query
        assert sorted(on_page(owner, query)) == expected, query
    told = StudyEvent.objects.filter(what="exported").first()
    assert told is not None
    assert told.details["file"] == "ratings-filtered.csv"
    (cell, *_) = {r["justification"] for r in rows} - {""}
    assert cell.startswith("'=")


@pytest.mark.medium
def test_what_no_filter_takes_is_named_and_no_csv_of_everything_comes_instead(owner):
    text = words_of(page_of(owner, "/studies/voices/ratings/?from=high&since=yesterday&sort=mood"))
    assert "Minimum value “high” narrows nothing: type a number." in text
    assert "Since (UTC) “yesterday” narrows nothing: write a day such as 2026-11-24." in text
    assert "There is no column “mood” to sort by." in text
    refused = owner.get("/studies/voices/results/ratings.csv?from=high")
    assert refused.status_code == 400
    assert "type a number" in refused.content.decode()
    assert not StudyEvent.objects.filter(what="exported").exists()


@pytest.mark.medium
def test_why_a_rating_is_left_out_stands_beside_it(owner):
    for use, words in {"rejected": "Session rejected", "trap": "Trap"}.items():
        rows = owner.get(f"/studies/voices/ratings/?use={use}").context["rows"]
        assert {row["why_not"] for row in rows} == {words}
    rows = owner.get("/studies/voices/ratings/?use=counts").context["rows"]
    assert {row["why_not"] for row in rows} == {""}
    assert "No ratings match" in page_of(owner, "/studies/voices/ratings/?from=99")


@pytest.mark.medium
def test_more_than_can_be_paged_through_is_sorted_by_time_only_and_says_so(owner, monkeypatch):
    by_answer = "/studies/voices/ratings/?sort=-answer"
    scores = [row["rating"].score for row in owner.get(by_answer).context["rows"]]
    assert scores == sorted(scores, reverse=True)
    table = ratings.rating_table

    def few(study: Study):
        made = table(study)
        object.__setattr__(made, "most", 5)
        return made

    monkeypatch.setattr(ratings, "rating_table", few)
    answer = owner.get(by_answer)
    assert "More than 5 ratings are sorted by time only" in words_of(answer.content.decode())
    newest = [row["rating"].pk for row in answer.context["rows"]]
    assert newest == sorted(newest, reverse=True)


# --- Counts that are kept ------------------------------------------------------------------------


counted: list[str] = []


def count_sheep(of: str) -> int:
    counted.append(of)
    return len(counted)


@pytest.mark.medium
def test_what_took_long_is_shown_as_it_was_while_a_worker_counts(monkeypatch):
    asked = []
    counted.clear()
    monkeypatch.setitem(cached_counts.MAKERS, "sheep", f"{__name__}.count_sheep")
    monkeypatch.setattr(
        cached_counts.current_app, "send_task", lambda name, args: asked.append(args)
    )
    assert [cached_counts.look("sheep", "x", 0).value for _ in range(2)] == [1, 2]
    monkeypatch.setattr(cached_counts, "SLOW_S", -1.0)
    monkeypatch.setattr(cached_counts, "REST", 0)
    for _ in range(3):
        assert cached_counts.look("sheep", "x", 0).value == 2
    assert asked == [["sheep", "x"]]
    recount("sheep", "x")
    assert cached_counts.look("sheep", "x", 0).value == 3
    assert asked == [["sheep", "x"]] * 2
    assert cached_counts.look("sheep", "y", 0, cached_counts.Patience(0)) is None
    of_another_version = b"\x80\x04cno_such_module\nKept\n."
    raw = cache._cache.get_client(write=True)
    raw.set(cache.make_key("kept/sheep/x"), of_another_version)
    assert cached_counts.look("sheep", "x", 0).value == 4


@pytest.mark.medium
def test_a_slow_count_of_progress_follows_what_the_researcher_does(study, monkeypatch):
    monkeypatch.setattr(progress, "SLOW_S", -1.0)
    asked = []
    monkeypatch.setattr(
        cached_counts.current_app, "send_task", lambda name, args: asked.append(args)
    )
    first = progress.page_progress("voices")
    Study.objects.update(state="paused")
    progress.forget_progress("voices")
    told = progress.page_progress("voices")
    assert first is not None
    assert told == first | {"state": "paused"}
    assert asked == [["progress", "voices"]]
    Study.objects.update(title="Renamed")
    recount("progress", "voices")
    assert progress.page_progress("voices")["title"] == "Renamed"
    assert progress.page_progress("unknown", patience=cached_counts.Patience(0)) is None


@pytest.mark.medium
def test_clips_are_counted_as_their_ratings_are(study):
    skipped = Rating.objects.filter(counts=True).earliest("pk").trial
    type(skipped).objects.filter(pk=skipped.pk).update(state="skipped")
    found = tallies(str(Criterion.objects.get().pk))
    assert sum(tally.skipped for tally in found) == 1
    for tally in found:
        ratings = Rating.objects.filter(stimulus=tally.stimulus_id, counts=True).exclude(
            trial__session__status="rejected"
        )
        scores = [rating.score for rating in ratings]
        mean = sum(scores) / len(scores)
        assert (tally.ratings, tally.mean) == (len(scores), pytest.approx(mean))
        assert sum(count for _, _, count in tally.answers) == tally.ratings
        if len(scores) > 1:
            spread = (sum((y - mean) ** 2 for y in scores) / (len(scores) - 1)) ** 0.5
            assert tally.sd == pytest.approx(spread)


# --- Over time -----------------------------------------------------------------------------------


@pytest.mark.medium
def test_ratings_over_time_are_those_that_count(owner, study):
    hours = rating_hours("voices")
    assert sum(hour.ratings for hour in hours) == Rating.objects.filter(counts=True).count()
    assert abs(hours[-1].began.timestamp() - time.time()) < 3700
    assert "Ratings over time Planned ratings completed per hour (UTC)" in words_of(
        page_of(owner, "/studies/voices/")
    )
    for _ in range(MOST_MARKS + 1):
        StudyEvent.objects.create(study_id=study.pk, key="v", owner_id=1, by="ada", what="paused")
    marks, count = state_marks(study.pk)
    assert (len(marks), count) == (MOST_MARKS, MOST_MARKS + 1)
    assert marks == sorted(marks, key=lambda mark: mark.at)


@pytest.mark.medium
def test_bars_reach_from_the_first_rating_to_now_and_are_no_more_than_fit():
    start = datetime(2026, 11, 2, 9, 30, tzinfo=UTC)
    begin = int(start.timestamp()) // 3600
    hours = [Hour(begin, 10), Hour(begin + 2, 30)]
    marks = [
        Mark("paused", start + timedelta(hours=1), "ada"),
        Mark("opened", start - timedelta(days=9), "ada"),
    ]
    plot = time_plot(hours, start + timedelta(hours=4), marks, all_marks=7)
    assert plot is not None
    assert [bar.ratings for bar in plot.bars] == [0] * 7 + [10, 0, 30, 0, 0]
    assert [bar.height for bar in plot.bars] == [0] * 7 + [33.33, 0, 100, 0, 0]
    assert [line.x for line in plot.lines] == [8.5]
    assert (plot.per, plot.total, plot.marks_left_out) == ("hour", 40, 6)
    assert "since 2026-11-02 09:00 UTC: 40 in all, most from 2026-11-02 11:00 (30)" in plot.summary
    assert ", 0 from 2026-11-02 13:00" in plot.summary
    for days, per in {6: "3 hours", 12: "6 hours", 50: "day", 400: "week", 4000: "4 weeks"}.items():
        wide = time_plot(hours, start + timedelta(days=days))
        assert wide is not None
        assert (wide.per, wide.total) == (per, 40)
        assert wide.width <= 60 or per == "4 weeks"
    assert time_plot([], start) is None
