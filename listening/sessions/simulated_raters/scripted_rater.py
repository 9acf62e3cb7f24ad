"""A simulated rater, from arrival to the end; and many of them at once.

Each arrives, consents, passes the checks, listens, answers, and leaves.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random
from typing import Any
from urllib.parse import urlsplit

from listening.sessions.simulated_raters.browser import Browser, Page, Unreachable
from listening.sessions.simulated_raters.opinions import (
    KnownClip,
    Opinions,
    Truth,
    agent_reason,
    lazy_reason,
    question_answers,
    reason,
    trial_answers,
    typing_facts,
)

DEVICES = (
    "Mozilla/5.0 (X11; Linux x86_64) Chrome/140.0 ScriptedRater/1",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Mobile Safari/604.1 ScriptedRater/1",
    "Mozilla/5.0 (Linux; Android 15; Pixel 9) Chrome/140.0 Mobile Safari/537.36 ScriptedRater/1",
)
SIGN_THEIR_REQUESTS = 0.5  # of agents; the others hide
AGENT_MARKS = {"driven": True, "pointer_jumps": 3, "scripted_events": 2}  # as the page reports them
State = dict[str, Any]


@dataclass(frozen=True)
class RaterKnowledge:
    """What simulated raters are told beforehand, because they have no ears."""

    clip_of: Callable[[str, str], KnownClip | None]  # behind an address: session, address
    truths: Callable[[str, str, int], list[str]]  # of a check: session, key, attempt
    avoided: Mapping[str, Mapping[str, Sequence[str]]]  # answers that end a session, by question


class Kind(StrEnum):
    CAREFUL = "careful"
    CARELESS = "careless"  # answers at random, without listening
    LEAVER = "leaver"  # stops half-way and never comes back
    RETURNER = "returner"  # stops half-way and comes back, maybe on another device
    DOUBLE = "double-clicker"  # sends every answer twice at once
    WITHDRAWER = "withdrawer"  # withdraws half-way
    AGENT = "agent"  # a program as agents are in the field: drives a browser, writes at once


@dataclass
class Report:
    """What became of one scripted rater."""

    kind: Kind
    end: str = "failed"  # an outcome, "dropped out", "turned away" or "failed"
    why: str = ""
    session: str = ""
    acknowledged: set[str] = field(default_factory=set)  # codes of trials whose answer is stored
    repeats: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    trouble: Counter[str] = field(default_factory=Counter)


class Lost(Exception):
    """The rater cannot go on; the message says why."""


class ScriptedRater:
    """Takes one study through its pages, as its kind does."""

    def __init__(
        self,
        base_url: str,
        landing: str,
        known: RaterKnowledge,
        opinions: Opinions,
        kind: Kind = Kind.CAREFUL,
        *,
        away_s: float = 0.5,
        tls: ssl.SSLContext | bool = True,
    ) -> None:
        self.base_url = base_url
        self.tls = tls
        self.landing = landing
        self.known = known
        self.opinions = opinions
        self.kind = kind
        self.away_s = away_s
        self.random = Random(f"{opinions.own}/manners")
        self.report = Report(kind)
        self.heard: dict[str, KnownClip] = {}
        self.browser = self._new_browser()
        self.stops_at = 2.0  # as a share of all trials; above 1: never
        if kind in (Kind.LEAVER, Kind.RETURNER, Kind.WITHDRAWER):
            self.stops_at = self.random.uniform(0.2, 0.8)

    async def take(self) -> Report:
        """From the landing page to the end; whatever goes wrong ends up in the report."""
        try:
            state = await self._arrive()
            if state is not None:
                await self._go_through(state)
        except (Lost, Unreachable) as error:
            self.report.why = str(error)
        finally:
            await self.browser.close()
        return self.report

    def _new_browser(self) -> Browser:
        agent = self.random.choices(DEVICES, weights=(6, 2, 2))[0]
        browser = Browser.at(self.base_url, agent, self.report.trouble, self.tls)
        if self.kind is Kind.AGENT and self.random.random() < SIGN_THEIR_REQUESTS:
            browser.client.headers["Signature-Agent"] = '"https://agent.example"'
        return browser

    # --- Pages ---------------------------------------------------------------------------------

    async def _arrive(self) -> State | None:
        """Consents on the landing page; None when the study takes nobody."""
        page = await self.browser.page(self.landing)
        if page.status == 404:
            raise Lost("the server does not know this study's link")
        form = page.form_with("consent")
        if form is None:
            self.report.end, self.report.why = "turned away", page.headline
            return None
        page = await self.browser.submit(page, form, {})
        if "state" not in page.data and page.status < 500:
            self.report.end, self.report.why = "turned away", page.headline
            return None
        return await self._run_scripts(page)

    async def _run_scripts(self, page: Page) -> State:
        """Read the state of a session's page and report, as its scripts do, that they run."""
        if "state" not in page.data:
            raise Lost(f"no session page but {page.status} “{page.headline}”")
        self.report.session = urlsplit(page.url).path.strip("/").rpartition("/")[2]
        state: State = page.data["state"]
        if state["stage"] != "end":
            await self.browser.post_json(f"/api/s/{self.report.session}/loaded/", {})
        return state

    async def _reload(self) -> State:
        return await self._run_scripts(await self.browser.page(f"/s/{self.report.session}/"))

    async def _come_back(self) -> State:
        """After a while: by the study's link, or with the session's address on another device."""
        await asyncio.sleep(self.away_s)
        session = self.report.session
        if self.random.random() < 0.5:
            state = await self._run_scripts(await self.browser.page(self.landing))
        else:
            await self.browser.close()
            self.browser = self._new_browser()
            state = await self._reload()
        if self.report.session != session:
            raise Lost("came back and was given another session")
        return state

    # --- The session ---------------------------------------------------------------------------

    async def _go_through(self, state: State) -> None:
        steps_left = 4 * int(state["progress"]["total"]) + 40
        while state["stage"] != "end":
            steps_left -= 1
            if steps_left < 0:
                raise Lost("the session did not come to an end")
            if state["stage"] == "check":
                state = await self._pass_check(state)
            elif state["stage"] == "questionnaire":
                state = await self._answer_questions(state)
            elif self._stops_now(state):
                if self.kind is Kind.LEAVER:
                    self.report.end = "dropped out"
                    return
                state = await self._stop(state)
            else:
                state = await self._answer(state)
        self.report.end = str(state["end"]["outcome"])

    def _stops_now(self, state: State) -> bool:
        progress = state["progress"]
        return bool(progress["done"] >= self.stops_at * progress["total"])

    async def _stop(self, state: State) -> State:
        self.stops_at = 2.0
        if self.kind is Kind.RETURNER:
            return await self._come_back()
        return await self._post("withdraw", {"confirm": True})

    async def _pass_check(self, state: State) -> State:
        """Every sound is fetched; careless raters fail what can be failed."""
        check = state["check"]
        for url in filter(None, [check["clip"], *(trial["clip"] for trial in check["trials"])]):
            await self.browser.clip(url)
        answer: State = {"comfortable": True}
        if check["kind"] != "volume":
            truths = self.known.truths(self.report.session, check["key"], check["attempt"])
            answer = {"answers": truths}
        return await self._post("checks", {"key": check["key"], "answer": answer})

    async def _answer_questions(self, state: State) -> State:
        questionnaire = state["questionnaire"]
        avoided = self.known.avoided.get(questionnaire["key"], {})
        answers = question_answers(questionnaire, avoided, self.opinions)
        return await self._post("questionnaires", {"key": questionnaire["key"], "answers": answers})

    async def _answer(self, state: State) -> State:
        trial = state["trials"][0]
        task = next(t for t in state["tasks"] if t["index"] == trial["task"])
        clips = [await self._hear(url) for url in trial["clips"]]
        body = self._answer_body(trial, task, clips)
        if self.kind is not Kind.DOUBLE:
            return await self._post("answers", body)
        states = await asyncio.gather(self._post("answers", body), self._post("answers", body))
        return max(states, key=lambda s: (s["stage"] == "end", s["progress"]["done"]))

    async def _hear(self, url: str) -> KnownClip:
        if url not in self.heard:
            await self.browser.clip(url)
            known = self.known.clip_of(self.report.session, url)
            if known is None:
                raise Lost("heard a clip that is not among the study's stimuli")
            self.heard[url] = known
        return self.heard[url]

    def _answer_body(self, trial: State, task: State, clips: list[KnownClip]) -> State:
        careless = self.kind is Kind.CARELESS
        labels = trial_answers(self.opinions, trial, task, clips, careless=careless)
        plays = min(self.random.choice((1, 1, 1, 2)), task["playback"].get("plays", 2))
        return {
            "trial": trial["id"],
            "answers": labels,
            "justification": self._justification(task, next(iter(labels.values()))),
            "latency_ms": int(self.random.lognormvariate(8.0, 0.5)),
            "plays": plays * len(clips),
            "heard_fraction": 1.0,
            "playback": self._playback(task, clips, plays),
        }

    def _playback(self, task: State, clips: Sequence[KnownClip], plays: int) -> State:
        """Return the playback facts that the page sends with an answer."""
        durations = [round(clip.duration_s, 3) for clip in clips]
        facts = {
            **dict.fromkeys(("stalls", "stalled_ms", "hidden_ms", "device_changes"), 0),
            **dict.fromkeys(("reloads", "pointer_jumps", "scripted_events", "blocked"), 0),
            **dict.fromkeys(("silent", "skips", "decode_errors", "load_failures"), 0),
            **{"driven": False, "translated": False, "streamed": False, "rate": 1},
            **{"sample_rate_hz": 48_000, "channels": 2, "heard_s": durations},
            **{"duration_s": durations, "plays_each": [plays] * len(clips)},
            "starts_each": [plays] * len(clips),
        }
        if task["playback"].get("reference_first"):
            facts |= {"reference_heard_ms": 2000, "first_rated_ms": 2400}
        return facts | (AGENT_MARKS if self.kind is Kind.AGENT else {})

    def _justification(self, task: State, label: str) -> State | None:
        rules = task["justification"]
        if not rules or not (rules["required"] or self.random.random() < 0.3):
            return None
        careless = self.kind is Kind.CARELESS
        min_chars = int(rules["min_chars"])
        if self.kind is Kind.AGENT:
            return agent_reason(label, min_chars)
        text = (
            lazy_reason(self.random, min_chars)
            if careless
            else reason(self.random, label, min_chars)
        )
        pasted = careless and self.random.random() < 0.4
        return {"text": text, **typing_facts(self.random, text, pasted=pasted)}

    # --- The API -------------------------------------------------------------------------------

    async def _post(self, door: str, body: State) -> State:
        """The state after the call; a refusal is counted, and the state it brings is followed."""
        url = f"/api/s/{self.report.session}/{door}/"
        status, answer = await self.browser.post_json(url, body)
        if status in (200, 201):
            if door != "answers":
                return answer
            self.report.acknowledged.add(body["trial"])
            self.report.repeats += bool(answer["repeat"])
            state: State = answer["state"]
            return state
        self.report.refused[f"{status} {answer.get('error', '')}".strip()] += 1
        if sum(self.report.refused.values()) > 20:
            raise Lost(f"refused too often, last: {answer.get('message', status)}")
        return answer.get("state") or await self._reload()


@dataclass(frozen=True)
class Shares:
    """The part of the crowd that is of each kind; all others are careful."""

    careless: float = 0.10
    leaver: float = 0.10
    returner: float = 0.05
    double: float = 0.05
    withdrawer: float = 0.02
    agent: float = 0.0

    def by_kind(self) -> dict[Kind, float]:
        return {
            Kind.CARELESS: self.careless,
            Kind.LEAVER: self.leaver,
            Kind.RETURNER: self.returner,
            Kind.DOUBLE: self.double,
            Kind.WITHDRAWER: self.withdrawer,
            Kind.AGENT: self.agent,
        }


def planned_kinds(raters: int, shares: Shares, seed: int) -> list[Kind]:
    """The kind of each rater: the shares rounded to whole raters, in an order given by the seed."""
    kinds = [kind for kind, share in shares.by_kind().items() for _ in range(round(raters * share))]
    if min(shares.by_kind().values()) < 0 or len(kinds) > raters:
        raise ValueError("the shares must be at least 0 and add up to at most 1")
    kinds += [Kind.CAREFUL] * (raters - len(kinds))
    Random(f"{seed}/kinds").shuffle(kinds)
    return kinds


@dataclass
class Summary:
    """The reports of a whole crowd, counted."""

    reports: Sequence[Report]
    seconds: float = 0.0
    trouble: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        for report in self.reports:
            self.trouble.update(report.trouble)
            self.refused.update(report.refused)

    @property
    def acknowledged(self) -> set[str]:
        """Codes of all trials whose answer the server said it has stored."""
        return {code for report in self.reports for code in report.acknowledged}

    @property
    def withdrawn(self) -> set[str]:
        """Those of raters who withdrew afterwards: their answers are deleted, as promised."""
        acknowledged = [r.acknowledged for r in self.reports if r.end == "withdrawn"]
        return {code for codes in acknowledged for code in codes}

    @property
    def ends(self) -> dict[Kind, Counter[str]]:
        table: dict[Kind, Counter[str]] = {}
        for report in self.reports:
            table.setdefault(report.kind, Counter())[report.end] += 1
        return table

    @property
    def failures(self) -> Counter[str]:
        return Counter(report.why for report in self.reports if report.end == "failed")


async def send_crowd(
    base_url: str,
    landing: str,
    known: RaterKnowledge,
    truth: Truth,
    kinds: Sequence[Kind],
    *,
    concurrency: int = 16,
    tls: ssl.SSLContext | bool = True,
) -> Summary:
    """Every rater takes the study once; at most `concurrency` of them at the same time."""
    places = asyncio.Semaphore(concurrency)
    began = time.monotonic()

    async def one(number: int, kind: Kind) -> Report:
        async with places:
            rater = ScriptedRater(base_url, landing, known, Opinions(truth, number), kind, tls=tls)
            return await rater.take()

    reports = await asyncio.gather(*(one(n, kind) for n, kind in enumerate(kinds)))
    return Summary(reports, seconds=time.monotonic() - began)
