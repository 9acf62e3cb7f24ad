"""Reviews: items go to as many as are wanted, once to each; verdicts are only added."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from listening import review
from listening.models import (
    Rating,
    ReviewAssignment,
    ReviewItem,
    ReviewJob,
    Study,
    StudyEvent,
    Verdict,
)
from listening.review import Plan, ReviewError
from listening.review.claiming import job_progress, reviewers_progress
from listening.review.outcomes import outcomes_of
from listening.review.rules import RULES, ItemVerdicts
from listening.review.training import set_gold, training_notice
from listening.selectors import rating_rows, ratings_state, review_verdicts
from listening.sessions.lifecycle import delete_simulated
from tests.factories import answer_all, arrive, make_study
from tests.shared_rows import shared_rows

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def rated(django_db_setup, django_db_blocker):
    """40 reasons of four raters."""
    with shared_rows(django_db_blocker):
        study = make_study(
            items=20, conditions=2, task={"justification": {"required": True}, "block_size": 10}
        )
        for _ in range(4):
            answer_all(arrive(study))
        yield study


@pytest.fixture
def study(rated, db):
    return Study.objects.get(pk=rated.pk)


def job_of(study, **fields):
    job = review.make_job(study, Plan("reasons", "Reasons", **fields), by="ada")
    review.set_state(job, "open", by="ada")
    return job


def reviewer(job, **fields):
    token = (
        review.invite(job, 30, by=job.study.owner.username, **fields).rstrip("/").rpartition("/")[2]
    )
    found = review.reviewer_at(token, None)
    assert found is not None
    return found


def said(given, verdict="fit", **fields):
    return [
        {"key": str(uuid4()), "item": str(each.code), "answer": {"verdict": verdict}, **fields}
        for each in given
    ]


def judge_all(who, verdict="fit"):
    """Everything there is for a reviewer; how many that were."""
    count = 0
    while given := review.give_next(who, 20):
        call = verdict if callable(verdict) else lambda _: verdict
        for each in given:
            assert review.store(who, said([each], call(each))).refused == []
        count += len(given)
    return count


@pytest.mark.medium
def test_each_item_goes_to_as_many_as_are_wanted_and_once_to_each(study):
    job = job_of(study, repeated=0)
    three = [reviewer(job) for _ in range(3)]
    total = job.items.count()
    while sum(judge_some(each) for each in three):
        pass
    rows = ReviewAssignment.objects.filter(answered_at__isnull=False)
    assert rows.count() == 2 * total
    assert not job.items.exclude(wanted=2).exists()
    per_item = rows.values_list("item", "reviewer")
    assert len(set(per_item)) == len(per_item) == 2 * total


def judge_some(who):
    given = review.give_next(who, 7)
    review.store(who, said(given))
    return len(given)


@pytest.mark.medium
def test_what_was_given_and_not_judged_comes_first_again(study):
    who = reviewer(job_of(study))
    first = [each.code for each in review.give_next(who, 5)]
    assert [each.code for each in review.give_next(who, 5)] == first
    assert len(review.give_next(who, 9)) == 9


@pytest.mark.medium
def test_a_share_is_shown_twice_unannounced_and_never_counts_as_another_reviewer(study):
    job = job_of(study, repeated=1, per_item=1)
    who = reviewer(job)
    total = job.items.count()
    assert judge_all(who) == 2 * total
    again = ReviewAssignment.objects.filter(occasion=ReviewAssignment.Occasion.AGAIN)
    assert again.count() == total


@pytest.mark.medium
def test_who_misses_the_pass_mark_of_the_training_waits_until_somebody_lets_them_on(study, client):
    job = job_of(study, training_pass=0.5, repeated=0)
    for item in job.items.order_by("-position")[:2]:
        set_gold(job, item.pk, {"verdict": "unfit"})
    good, bad = reviewer(job), reviewer(job)
    given = review.give_next(bad, 20)
    assert len(given) == 2  # until they are judged nothing else is given
    review.store(bad, said(given))
    review.store(bad, said(given, "unfit"))  # they were told by then
    assert review.give_next(bad, 20) == []
    assert "fewer than 50% of the training items" in training_notice(job, bad)
    assert [each.gold_right for each in reviewers_progress(job).values()] == [0]
    review.store(good, said(review.give_next(good, 20)[:1], "unfit"))
    review.store(good, said(review.give_next(good, 20)))
    assert len(review.give_next(good, 20)) == 20
    client.force_login(study.owner)
    page = f"/studies/{study.key}/reviews/{job.pk}/"
    assert client.get(page).content.decode().count("below the pass mark") == 1
    form = {"action": "let-on", "job": job.pk, "reviewer": bad.pk}
    client.post(f"/studies/{study.key}/reviews/do/", form)
    bad.refresh_from_db()
    assert len(review.give_next(bad, 20)) == 20
    event = StudyEvent.objects.filter(what="review_changed").get()
    assert event.details["goes_on"] == str(bad)


@pytest.mark.medium
def test_what_is_shown_twice_follows_the_seed(study):
    drawn = []
    for seed in (7, 7, 8):
        job = job_of(study, repeated=0.3, seed=seed)
        judge_all(reviewer(job))
        again = ReviewAssignment.objects.filter(item__job=job, again=True)
        drawn.append(sorted(again.values_list("item__position", flat=True)))
    assert drawn[0] == drawn[1] != drawn[2]
    assert 0.1 < len(drawn[0]) / job.items.count() < 0.5


@pytest.mark.medium
def test_who_differs_from_a_majority_is_no_dispute_where_the_rule_takes_majorities(study):
    """The page, the list and what a third one is given say the same."""
    job = job_of(study, per_item=3, repeated=0)
    for n in range(3):
        judge_all(reviewer(job), lambda each, n=n: _say(each.item.position, n))
    for rule, differ in (("all_agree", {0, 1}), ("majority_third", {1})):
        ReviewJob.objects.filter(pk=job.pk).update(rule=rule)
        job.refresh_from_db()
        places = dict(job.items.values_list("pk", "position"))
        wanted = {item for item, place in places.items() if place % 3 in differ}
        assert {each.item for each in outcomes_of(job) if each.disputed} == wanted
        assert job_progress(job).disputed == len(wanted)


def _say(place, reviewer):
    """One of three differs at every third item, all do at the next one."""
    if place % 3 == 0:
        return "unfit" if reviewer == 2 else "fit"
    return ("fit", "unfit", "unsure")[reviewer] if place % 3 == 1 else "fit"


@pytest.mark.medium
def test_a_verdict_sent_twice_is_stored_once_and_the_newest_holds(study):
    who = reviewer(job_of(study))
    given = review.give_next(who, 1)
    sent = said(given, "fit", note="mumbles", seconds=2.5)
    for _ in range(2):
        assert review.store(who, sent).keys == [sent[0]["key"]]
    review.store(who, said(given, "unfit"))
    assert list(Verdict.objects.order_by("pk").values_list("category", "note")) == [
        ("fit", "mumbles"),
        ("unfit", ""),
    ]
    assert ReviewAssignment.objects.get(pk=given[0].pk).category == "unfit"
    for change in ("UPDATE listening_verdict SET category = 'x'", "DELETE FROM listening_verdict"):
        refused = pytest.raises(IntegrityError, match="only added")
        with refused, transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(change)


@pytest.mark.medium
def test_bad_verdicts_are_refused_alone_and_a_closed_review_takes_none(study):
    job = job_of(study)
    who, other = reviewer(job), reviewer(job)
    mine, theirs = review.give_next(who, 2), review.give_next(other, 1)
    sent = said(mine) + said(theirs) + said(mine[:1], "perhaps") + [7]
    stored = review.store(who, sent)
    assert len(stored.keys) == 2
    assert [words for _, words in stored.refused] == [
        "This item is not assigned to you.",
        "A verdict must be fit, unfit or unsure.",
        "A verdict needs a key, an item and an answer.",
    ]
    review.set_state(job, "closed", by="ada")
    with pytest.raises(review.Shut, match="saved in this browser"):
        review.store(who, said(mine))
    assert review.give_next(who, 5) == []


@pytest.mark.medium
def test_an_adjudicator_gets_what_the_others_differ_about_and_nothing_else(study):
    job = job_of(study, resolving="third", rule="adjudicated", repeated=0)
    ada, ben, third = reviewer(job), reviewer(job), reviewer(job, adjudicates=True)
    assert review.give_next(third, 5) == []
    judge_all(ada)
    judge_all(ben, lambda each: "unfit" if each.item.position % 5 == 0 else "fit")
    given = review.give_next(third, 40)
    assert given
    assert {each.item.position % 5 for each in given} == {0}
    assert {each.occasion for each in given} == {ReviewAssignment.Occasion.THIRD}


@pytest.mark.medium
def test_more_reasons_are_taken_in_behind_those_that_were_drawn(study):
    job = job_of(study, settings={"share": 0.9}, seed=5)
    before = set(job.items.values_list("trial", "position"))
    answer_all(arrive(study))
    new = review.take_in(job)
    after = set(job.items.values_list("trial", "position"))
    assert before < after
    assert len(after) == len(before) + new
    assert review.take_in(job) == 0


@pytest.mark.medium
def test_a_withdrawal_takes_verdicts_about_it_along(study):
    job = job_of(study)
    judge_all(reviewer(job))
    delete_simulated(study)
    assert not Verdict.objects.exists()
    assert not ReviewItem.objects.exists()


@pytest.mark.medium
def test_where_there_is_nothing_to_review_that_is_said():
    empty = make_study()
    with pytest.raises(ReviewError, match="no justifications to review"):
        review.make_job(empty, Plan("reasons", ""), by="ada")
    with pytest.raises(ReviewError, match="must be 1 to 9"):
        review.make_job(empty, Plan("reasons", "", per_item=0), by="ada")


# --- What it comes to -----------------------------------------------------------------------------


def both_judge(study, **fields):
    """All is judged by two; they differ at every fifth, and both say unfit at every third."""
    job = job_of(study, repeated=0, **fields)

    def first(each):
        return "unfit" if each.item.position % 3 == 0 else "fit"

    def second(each):
        return "unsure" if each.item.position % 5 == 0 else first(each)

    judge_all(reviewer(job), first)
    judge_all(reviewer(job), second)
    return job


@pytest.mark.medium
def test_the_ratings_have_the_verdict_of_the_rule_and_change_their_mark(study):
    before = ratings_state(study.key)["mark"]
    job = both_judge(study)
    after = ratings_state(study.key)["mark"]
    assert before != after
    where = dict(job.items.values_list("trial", "position"))
    trials = list(Rating.objects.order_by("pk").values_list("trial", flat=True))
    wanted = ["" if where[t] % 5 == 0 else "unfit" if where[t] % 3 == 0 else "fit" for t in trials]
    assert [row["review"] for row in rating_rows(study.key)] == wanted
    changed = {"rule": "all_agree", "resolving": "none", "in_use": False}
    assert review.change_job(job, by="ada", **changed)
    assert {row["review"] for row in rating_rows(study.key)} == {""}
    assert ratings_state(study.key)["mark"] != after
    event = StudyEvent.objects.filter(what="review_changed").get()
    assert event.details["in_use"] == {"from": True, "to": False}


@pytest.mark.parametrize(
    ("rule", "first", "talk", "third", "comes_to"),
    [
        ("all_agree", ["fit", "fit"], [], [], "fit"),
        ("all_agree", ["fit"], [], [], ""),
        ("all_agree", ["fit", "unfit"], [], ["fit"], ""),
        ("majority", ["fit", "unfit", "fit"], [], [], "fit"),
        ("majority", ["fit", "unfit"], [], [], ""),
        ("adjudicated", ["fit", "unfit"], [], [], ""),
        ("adjudicated", ["fit", "unfit"], [], ["unfit"], "unfit"),
        ("adjudicated", ["fit", "unfit"], ["fit", "fit"], [], "fit"),
        ("adjudicated", ["fit", "unfit"], ["fit", "unfit"], ["unsure"], "unsure"),
        ("adjudicated", ["fit"], [], ["unfit"], ""),
    ],
)
@pytest.mark.medium
def test_a_rule_turns_verdicts_into_one_or_leaves_it_open(rule, first, talk, third, comes_to):
    assert RULES[rule].decide(ItemVerdicts(first, talk, third)) == comes_to


@pytest.mark.medium
def test_systems_are_told_only_after_a_logged_unblinding(study, client):
    job = both_judge(study)
    assert {row["system"] for row in review_verdicts(study.key, job.pk)} == {""}
    client.force_login(study.owner)
    page = f"/studies/{study.key}/reviews/{job.pk}/agreement/"
    blind = client.get(page).content.decode()
    assert "Krippendorff" in blind
    assert "By system" not in blind
    client.post(f"/studies/{study.key}/reviews/do/", {"action": "unblind", "job": job.pk})
    assert {row["system"] for row in review_verdicts(study.key, job.pk)} == {"cond-0", "cond-1"}
    assert "By system" in client.get(page).content.decode()
    assert StudyEvent.objects.filter(what="review_unblinded").count() == 1


@pytest.mark.medium
def test_notes_go_with_the_reasons_that_are_erased(study):
    from listening.review.verdicts import forget_notes

    who = reviewer(job_of(study))
    review.store(who, said(review.give_next(who, 2), note="says “robot”"))
    assert forget_notes(study) == 2
    assert set(Verdict.objects.values_list("note", "category")) == {("", "fit")}


@pytest.mark.medium
def test_what_was_given_before_the_clock_went_back_is_given_to_others(study):
    job = job_of(study, repeated=0)
    one, two, three = (reviewer(job) for _ in range(3))
    held = {each.item_id for who in (one, two) for each in review.give_next(who, 40)}
    assert not {each.item_id for each in review.give_next(three, 40)} & held
    tomorrow = timezone.now() + timedelta(days=1)
    ReviewAssignment.objects.filter(reviewer__in=(one, two)).update(given_at=tomorrow)
    assert {each.item_id for each in review.give_next(three, 40)} & held
