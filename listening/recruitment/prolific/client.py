"""Asks Prolific: a method per call that Earnest needs, repeated only where that does no harm."""

from __future__ import annotations

import random
import re
import ssl
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cache
from math import ceil
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import parse_qsl

from listening.recruitment.prolific import wire
from listening.recruitment.prolific.wire import (
    NoReply,
    NotSent,
    OnHold,
    ProlificError,
    Refused,
    problem_of,
    seconds_to_wait,
)

if TYPE_CHECKING:
    import httpx  # elsewhere where it is used: pages and workers are lighter without it

API = "https://api.prolific.com"
TRIES = 5
FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 30.0  # where Prolific asks to wait longer, the call ends and says so
TIMEOUT_S = 30.0
TOKEN = re.compile(r"[!-~]+")  # what fits into a header
PAGE = 100
MOST_PAGES = 1000
MOST_IDS = 200  # of one request with many
APPROVED_AT_ONCE = 1000
REASON_CHARS = 100  # Prolific's shortest message to somebody who is rejected


@cache
def authorities() -> ssl.SSLContext:
    """Whose certificates are trusted: read once per process, which takes 27 ms each time."""
    import httpx

    return httpx.create_ssl_context()


class Hold:
    """Until when Prolific asked not to be asked again; here for one client alone."""

    def __init__(self) -> None:
        self.until = 0.0  # seconds since 1970

    def read(self) -> float:
        return self.until

    def write(self, until: float) -> None:
        self.until = until


class Prolific:
    """A researcher's access. Money goes out by `transition` (PUBLISH), `approve` and `pay_bonuses`.

    Every method raises `Refused` if Prolific says no, `NotSent` if it cannot be reached, and
    `NoReply` if it is not known whether the request was carried out. What does no harm has then
    been tried several times, at most `tries`.
    """

    def __init__(
        self,
        token: str,
        *,
        api: str = API,
        wait: Callable[[float], None] = time.sleep,
        transport: httpx.BaseTransport | None = None,
        hold: Hold | None = None,
        tries: int = TRIES,
    ) -> None:
        import httpx

        if not TOKEN.fullmatch(token):
            raise ValueError("A token consists of Latin letters, digits and signs.")
        self.api, self.wait, self.tries = api.rstrip("/"), wait, tries
        self.hold = hold or Hold()
        headers = {"Authorization": f"Token {token}", "User-Agent": "Earnest", "Referer": "Earnest"}
        self.http = httpx.Client(
            headers=headers, timeout=TIMEOUT_S, transport=transport, verify=authorities()
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.http.close()

    # --- Who we are ------------------------------------------------------------------------------

    def me(self) -> wire.Json:
        return self._object("GET", "/users/me/")

    def workspaces(self) -> list[wire.Workspace]:
        return [wire.workspace(each) for each in self._pages("/workspaces/")]

    def projects(self, workspace: str) -> list[wire.Workspace]:
        return [wire.workspace(each) for each in self._pages(f"/workspaces/{workspace}/projects/")]

    def balance(self, workspace: str) -> wire.Money:
        return wire.balance(self._object("GET", f"/workspaces/{workspace}/balance/"))

    # --- Before a study --------------------------------------------------------------------------

    def filters(self, workspace: str) -> list[wire.Json]:
        """What participants can be chosen by; ids differ between workspaces and over time."""
        reply = self._object("GET", "/filters/", query={"workspace_id": workspace})
        return [each for each in reply.get("results", ()) if isinstance(each, dict)]

    def eligible(self, filters: Sequence[wire.Json], workspace: str) -> int:
        """How many participants the filters leave; 0 stands for fewer than 25."""
        body = {"filters": list(filters), "workspace_id": workspace}
        return wire.whole(
            wire.needed(self._object("POST", "/eligibility-count/", body, again=True), "count")
        )

    def total_cost(self, reward: int, places: int) -> Decimal:
        """Rewards and fees together, in minor units."""
        body = {"reward": reward, "total_available_places": places}
        reply = self._object("POST", "/study-cost-calculator/", body, again=True)
        return wire.amount(wire.needed(reply, "total_cost"))

    def reward_rates(
        self, workspace: str, currency: str, filters: Sequence[str] = ()
    ) -> wire.RewardRates:
        """The least and the recommended reward per hour, for participants behind these filters."""
        query = {"workspace_id": workspace, "currency": currency}
        if filters:
            query["screener_ids"] = ",".join(filters)
        return wire.reward_rates(_json(self._ask("GET", "/reward-recommendations/", query=query)))

    def study_cost(self, study: str) -> wire.Json:
        """Rewards and bonuses of a study with fees and tax: leaves of amount and currency."""
        return self._object("GET", f"/studies/{study}/cost/")

    # --- Studies ---------------------------------------------------------------------------------

    def create_study(self, body: wire.Json) -> wire.Study:
        """A draft. After `NoReply` look for `internal_name` among the project's studies."""
        return wire.study(self._object("POST", "/studies/", body))

    def project_studies(self, project: str) -> list[wire.Study]:
        """All studies of a project; of every project that the token sees, where it is empty."""
        path = f"/projects/{project}/studies/" if project else "/studies/"
        return [wire.study(each) for each in self._pages(path)]

    def study(self, study: str) -> wire.Study:
        return wire.study(self._object("GET", f"/studies/{study}/"))

    def change_study(self, study: str, changes: wire.Json) -> wire.Study:
        return wire.study(self._object("PATCH", f"/studies/{study}/", changes, again=True))

    def delete_draft(self, study: str) -> None:
        self._ask("DELETE", f"/studies/{study}/", again=True)

    def transition(self, study: str, action: str) -> wire.Study:
        """PUBLISH, PAUSE, START or STOP. The reply may still show the state before."""
        path = f"/studies/{study}/transition/"
        return wire.study(self._object("POST", path, {"action": action}))

    def test_participant(self, email: str) -> str:
        reply = self._object("POST", "/researchers/participants/", {"email": email})
        return str(wire.needed(reply, "participant_id"))

    def test_study(self, study: str) -> str:
        """Publishes a copy of a draft for test participants, and gives its address."""
        return str(self._object("POST", f"/studies/{study}/test-study").get("study_url") or "")

    # --- Submissions -----------------------------------------------------------------------------

    def submissions(self, study: str) -> list[wire.Submission]:
        return [wire.submission(each) for each in self._pages("/submissions/", {"study": study})]

    def submission(self, submission: str) -> wire.Submission:
        return wire.submission(self._object("GET", f"/submissions/{submission}/"))

    def approve(self, submission: str) -> None:
        self._decide(submission, {"action": "APPROVE"})

    def approve_all(self, submissions: Sequence[str]) -> None:
        """Prolific works them off later: read the submissions again to see who was approved."""
        for some in _parts(submissions, APPROVED_AT_ONCE):
            self._ask("POST", "/submissions/bulk-approve/", {"submission_ids": some}, again=True)

    def reject(self, submission: str, *, category: str, message: str) -> None:
        if len(message) < REASON_CHARS:
            raise ValueError(f"A rejection needs a message of {REASON_CHARS} characters or more.")
        body = {"action": "REJECT", "message": message, "rejection_category": category}
        self._decide(submission, body)

    def complete(self, submission: str, code: str) -> None:
        """Ends it with a code of the researcher's."""
        self._decide(submission, {"action": "COMPLETE", "completion_code": code})

    def _decide(self, submission: str, body: wire.Json) -> None:
        """Prolific passes over a second decision that is the same."""
        self._ask("POST", f"/submissions/{submission}/transition/", body, again=True)

    def ask_to_return(self, submission: str, reason: str) -> None:
        """Sends the participant a message; the status does not change before they return it."""
        body = {"request_return_reasons": [reason]}
        self._ask("POST", f"/submissions/{submission}/request-return/", body)

    # --- Bonuses ---------------------------------------------------------------------------------

    def create_bonuses(self, study: str, minor_units: Mapping[str, int]) -> wire.BonusBatch:
        """Writes bonuses down, by submission or participant; `pay_bonuses` pays them."""
        if not 0 < len(minor_units) <= MOST_IDS:
            raise ValueError(f"1 to {MOST_IDS} bonuses go into one batch, not {len(minor_units)}.")
        if bad := [name for name, minor in minor_units.items() if minor <= 0]:
            raise ValueError(f"A bonus must be more than nothing: {', '.join(bad)}.")
        lines = [f"{name},{Decimal(minor) / 100:.2f}" for name, minor in minor_units.items()]
        body = {"study_id": study, "csv_bonuses": "\n".join(lines)}
        return wire.bonus_batch(self._object("POST", "/submissions/bonus-payments/", body))

    def pay_bonuses(self, batch: str) -> None:
        """Pays a batch. Never called twice for one: Prolific would pay twice.

        After `NoReply` ask for the submissions' bonuses before anything else.
        """
        self._ask("POST", f"/bulk-bonus-payments/{batch}/pay/", tries=1)

    # --- Groups, messages, hooks -----------------------------------------------------------------

    def create_group(self, name: str, workspace: str) -> str:
        body = {"name": name, "workspace_id": workspace}
        return str(wire.needed(self._object("POST", "/participant-groups/", body), "id"))

    def event_types(self) -> list[str]:
        results = self._object("GET", "/hooks/event-types/").get("results", ())
        return [str(wire.needed(each, "event_type")) for each in results]

    def create_hook_secret(self, workspace: str) -> str:
        """A new secret for hooks' signatures; the workspace's old one is dead from now on."""
        return str(
            wire.needed(
                self._object("POST", "/hooks/secrets/", {"workspace_id": workspace}), "value"
            )
        )

    def subscribe(self, workspace: str, event_type: str, address: str) -> str:
        """Has events sent to an address, and confirms it; gives the subscription's id."""
        body = {"workspace_id": workspace, "event_type": event_type, "target_url": address}
        response = self._ask("POST", "/hooks/subscriptions/", body)
        reply = _json(response)
        one = reply[0] if isinstance(reply, list) and reply else reply
        name, secret = str(wire.needed(one, "id")), response.headers.get("X-Hook-Secret", "")
        self._ask("POST", f"/hooks/subscriptions/{name}/", {"secret": secret}, again=True)
        return name

    def unsubscribe(self, subscription: str) -> None:
        self._ask("DELETE", f"/hooks/subscriptions/{subscription}/", again=True)

    # --- Asking ----------------------------------------------------------------------------------

    def _object(
        self,
        method: str,
        path: str,
        body: wire.Json | None = None,
        *,
        query: Mapping[str, str] | None = None,
        again: bool = False,
    ) -> wire.Json:
        reply = _json(self._ask(method, path, body, query=query, again=again))
        if not isinstance(reply, dict):
            raise NoReply("Prolific's reply is not what its documentation says.")
        return reply

    def _pages(self, path: str, query: Mapping[str, str] | None = None) -> Iterator[wire.Json]:
        """Every entry of a list; a page after the last one is a 404, not an empty page."""
        page_query = {**(query or {}), "page": "1", "page_size": str(PAGE)}
        if not query:
            page_query = {"limit": str(PAGE), "offset": "0"}
        for number in range(MOST_PAGES):
            try:
                reply = self._object("GET", path, query=page_query)
            except Refused as refused:
                if number and refused.status == 404:
                    return
                raise
            yield from reply.get("results") or ()
            link = ((reply.get("_links") or {}).get("next") or {}).get("href")
            if not link:
                return
            following = dict(parse_qsl(str(link).partition("?")[2], keep_blank_values=True))
            if not following or following == page_query:
                return
            page_query = following  # only its query: the token goes nowhere else
        raise ProlificError(f"A list has more than {MOST_PAGES} pages: {path}")

    def _ask(
        self,
        method: str,
        path: str,
        body: wire.Json | None = None,
        *,
        query: Mapping[str, str] | None = None,
        again: bool = False,
        tries: int = TRIES,
    ) -> httpx.Response:
        """`again`: sending the same twice does what sending it once does."""
        tries = min(tries, self.tries)
        for number in range(1, tries + 1):
            try:
                return self._once(method, path, body, query)
            except OnHold:
                raise
            except NotSent:
                if number == tries:
                    raise
                asked_s = 0.0
            except NoReply as unknown:
                asked_s = unknown.retry_after_s
                is_harmless = again or method == "GET" or unknown.is_rate_limit
                may_repeat = is_harmless and unknown.may_pass and asked_s <= LONGEST_PAUSE_S
                if number == tries or not may_repeat:
                    raise
            pause_s = min(FIRST_PAUSE_S * 2 ** (number - 1), LONGEST_PAUSE_S)
            self.wait(max(pause_s * random.uniform(0.75, 1.25), asked_s))
            self.hold.write(0.0)  # it was kept just now
        raise AssertionError("unreachable")

    def _once(
        self, method: str, path: str, body: wire.Json | None, query: Mapping[str, str] | None
    ) -> httpx.Response:
        """One request. An answer is classified by `problem_of`, whatever was asked."""
        import httpx

        left_s = self.hold.read() - time.time()
        if left_s > 0:
            wait = f"{ceil(left_s)} s" if left_s < 60 else f"{ceil(left_s / 60)} min"
            raise OnHold(f"Prolific asked to wait: try again in {wait}.")
        try:
            url = f"{self.api}/api/v1{path}"
            response = self.http.request(method, url, json=body, params=query)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise NotSent(f"Prolific cannot be reached: {error}") from None
        except httpx.HTTPError as error:
            raise NoReply(f"Prolific's reply was lost: {type(error).__name__}") from None
        asked_s = 0.0
        if response.status_code in (429, 503):
            asked_s = seconds_to_wait(response.headers.get("Retry-After", ""))
        if asked_s > 0:
            self.hold.write(time.time() + asked_s)
        is_readable, read = _read(response)
        problem = problem_of(
            response.status_code, read, is_readable=is_readable, retry_after_s=asked_s
        )
        if problem is not None:
            raise problem
        return response


def _read(response: httpx.Response) -> tuple[bool, Any]:
    """Whether an answer is one of an API, and what it says: JSON, plain text, or nothing."""
    if not response.content.strip():
        return True, ""
    try:
        return True, response.json()
    except ValueError:
        kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        return kind == "text/plain", response.text.strip()[:500]


def _json(response: httpx.Response) -> Any:
    try:
        return response.json()
    except ValueError:
        return response.text.strip()[:500]


def _parts(ids: Sequence[str], most: int) -> Iterable[list[str]]:
    return (list(ids[start : start + most]) for start in range(0, len(ids), most))
