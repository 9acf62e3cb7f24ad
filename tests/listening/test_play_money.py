"""Our client against the double of Prolific: a whole study, money that goes out twice, hooks."""

import ast
import base64
import hashlib
import hmac
import json
import sys
import threading
from collections.abc import Iterator
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import jwt
import pytest

from listening.recruitment.play_money import hooks
from listening.recruitment.prolific import NoReply, Prolific, Refused
from tests.play_money import TOKEN, Double

CODES = [
    {"code": "DONE", "code_type": "COMPLETED", "actions": [{"action": "MANUALLY_REVIEW"}]},
    {
        "code": "OUT",
        "code_type": "SCREENED_OUT",
        "actions": [
            {"action": "FIXED_SCREEN_OUT_PAYMENT", "fixed_screen_out_reward": 30, "slots": 5}
        ],
    },
]
SERVER = {
    "code": "SERVER",
    "code_type": "SERVER",
    "actor": "researcher",
    "actions": [{"action": "AUTOMATICALLY_APPROVE"}],
}
BODY = {
    "name": "Clips",
    "description": "<p>You need headphones.</p>",
    "external_study_url": "https://test.example.org/p?PROLIFIC_PID={{%PROLIFIC_PID%}}"
    "&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}&OTHER={{%OTHER%}}",
    "prolific_id_option": "url_parameters",
    "total_available_places": 4,
    "estimated_completion_time": 12,
    "maximum_allowed_time": 60,
    "reward": 240,
    "peripheral_requirements": ["audio"],
    "completion_codes": CODES,
}
REASON = "The recording was not listened to: every clip got its rating before it had played. " * 2


@pytest.fixture(scope="module")
def running() -> Iterator[Double]:
    with Double.running() as double:
        yield double


@pytest.fixture
def double(running: Double) -> Iterator[Double]:
    running.set(balance=100_000)
    yield running
    running.heal()


@pytest.fixture
def prolific(double: Double) -> Iterator[Prolific]:
    with Prolific(TOKEN, api=double.url, wait=lambda _: None) as client:
        yield client


def published(double: Double, prolific: Prolific, **changes: object) -> str:
    study = prolific.create_study({**BODY, **changes}).id
    prolific.transition(study, "PUBLISH")
    double.settle()
    return study


def available(prolific: Prolific) -> Decimal:
    return prolific.balance(prolific.workspaces()[0].id).minor


def cost(rewards: int) -> Decimal:
    return Decimal(rewards) * (1 + Decimal("0.428") * Decimal("1.2"))


# --- A study -------------------------------------------------------------------------------------


@pytest.mark.medium
def test_a_study_from_its_draft_to_the_last_payment(double, prolific):
    draft = prolific.create_study(BODY)
    assert (draft.status, draft.maximum_minutes, draft.currency) == ("UNPUBLISHED", 60, "GBP")
    assert prolific.transition(draft.id, "PUBLISH").status == "PUBLISHING"
    double.settle()
    assert prolific.study(draft.id).status == "ACTIVE"
    assert available(prolific) == 100_000 - cost(4 * 240 + 5 * 30)

    ann, bob, cid, dee = double.participants(4)
    first, second, third, fourth = (double.reserve(draft.id, who) for who in (ann, bob, cid, dee))
    link = urlsplit(double.start(first))
    sent = {"PROLIFIC_PID": [ann], "STUDY_ID": [draft.id], "SESSION_ID": [first]}
    assert parse_qs(link.query) == {**sent, "OTHER": ["{{%OTHER%}}"]}
    for each in (second, third, fourth):
        double.start(each)
    assert double.submit(first, "DONE") == "AWAITING REVIEW"
    assert double.submit(second, None) == "AWAITING REVIEW"
    double.give_back(third)
    assert double.submit(fourth, "OUT") == "SCREENED OUT"

    found = {each.participant: each for each in prolific.submissions(draft.id)}
    assert [found[who].code for who in (ann, bob, cid, dee)] == ["DONE", "NOCODE", "", "OUT"]
    assert found[dee].bonuses == (30,)
    prolific.approve(first)
    prolific.approve(first)
    prolific.approve_all([second])
    assert prolific.submission(second).status == "AWAITING REVIEW"
    double.settle()
    assert prolific.submission(second).status == "APPROVED"
    batch = prolific.create_bonuses(draft.id, {third: 75, bob: 20})
    assert (batch.amount, batch.total) == (95, cost(95))
    prolific.pay_bonuses(batch.id)
    double.settle()
    assert prolific.submission(third).bonuses == (75,)

    prolific.transition(draft.id, "STOP")
    assert prolific.study(draft.id).status == "COMPLETED"
    assert available(prolific) == 100_000 - cost(2 * 240 + 30 + 95)
    paid = double.ledger()["submissions"]
    assert [paid[each]["reward"] for each in (first, second, third, fourth)] == [240, 240, 0, 0]
    assert [paid[each]["bonuses"] for each in (first, second, third)] == [[], [20], [75]]


@pytest.mark.medium
def test_paying_a_batch_twice_pays_twice(double, prolific):
    study = published(double, prolific)
    submission = double.enter(study, *double.participants())
    batch = prolific.create_bonuses(study, {submission: 50})
    before = available(prolific)
    for _ in range(2):
        prolific.pay_bonuses(batch.id)
    double.settle()
    assert prolific.submission(submission).bonuses == (50, 50)
    assert double.ledger()["batches"][batch.id]["paid"] == 2
    assert available(prolific) == before - 2 * cost(50)


@pytest.mark.medium
def test_a_lost_reply_may_stand_for_money_that_went_out(double, prolific):
    study = published(double, prolific)
    submission = double.enter(study, *double.participants())
    batch = prolific.create_bonuses(study, {submission: 50})
    double.fault("drop_after", method="POST", path="/pay/")
    with pytest.raises(NoReply):
        prolific.pay_bonuses(batch.id)
    double.settle()
    assert prolific.submission(submission).bonuses == (50,)
    double.fault("drop_before", method="POST", path="/pay/")
    with pytest.raises(NoReply):
        prolific.pay_bonuses(batch.id)
    double.settle()
    assert prolific.submission(submission).bonuses == (50,)


@pytest.mark.medium
def test_a_draft_whose_reply_was_lost_is_there(double, prolific):
    project = prolific.projects(prolific.workspaces()[0].id)[0].id
    before = len(prolific.project_studies(project))
    double.fault("drop_after", method="POST", path="/studies/$")
    with pytest.raises(NoReply):
        prolific.create_study(BODY)
    assert len(prolific.project_studies(project)) == before + 1


@pytest.mark.medium
def test_a_study_that_the_balance_does_not_cover_stays_a_draft(double, prolific):
    double.set(balance=1000)
    study = prolific.create_study(BODY).id
    with pytest.raises(Refused, match="balance") as refused:
        prolific.transition(study, "PUBLISH")
    assert refused.value.status == 400
    assert prolific.study(study).status == "UNPUBLISHED"


@pytest.mark.medium
def test_fields_are_named_when_they_are_refused(double, prolific):
    with pytest.raises(Refused) as refused:
        prolific.create_study({**BODY, "maximum_allowed_time": 20, "reward": 0, "name": ""})
    assert {*refused.value.fields} >= {"reward", "name"}
    with pytest.raises(Refused) as refused:
        prolific.create_study({**BODY, "maximum_allowed_time": 20})
    assert {*refused.value.fields} == {"maximum_allowed_time"}


@pytest.mark.medium
def test_a_workspace_without_a_feature_is_told_so(double, prolific):
    double.set(features={"fixed_screen_out": False, "test_study": False})
    with pytest.raises(Refused) as refused:
        prolific.create_study(BODY)
    assert refused.value.names("FIXED_SCREEN_OUT_PAYMENT")
    study = prolific.create_study({**BODY, "completion_codes": CODES[:1]}).id
    with pytest.raises(Refused) as refused:
        prolific.test_study(study)
    assert (refused.value.status, refused.value.names("feature")) == (403, True)
    double.set(features={"fixed_screen_out": True, "test_study": True})
    tester = prolific.test_participant(f"{study}@example.org")
    copy = prolific.test_study(study).rsplit("/", 1)[1]
    assert double.submit(double.enter(copy, tester), "DONE") == "AWAITING REVIEW"


@pytest.mark.medium
def test_a_researchers_code_pays_who_forgot_theirs(double, prolific):
    study = published(double, prolific, completion_codes=[*CODES, SERVER])
    submission = double.enter(study, *double.participants())
    with pytest.raises(Refused, match="researchers"):
        prolific.complete(submission, "DONE")
    prolific.complete(submission, "SERVER")
    assert prolific.submission(submission).status == "APPROVED"
    assert double.ledger()["submissions"][submission]["reward"] == 240


@pytest.mark.medium
def test_codes_do_what_their_actions_say(double, prolific):
    group = prolific.create_group("heard it", prolific.workspaces()[0].id)
    actions = {
        "AUTO": [
            {"action": "AUTOMATICALLY_APPROVE"},
            {"action": "ADD_TO_PARTICIPANT_GROUP", "participant_group": group},
        ],
        "BACK": [{"action": "REQUEST_RETURN", "return_reason": "No consent"}],
    }
    codes = [{"code": c, "code_type": c, "actions": each} for c, each in actions.items()]
    study = published(double, prolific, completion_codes=codes)
    first, second = double.participants(2)
    assert double.submit(double.enter(study, first), "AUTO") == "APPROVED"
    assert [*double.state()["groups"][group]["members"]] == [first]
    back = double.enter(study, second)
    assert double.submit(back, "BACK") == "AWAITING REVIEW"
    assert prolific.submission(back).return_requested is not None
    double.give_back(back)
    assert prolific.submission(back).status == "RETURNED"


@pytest.mark.medium
def test_screen_outs_end_with_their_slots(double, prolific):
    one = {**CODES[1]["actions"][0], "slots": 1}
    codes = [CODES[0], {**CODES[1], "actions": [one]}]
    study = published(double, prolific, completion_codes=codes)
    assert double.submit(double.enter(study, *double.participants()), "OUT") == "SCREENED OUT"
    assert prolific.study(study).status == "PAUSED"
    with pytest.raises(Refused, match="slots"):
        prolific.transition(study, "START")
    codes[1] = {**CODES[1], "actions": [{**one, "slots": 2}]}
    prolific.change_study(study, {"completion_codes": codes})
    assert prolific.transition(study, "START").status == "ACTIVE"
    with pytest.raises(Refused, match="name"):
        prolific.change_study(study, {"name": "Another"})
    assert prolific.change_study(study, {"total_available_places": 5}).places == 5


@pytest.mark.medium
def test_the_same_bulk_approval_is_passed_over_for_five_minutes(double, prolific):
    study = published(double, prolific)
    submission = double.enter(study, *double.participants())
    prolific.approve_all([submission])
    double.settle()
    double.submit(submission, "DONE")
    prolific.approve_all([submission])
    double.settle()
    assert prolific.submission(submission).status == "AWAITING REVIEW"
    double.forward(minutes=6)
    prolific.approve_all([submission])
    double.settle()
    assert prolific.submission(submission).status == "APPROVED"


@pytest.mark.medium
def test_a_rejection_frees_the_place_and_is_told(double, prolific):
    study = published(double, prolific, total_available_places=1)
    (who,) = double.participants()
    submission = double.enter(study, who)
    with pytest.raises(Refused, match="REJECT"):
        prolific.reject(submission, category="LOW_EFFORT", message=REASON)
    double.submit(submission, "wrong")
    assert prolific.study(study).status == "AWAITING REVIEW"
    with pytest.raises(Refused, match="rejection_category"):
        prolific.reject(submission, category="BORED", message=REASON)
    prolific.reject(submission, category="LOW_EFFORT", message=REASON)
    assert prolific.study(study).status == "PAUSED"
    assert double.ledger()["messages"][-1]["recipient_id"] == who


# --- Time, pages, filters ------------------------------------------------------------------------


@pytest.mark.medium
def test_time_runs_out_and_nobody_reviews(double, prolific):
    study = published(double, prolific)
    held, open_, sent = double.participants(3)
    sent = double.enter(study, sent)
    double.submit(sent, "DONE")
    held, open_ = double.reserve(study, held), double.enter(study, open_)
    double.forward(minutes=11)
    assert prolific.submission(held).status == "RETURNED"
    double.forward(minutes=50)
    assert prolific.submission(open_).status == "TIMED-OUT"
    assert double.submit(open_, "DONE") == "AWAITING REVIEW"
    double.forward(days=20.99)
    assert prolific.submission(sent).status == "APPROVED"


@pytest.mark.medium
def test_a_quota_study_sends_people_by_the_id_of_a_child(double, prolific):
    study = published(double, prolific)
    child = double.ask("POST", f"/studies/{study}/child")["child"]
    submission = double.reserve(study, *double.participants())
    assert f"STUDY_ID={child}" in double.start(submission)
    found = prolific.submission(submission)
    assert (found.study, found.parent_study) == (child, study)


@pytest.mark.medium
def test_lists_come_in_pages_and_end_with_a_404(double, prolific):
    double.set(max_page_size=2, one_at_a_time=False)
    study = published(double, prolific)
    people = double.participants(4)
    for who in people:
        double.reserve(study, who)
    assert [each.participant for each in prolific.submissions(study)] == people
    answer = httpx.get(
        f"{double.url}/api/v1/submissions/",
        params={"study": study, "page": "3", "page_size": "2"},
        headers={"Authorization": f"Token {TOKEN}"},
    )
    assert answer.status_code == 404
    double.set(max_page_size=200, one_at_a_time=True)


@pytest.mark.medium
def test_filters_and_groups_choose_who_may_take_part(double, prolific):
    workspace = prolific.workspaces()[0].id
    (young,), (old,) = double.participants(age=20), double.participants(age=60)
    group = prolific.create_group("took part", workspace)
    join = {"action": "ADD_TO_PARTICIPANT_GROUP", "participant_group": group}
    codes = [{"code": "DONE", "code_type": "COMPLETED", "actions": [join]}]
    ages = {"filter_id": "age", "selected_range": {"lower": 18, "upper": 30}}
    others = {"filter_id": "participant_group_blocklist", "selected_values": [group]}
    study = published(double, prolific, filters=[ages], completion_codes=codes)
    with pytest.raises(Exception, match="not eligible"):
        double.reserve(study, old)
    double.submit(double.enter(study, young), "DONE")
    study = published(double, prolific, filters=[others])
    with pytest.raises(Exception, match="not eligible"):
        double.reserve(study, young)
    double.reserve(study, old)


@pytest.mark.medium
def test_a_browser_walks_from_the_list_to_the_end(double, prolific):
    study = published(double, prolific, is_external_study_url_secure=True)
    (who,) = double.participants()
    with httpx.Client(base_url=double.url) as browser:
        browser.get("/", params={"participant": who})
        assert f"/studies/{study}" in browser.get("/").text
        at = browser.post(f"/studies/{study}/reserve").headers["Location"]
        link = browser.post(f"{at}/open").headers["Location"]
        keys = httpx.get(f"{double.url}/.well-known/study/jwks.json").json()
        token = parse_qs(urlsplit(link).query)["prolific_token"][0]
        key = jwt.PyJWKSet.from_dict(keys)[jwt.get_unverified_header(token)["kid"]]
        told = jwt.decode(token, key, ["RS256"], audience=BODY["external_study_url"])
        assert told["sub"] == at.rsplit("/", 1)[1]
        assert told["prolific"]["PROLIFIC_PID"] == who
        done = browser.get("/submissions/complete", params={"cc": "DONE"}, follow_redirects=True)
        assert 'data-status="AWAITING REVIEW"' in done.text
        again = browser.get("/submissions/complete", params={"cc": "DONE"}, follow_redirects=True)
        assert again.status_code == 200
    assert prolific.submission(told["sub"]).code == "DONE"


@pytest.mark.medium
def test_a_page_takes_a_code_by_hand_none_and_a_return(double, prolific):
    study = published(double, prolific)
    for who, path, form in zip(
        double.participants(3),
        ("complete", "complete", "return"),
        ({"code": "my words"}, {}, {}),
        strict=True,
    ):
        with httpx.Client(base_url=double.url, follow_redirects=True) as browser:
            browser.get("/", params={"participant": who})
            at = browser.post(f"/studies/{study}/reserve").url.path
            browser.post(f"{at}/open", follow_redirects=False)
            browser.post(f"{at}/{path}", data=form)
            assert browser.get("/submissions").status_code == 200
            assert browser.post(f"{at}/open").status_code == 400
    found = [(each.code, each.status) for each in prolific.submissions(study)]
    waiting = "AWAITING REVIEW"
    assert found == [("my words", waiting), ("NOCODE", waiting), ("", "RETURNED")]


# --- Hooks and faults ----------------------------------------------------------------------------


class Receiver(ThreadingHTTPServer):
    """Notes what comes: headers and raw body."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Notes)
        self.got: list[tuple[dict[str, str], bytes]] = []
        self.answers: list[int] = []
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()


class Notes(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        assert isinstance(self.server, Receiver)
        self.server.got.append((dict(self.headers.items()), body))
        self.send_response(self.server.answers.pop(0) if self.server.answers else 204)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as server:
        yield server
        server.shutdown()


def statuses(receiver: Receiver) -> list[str]:
    return [json.loads(body)["status"] for _, body in receiver.got]


def is_signed(secret: str, headers: dict[str, str], body: bytes) -> bool:
    stamp = headers["X-Prolific-Request-Timestamp"]
    digest = hmac.new(secret.encode(), stamp.encode() + body, hashlib.sha256).digest()
    return headers["X-Prolific-Request-Signature"] == base64.b64encode(digest).decode()


def test_the_signature_is_that_of_the_known_example():
    body = (
        b'{"resource_id": "60d9aadeb86739de712faee0", "event_type": "submission.status.change", '
        b'"participant_id": "60bf9310e8dec401be6e9615", "status": "AWAITING REVIEW"}'
    )
    signature = "vlQYN7aNFtQP/cl3j86Y2NqRmQ3fNxcZ7dGe4GimXNU="
    assert hooks.sign("test-secret", "1700000000", body) == signature


@pytest.mark.medium
def test_events_are_sent_signed_and_again_when_refused(double, prolific, receiver):
    workspace = prolific.workspaces()[0].id
    address = f"http://127.0.0.1:{receiver.server_address[1]}/hook"
    with pytest.raises(Refused, match="secret"):
        prolific.subscribe(workspace, "submission.status.change", address)
    assert "submission.status.change" in prolific.event_types()
    secret = prolific.create_hook_secret(workspace)
    hook = prolific.subscribe(workspace, "submission.status.change", address)
    study = published(double, prolific)
    submission = double.reserve(study, *double.participants())
    double.settle()
    assert statuses(receiver) == ["RESERVED"]
    assert is_signed(secret, *receiver.got[0])
    assert json.loads(receiver.got[0][1])["resource_id"] == submission

    receiver.got.clear()
    receiver.answers += [500]
    double.start(submission)
    double.settle(retries=True)
    assert statuses(receiver) == ["ACTIVE", "ACTIVE"]
    assert len({headers["X-Event-Id"] for headers, _ in capitals(receiver)}) == 1

    prolific.unsubscribe(hook)


def capitals(receiver: Receiver) -> list[tuple[dict[str, str], bytes]]:
    return [({name.title(): v for name, v in h.items()}, body) for h, body in receiver.got]


@pytest.mark.medium
def test_reads_bear_with_every_fault_of_the_transport(double, prolific):
    study = published(double, prolific)
    for name in ("too_many", "error_500", "error_500_after", "drop_before", "drop_after"):
        double.fault(name)
        assert prolific.study(study).id == study
    for name in ("extra_fields", "floats"):
        double.fault(name, count=None)
    assert prolific.study(study).places == 4
    double.fault("unknown_status")
    assert prolific.study(study).status == "UNHEARD OF"
    assert {fault["hits"] for fault in double.faults() if fault["count"] == 0} == {1}


@pytest.mark.medium
@pytest.mark.parametrize("shape", ["wrapped", "error_bare", "error_message"])
def test_errors_have_the_shape_that_is_asked_for(double, prolific, shape):
    if shape != "wrapped":
        double.fault(shape, count=None)
    with pytest.raises(Refused) as refused:
        prolific.study("f" * 24)
    assert refused.value.status == 404
    with pytest.raises(Refused) as refused:
        prolific.create_study({**BODY, "reward": -1})
    assert "reward" in refused.value.fields


@pytest.mark.medium
def test_the_double_shares_no_code_with_the_product():
    folder = Path(hooks.__file__).parent
    imported = {
        name
        for path in folder.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        for name in (
            [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else []
        )
    }
    first = {
        name.split(".")[0]
        for name in imported
        if not name.startswith("listening.recruitment.play_money")
    }
    assert first - sys.stdlib_module_names == {"jwt", "cryptography"}


@pytest.mark.medium
def test_a_wrong_token_is_refused(double):
    with Prolific("wrong", api=double.url) as stranger, pytest.raises(Refused) as refused:
        stranger.me()
    assert refused.value.is_token


@pytest.mark.slow
def test_everything_is_there_after_a_restart(tmp_path):
    file = tmp_path / "double.json"
    with Double.running(file) as double, Prolific(TOKEN, api=double.url) as prolific:
        study = prolific.create_study(BODY).id
        prolific.transition(study, "PUBLISH")
    with Double.running(file) as double, Prolific(TOKEN, api=double.url) as prolific:
        double.settle()
        assert prolific.study(study).status == "ACTIVE"
