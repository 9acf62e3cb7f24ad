"""What a plan asks of Prolific, and what may be decided about a submission: the pure rules."""

from dataclasses import replace

import pytest

from listening.recruitment import deciding
from listening.recruitment import plan as plans
from listening.recruitment.deciding import (
    PAID,
    SubmissionFacts,
    find_mismatches,
    propose,
    rejection_ground,
)
from listening.recruitment.evidence import Evidence, too_fast_below
from listening.recruitment.plan import Plan, completion_codes, minor_of, money, problems
from listening.recruitment.prolific.wire import SUBMISSION_OVER

PLAN = Plan(
    name="Listen",
    description="<p>Headphones.</p>",
    places=40,
    minutes=12,
    hourly_minor=900,
    currency="GBP",
    screened_out_minor=30,
)
CODES = {
    "complete": "AAAA2222",
    "screened_out": "BBBB2222",
    "partial": "CCCC2222",
    "needs_review": "DDDD2222",
    "no_consent": "EEEE2222",
}


# --- The plan ------------------------------------------------------------------------------------


def test_the_reward_is_never_below_the_hourly_pay():
    for minutes in range(1, 90):
        plan = replace(PLAN, minutes=minutes)
        assert plan.reward_minor * 60 / minutes >= plan.hourly_minor
        assert (plan.reward_minor - 1) * 60 / minutes < plan.hourly_minor


@pytest.mark.parametrize("minutes", [1, 4, 12, 60, 240])
def test_the_longest_time_is_never_below_prolifics_minimum(minutes):
    assert replace(PLAN, minutes=minutes).maximum_minutes >= 2 + 2 * minutes + 2 * minutes**0.5


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"name": " "}, "name"),
        ({"description": ""}, "description"),
        ({"places": 0}, "places"),
        ({"hourly_minor": 599}, "hourly"),
        ({"currency": "USD", "hourly_minor": 799}, "hourly"),
        ({"devices": ("fridge",)}, "devices"),
        ({"screened_out": "fixed", "screened_out_minor": 9}, "screened_out_minor"),
        ({"screened_out": "fixed", "screened_out_minor": 180}, "screened_out_minor"),
    ],
)
def test_what_prolific_would_refuse_is_said_at_its_field(changes, field):
    assert problems(PLAN) == {}
    assert list(problems(replace(PLAN, **changes))) == [field]


def test_every_outcome_has_its_code_and_one_is_ours_alone():
    made = completion_codes(PLAN, CODES | {"server": "FFFF2222"}, group="g")
    by_code = {each["code"]: each for each in made}
    assert len(made) == 6
    assert by_code["AAAA2222"]["actions"][0] == {"action": "MANUALLY_REVIEW"}
    assert by_code["BBBB2222"]["actions"][0]["action"] == "REQUEST_RETURN"
    assert by_code["EEEE2222"]["actions"] == [
        {"action": "REQUEST_RETURN", "return_reason": plans.NO_CONSENT_REASON}
    ]
    assert [c["code"] for c in made if c["actor"] == "researcher"] == ["FFFF2222"]
    joined = [c["code"] for c in made if c["actions"][-1].get("participant_group") == "g"]
    assert joined == ["AAAA2222", "DDDD2222", "CCCC2222", "BBBB2222"]


def test_a_fixed_payment_has_as_many_slots_as_places():
    fixed = replace(PLAN, screened_out="fixed")
    (code,) = [c for c in completion_codes(fixed, CODES) if c["code_type"] == "SCREENED_OUT"]
    assert code["actions"] == [
        {"action": "FIXED_SCREEN_OUT_PAYMENT", "fixed_screen_out_reward": 30, "slots": 40}
    ]


@pytest.mark.parametrize("minutes", [1, 2, 3, 12, 60])
def test_who_is_screened_out_gets_a_fair_sum_that_prolific_takes(minutes):
    plan = plans.with_fair_screen_out(replace(PLAN, minutes=minutes, screened_out="fixed"))
    assert problems(plan) == {}
    assert plan.screened_out_minor == min(30, plan.reward_minor - 1)
    cheap = plans.with_fair_screen_out(
        replace(PLAN, minutes=1, hourly_minor=600, screened_out="fixed")
    )
    assert (cheap.screened_out, problems(cheap)) == ("return", {})


def test_a_plan_comes_back_from_the_database_as_it_went_in():
    plan = replace(PLAN, devices=("desktop",), filters=({"filter_id": "age"},), keep_out=("g",))
    assert Plan.from_dict(plan.as_dict()) == plan
    assert Plan.from_dict({**plan.as_dict(), "unknown": 1}) == plan


@pytest.mark.parametrize(
    ("text", "minor"),
    [("9", 900), ("9.0", 900), ("£9.05", 905), ("0,30", 30), (" $12.5 ", 1250), ("9.", 900)],
)
def test_amounts_are_read_to_the_penny(text, minor):
    assert minor_of(text) == minor


@pytest.mark.parametrize("text", ["", "nine", "-1", "9.005", "1e3", "99999999", "1,000.00", "٣"])
def test_what_is_no_amount_is_refused(text):
    with pytest.raises(ValueError, match="no amount"):
        minor_of(text)


def test_money_is_written_with_its_currency():
    assert (money(123456, "GBP"), money(5, "USD"), money(-50, "EUR")) == (
        "£1,234.56",
        "$0.05",
        "−EUR 0.50",
    )


# --- Decisions -----------------------------------------------------------------------------------


def known(**changes) -> Evidence:
    usual = Evidence(
        session=1,
        code="s",
        rater="r-1",
        participant="p1",
        outcome="complete",
        minutes=12.0,
        answered=20,
        trials=20,
        skipped=0,
        fair=3,
        fair_failed=0,
        traps=4,
        traps_failed=0,
        reasons=0,
        pasted=0,
        repeated=0,
        without_facts=0,
        scripts_ran=True,
        same_browser=0,
        agent="",
        driven=0,
        jumped=0,
        scripted=0,
        browser_of="",
        typed_fast=0,
        shared=0,
        review=(),
        too_fast_below=4.0,
        study_minutes=12,
    )
    return replace(usual, **changes)


def place(status="AWAITING REVIEW", code="AAAA2222", **fields) -> SubmissionFacts:
    return SubmissionFacts(status, code, codes=CODES, **fields)


@pytest.mark.parametrize("code", ["NOCODE", "", "whatever", "AAAA2222"])
def test_whoever_did_the_work_is_proposed_for_approval_whatever_the_code(code):
    offered = propose(place(code=code), known())
    assert offered.decision == deciding.APPROVE
    assert deciding.REJECT not in offered.allowed


@pytest.mark.parametrize(
    ("changes", "ground"),
    [
        ({"traps": 9, "traps_failed": 9}, ""),
        ({"pasted": 20, "repeated": 19, "reasons": 20, "same_browser": 5}, ""),
        ({"review": ("answered in less time than the clips last",), "outcome": "needs_review"}, ""),
        ({"agent": "https://agent.example", "driven": 20, "typed_fast": 9, "shared": 9}, ""),
        ({"jumped": 20, "scripted": 20, "browser_of": "r-other"}, ""),
        ({"fair_failed": 1}, ""),
        ({"fair_failed": 1, "minutes": 4.5}, ""),  # the study's length counts, not the rater's
        ({"fair_failed": 1, "study_minutes": 4}, "FAILED_CHECK"),
        ({"fair_failed": 1, "study_minutes": 5}, ""),
        ({"fair_failed": 2}, "FAILED_CHECK"),
        ({"minutes": 3.9}, "TOO_QUICKLY"),
        ({"minutes": 3.9, "too_fast_below": None}, ""),
        ({"answered": 0, "outcome": ""}, "NO_DATA"),
        ({"answered": 0, "outcome": "screened_out"}, ""),
        ({"outcome": "rejected"}, ""),
    ],
)
def test_only_prolifics_own_grounds_allow_a_rejection(changes, ground):
    given = known(**changes)
    assert rejection_ground(place(), given) == ground
    offered = propose(place(), given)
    assert (deciding.REJECT in offered.allowed) == bool(ground)
    assert offered.decision != deciding.REJECT  # a person may, the machine never proposes it


@pytest.mark.parametrize("code", ["BBBB2222", "EEEE2222"])
def test_screening_and_missing_consent_are_never_rejected(code):
    for given in (None, known(answered=0, outcome="screened_out"), known(answered=0, outcome="")):
        offered = propose(place(code=code), given)
        assert deciding.REJECT not in offered.allowed
        assert offered.decision in (deciding.PART, deciding.RETURN)


def test_a_withdrawn_rater_is_never_rejected():
    offered = propose(place(withdrew=True), None)
    assert deciding.REJECT not in offered.allowed
    assert "withdrew" in offered.because


def test_a_session_without_an_end_is_paid_in_part():
    offered = propose(place(code="NOCODE"), known(answered=7, outcome=""))
    assert offered.decision == deciding.PART
    assert "7 of 20 clips" in offered.message


@pytest.mark.parametrize("status", ["ACTIVE", "TIMED-OUT", "AWAITING REVIEW"])
def test_a_session_whose_clips_were_all_skipped_holds_no_work(status):
    skipped = known(outcome="needs_review", answered=0, skipped=20, review=("skipped many clips",))
    for code in ("", "AAAA2222"):
        offered = propose(place(status, code), skipped)
        assert offered is None if status != "AWAITING REVIEW" else offered.decision == "return"
        for found in find_mismatches(place(status, code), "P1", skipped):
            assert not {deciding.APPROVE, deciding.COMPLETE} & {*found.remedies}
    most = propose(place(), replace(skipped, answered=3, skipped=17))
    assert most.because.startswith("3 of 20 clips are answered; look at them first: ")


@pytest.mark.parametrize("status", ["ACTIVE", "TIMED-OUT"])
def test_who_never_came_back_with_the_code_is_completed_for(status):
    assert propose(place(status), known()).decision == deciding.COMPLETE
    assert propose(place(status), known(outcome="", answered=3)) is None
    assert propose(place(status), None) is None


@pytest.mark.parametrize("status", [*SUBMISSION_OVER, "RESERVED"])
def test_what_is_over_is_not_decided_again(status):
    assert propose(place(status), known()) is None


def test_every_message_of_a_rejection_is_long_enough_for_prolific():
    for category in deciding.REJECTION_RULES:
        assert len(deciding.rejection_message(category, known(fair_failed=2))) >= 100


def test_three_deviations_below_the_mean_need_enough_sessions_and_a_bound_above_nothing():
    assert too_fast_below([10.0] * 9) is None
    assert too_fast_below([10.0, 11.0] * 10) == pytest.approx(10.5 - 3 * 0.512989)
    assert too_fast_below([1.0, 30.0] * 10) is None


# --- Mismatches ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("at_prolific", "here", "kinds"),
    [
        (place(), known(), []),
        (place("APPROVED"), known(), []),
        (place("ACTIVE"), known(outcome="", answered=3), []),
        (place(code="NOCODE"), known(), ["wrong_code"]),
        (place(code="BBBB2222"), known(), ["other_code"]),
        (place(), known(outcome="", answered=3), ["other_code", "unfinished"]),
        (place("ACTIVE"), known(), ["not_handed_in"]),
        (place("TIMED-OUT"), known(), ["not_handed_in"]),
        (place("RETURNED"), known(), ["place_given_twice"]),
        (place("REJECTED"), known(), ["place_given_twice"]),
        (place("REJECTED"), known(outcome="rejected"), []),
        (place(), known(outcome="rejected"), []),
        (place(), None, ["no_session"]),
        (place("RETURNED"), None, []),
        *((place(status), None, ["no_session"]) for status in PAID),
        (place("APPROVED", code="EEEE2222"), None, []),
        (place("APPROVED", withdrew=True), None, []),
        (place("APPROVED"), known(outcome="", answered=3), ["other_code"]),
        (place("APPROVED", is_decided=True), known(outcome="", answered=3), []),
        (place(), known(participant="somebody"), ["forged"]),
    ],
)
def test_what_does_not_fit_is_named(at_prolific, here, kinds):
    found = find_mismatches(at_prolific, "P1", here)
    assert [each.kind for each in found] == kinds
    offered = propose(at_prolific, here)
    for each in found:
        for remedy in each.remedies:
            assert remedy == deciding.LEAVE_OUT or remedy in offered.allowed
