"""The client of Prolific's API: what it sends, what it reads, and what it never sends twice."""

import json
from collections.abc import Callable
from decimal import Decimal

import httpx
import pytest

from listening.recruitment.prolific import NoReply, NotSent, Prolific, Refused, wire
from listening.recruitment.prolific.wire import OnHold, refusal_of, seconds_to_wait

OK = httpx.Response(200, json={"id": "x"})
STUDY = {"id": "s" * 24, "status": "UNPUBLISHED", "total_available_places": 20.0, "reward": 150.0}


class Api:
    """Answers with one reply after the other (an exception is raised), and notes what was asked."""

    def __init__(self, *replies: httpx.Response | Exception | Callable) -> None:
        self.replies, self.asked, self.waited = list(replies), [], []
        self.client = Prolific(
            "t0ken",
            api="https://prolific.test/",
            wait=self.waited.append,
            transport=httpx.MockTransport(self.answer),
        )

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if isinstance(reply, Exception):
            raise reply
        return reply


def paths(api: Api) -> list[str]:
    return [f"{each.method} {each.url.path}" for each in api.asked]


RATES = {"min_reward_per_hour": 600.0, "recommended_reward_per_hour": 900}


@pytest.mark.parametrize("reply", [[RATES, {}], RATES, {"results": [RATES]}])
def test_the_newest_recommended_reward_is_read_whatever_is_around_it(reply):
    api = Api(httpx.Response(200, json=reply))
    assert api.client.reward_rates("w", "GBP", ["age", "sex"]) == wire.RewardRates(600, 900)
    query = {"workspace_id": "w", "currency": "GBP", "screener_ids": "age,sex"}
    assert dict(api.asked[0].url.params) == query


@pytest.mark.parametrize("reply", [[], {}, None, [None], {"min_reward_per_hour": "much"}])
def test_a_recommended_reward_that_cannot_be_read_is_none(reply):
    with pytest.raises(wire.Malformed):
        Api(httpx.Response(200, json=reply)).client.reward_rates("w", "GBP")


def test_the_token_goes_along_by_its_own_word():
    api = Api(OK)
    assert api.client.me() == {"id": "x"}
    assert api.asked[0].headers["Authorization"] == "Token t0ken"
    assert paths(api) == ["GET /api/v1/users/me/"]


# --- What is tried again -------------------------------------------------------------------------

LOST = httpx.ReadTimeout("slow")
AWAY = httpx.ConnectError("refused")


HTML = {"headers": {"Content-Type": "text/html"}, "text": "<html>Just a moment</html>"}
UNKNOWN = {  # an answer that does not say whether the request was carried out
    **{str(n): httpx.Response(n) for n in (402, 405, 409, 410, 422, 500, 502, 503, 504, 520, 524)},
    "json 500": httpx.Response(500, json={"error": {"status": 500, "detail": "broken"}}),
    "redirect": httpx.Response(302, headers={"Location": "/"}),
    "page": httpx.Response(200, **HTML),
    "refusing page": httpx.Response(403, **HTML),
    "lost": LOST,
}


@pytest.mark.parametrize(
    "problem", [LOST, AWAY, *(httpx.Response(n) for n in (408, 429, 500, 503, 520, 524))]
)
def test_reads_are_tried_again_with_longer_and_longer_pauses(problem):
    api = Api(problem, problem, OK)
    assert api.client.me() == {"id": "x"}
    assert len(api.asked) == 3
    assert 0.375 <= api.waited[0] <= 0.625
    assert 0.75 <= api.waited[1] <= 1.25


@pytest.mark.parametrize("status", [429, 503])
def test_a_pause_is_never_shorter_than_prolific_asks(status):
    api = Api(httpx.Response(status, headers={"Retry-After": "7"}), OK)
    api.client.me()
    assert api.waited == [7]


@pytest.mark.parametrize("status", [429, 503])
def test_nothing_is_sent_while_prolific_asks_to_wait_long(status):
    api = Api(httpx.Response(status, headers={"Retry-After": "86400"}), OK)
    with pytest.raises(NoReply):
        api.client.me()
    with pytest.raises(OnHold, match="try again in 1440 min"):
        api.client.me()
    assert (len(api.asked), api.waited) == (1, [])
    api.client.hold.write(0.0)
    assert api.client.me() == {"id": "x"}


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("120", 120),
        ("Fri, 01 Jan 2100 00:00:00 GMT", 86_400),
        ("Mon, 01 Jan 2001 00:00:00 GMT", 0),
        *((text, 0) for text in ("", "soon", "-5", "²", "1.5")),
    ],
)
def test_the_time_to_wait_is_a_number_or_a_date(text, seconds):
    assert seconds_to_wait(text) == pytest.approx(seconds, rel=1e-9) or (
        seconds == 86_400 and seconds_to_wait(text) > seconds
    )


@pytest.mark.parametrize("token", ["т0кен", "t0ken\n", "t ken", "", "１２３"])
def test_a_token_in_other_letters_is_none(token):
    with pytest.raises(ValueError, match="Latin letters"):
        Prolific(token)


ONCE = {
    "create_study": lambda c: c.create_study({}),
    "create_bonuses": lambda c: c.create_bonuses("s", {"a": 5}),
    "ask_to_return": lambda c: c.ask_to_return("s", "why"),
    "transition": lambda c: c.transition("s", "PUBLISH"),
}
REPEATED = {
    "approve": lambda c: c.approve("s"),
    "approve_all": lambda c: c.approve_all(["a", "b"]),
    "reject": lambda c: c.reject("s", category="NO_DATA", message="x" * 100),
    "delete_draft": lambda c: c.delete_draft("s"),
}


@pytest.mark.medium
@pytest.mark.parametrize("problem", UNKNOWN.values(), ids=UNKNOWN)
@pytest.mark.parametrize("name", [*ONCE, "pay_bonuses"])
def test_what_a_repeat_would_do_twice_is_sent_once(name, problem):
    api = Api(problem, OK)
    with pytest.raises(NoReply):
        (ONCE | {"pay_bonuses": lambda c: c.pay_bonuses("b")})[name](api.client)
    assert len(api.asked) == 1


@pytest.mark.medium
@pytest.mark.parametrize("problem", UNKNOWN.values(), ids=UNKNOWN)
@pytest.mark.parametrize("name", [*REPEATED, "change_study", "study"])
def test_an_answer_that_says_nothing_is_unknown_for_every_call(name, problem):
    calls = {"change_study": lambda c: c.change_study("s", {}), "study": lambda c: c.study("s")}
    with pytest.raises(NoReply):
        (REPEATED | calls)[name](Api(problem).client)


@pytest.mark.parametrize("status", [400, 401, 403, 404])
@pytest.mark.parametrize("name", [*ONCE, *REPEATED, "pay_bonuses"])
def test_a_documented_refusal_is_a_no_for_every_call(name, status):
    api = Api(httpx.Response(status, json={"error": {"status": status, "detail": "No."}}))
    with pytest.raises(Refused, match="No"):
        (ONCE | REPEATED | {"pay_bonuses": lambda c: c.pay_bonuses("b")})[name](api.client)
    assert len(api.asked) == 1


def test_a_study_that_was_made_and_cannot_be_read_is_not_refused():
    for reply in (httpx.Response(201, json={"status": "UNPUBLISHED"}), httpx.Response(201)):
        with pytest.raises(NoReply):
            Api(reply).client.create_study({})


@pytest.mark.parametrize("name", REPEATED)
def test_what_a_repeat_does_not_change_is_tried_again(name):
    api = Api(LOST, httpx.Response(502), OK)
    REPEATED[name](api.client)
    assert len(api.asked) == 3


@pytest.mark.parametrize("problem", [httpx.Response(429), AWAY])
@pytest.mark.parametrize("name", ONCE)
def test_what_was_not_carried_out_is_tried_again_whatever_it_is(name, problem):
    api = Api(problem, httpx.Response(201, json=STUDY))
    ONCE[name](api.client)
    assert len(api.asked) == 2


@pytest.mark.parametrize(
    ("problem", "kind"), [(httpx.Response(429), NoReply), (AWAY, NotSent), (LOST, NoReply)]
)
def test_paying_is_asked_once_whatever_comes_back(problem, kind):
    api = Api(problem, OK)
    with pytest.raises(kind):
        api.client.pay_bonuses("b")
    assert paths(api) == ["POST /api/v1/bulk-bonus-payments/b/pay/"]


def test_a_refusal_is_said_at_once_and_not_tried_again():
    api = Api(
        httpx.Response(400, json={"error": {"status": 400, "detail": {"reward": ["too low"]}}})
    )
    with pytest.raises(Refused, match="reward: too low") as refused:
        api.client.create_study({})
    assert refused.value.fields == {"reward": ["too low"]}
    assert len(api.asked) == 1


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({"error": {"status": 403, "detail": "No feature"}}, "No feature"),
        ({"status": 403, "title": "Forbidden", "detail": ["a", "b"]}, "a b"),
        ({"message": "Not yours", "detail": ""}, "Not yours"),
        ({"error": "bare words"}, "bare words"),
        ({"detail": {"codes": {"0": ["no such action"]}}}, "codes: 0: no such action"),
        ("", "Prolific answered 403."),
        (["a list"], "['a list']"),
    ],
)
def test_errors_come_in_several_shapes(body, text):
    refused = refusal_of(403, body)
    assert str(refused) == text
    assert refused.status == 403


# --- Lists ---------------------------------------------------------------------------------------


def page(*ids: str, following: str | None = None) -> httpx.Response:
    results = [{"id": name, "participant_id": "p" + name, "status": "ACTIVE"} for name in ids]
    links = {"next": {"href": following, "title": "Next"}}
    return httpx.Response(200, json={"results": results, "_links": links, "meta": {"count": 3}})


def test_lists_are_followed_to_their_end_and_the_token_goes_to_nobody_else():
    elsewhere = "https://evil.test/api/v1/submissions/?study=s&page=2&page_size=100"
    api = Api(page("a", "b", following=elsewhere), page("c"))
    assert [each.id for each in api.client.submissions("s")] == ["a", "b", "c"]
    assert {each.url.host for each in api.asked} == {"prolific.test"}
    assert dict(api.asked[1].url.params) == {"study": "s", "page": "2", "page_size": "100"}


def test_a_page_after_the_last_one_is_the_end():
    api = Api(page("a", following="/?page=2&study=s"), httpx.Response(404, json={"detail": "none"}))
    assert [each.id for each in api.client.submissions("s")] == ["a"]
    with pytest.raises(Refused):  # while a study that is not there is an error
        Api(httpx.Response(404)).client.submissions("s")


# --- What comes back -----------------------------------------------------------------------------


def test_details_and_lists_of_submissions_are_read_alike():
    detail = {
        "id": "a",
        "participant": "p",
        "status": "AWAITING REVIEW",
        "study_id": "s",
        "entered_code": "NOCODE",
        "started_at": "2026-11-01T10:00:00.123Z",
        "completed_at": "2026-11-01T10:20:00Z",
        "bonus_payments": [30, 12.5],
        "parent_study_id": None,
        "novel": {"field": 1},
    }
    entry = {"id": "a", "participant_id": "p", "status": "AWAITING_REVIEW", "study_code": "NOCODE"}
    one, other = wire.submission(detail), wire.submission(entry)
    assert (one.participant, one.code, one.status) == (other.participant, other.code, other.status)
    assert one.bonuses == (Decimal(30), Decimal("12.5"))
    assert (one.completed_at - one.started_at).total_seconds() == pytest.approx(1199.877)
    assert one.parent_study == ""


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("TIMED-OUT", "TIMED-OUT"),
        ("timed_out", "TIMED-OUT"),
        ("AWAITING_REVIEW", "AWAITING REVIEW"),
        ("screened out", "SCREENED OUT"),
        ("A_NEW_ONE", "A NEW ONE"),
        (None, "UNKNOWN"),
    ],
)
def test_statuses_are_read_however_they_are_spelt(text, status):
    assert wire.status_of(text) == status


def test_numbers_may_be_floats_but_money_is_no_word():
    assert wire.study(STUDY).places == 20
    assert wire.study(STUDY).reward == Decimal("150.0")
    for bad in ("much", None, "nan", float("inf")):
        with pytest.raises(wire.Malformed):
            wire.amount(bad)
    with pytest.raises(wire.Malformed, match="no id"):
        wire.study({"status": "ACTIVE"})


def test_bonuses_are_minor_units_here_and_decimals_on_the_wire():
    batch = {"id": "b", "amount": 455, "fees": 151.666, "vat": 0, "total_amount": 606.666}
    api = Api(httpx.Response(201, json=batch))
    made = api.client.create_bonuses("s", {"one": 425, "two": 30})
    assert json.loads(api.asked[0].content)["csv_bonuses"] == "one,4.25\ntwo,0.30"
    assert (made.id, made.amount, made.total) == ("b", Decimal(455), Decimal("606.666"))
    for bad in ({}, {"one": 0}, {"one": -5}, {str(n): 1 for n in range(201)}):
        with pytest.raises(ValueError, match="bonus"):
            api.client.create_bonuses("s", bad)
    assert len(api.asked) == 1


def test_a_rejection_without_a_long_enough_message_is_not_sent():
    api = Api(OK)
    with pytest.raises(ValueError, match="100 characters"):
        api.client.reject("s", category="NO_DATA", message="short")
    assert api.asked == []


def test_approving_thousands_goes_in_parts():
    api = Api(OK)
    api.client.approve_all([str(n) for n in range(2300)])
    sizes = [len(json.loads(each.content)["submission_ids"]) for each in api.asked]
    assert sizes == [1000, 1000, 300]


@pytest.mark.parametrize("as_list", [True, False])
def test_a_subscription_is_confirmed_with_the_secret_of_its_header(as_list):
    body = {"id": "h", "is_enabled": False}
    made = httpx.Response(201, json=[body] if as_list else body, headers={"X-Hook-Secret": "once"})
    api = Api(made, OK)
    assert api.client.subscribe("w", "submission.status.change", "https://x.org/hook/") == "h"
    assert json.loads(api.asked[1].content) == {"secret": "once"}
    assert paths(api)[1] == "POST /api/v1/hooks/subscriptions/h/"
