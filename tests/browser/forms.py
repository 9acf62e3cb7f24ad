"""A fake house that asks before the trials: real questionnaires, and checks with several sounds."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from typing import Any

from listening.design import questionnaires
from listening.design.studyfile.problems import Notebook
from listening.design.studyfile.questionnaire_tables import read_questionnaires
from tests.browser.fake import House
from tests.browser.sounds import tone
from tests.browser.story import Story, short_story

ABOUT = """
[[questionnaires]]
key = "about"
title = "About you"
text = "We ask these questions to describe the group of raters, never single people."
use = ["demographics", "hearing"]

[[questionnaires.questions]]
key = "hearing"
screen_out = ["loss"]

[[questionnaires.questions]]
key = "years"
question = "For how many years have you spoken English?"
kind = "number"
low = 0
high = 99
prefer_not = true

[[questionnaires.questions]]
key = "devices"
question = "Which of these do you own?"
help = "Choose all that you use at least once a week."
kind = "many"
options = ["Smart speaker", "Car with voice control", "None of them", "A screen reader"]
prefer_not = true

[[questionnaires.questions]]
key = "tired"
question = "How tired are you now?"
kind = "scale"
low = 1
high = 7
options = [{ value = 1, text = "wide awake" }, { value = 7, text = "very tired" }]
required = false

[[questionnaires.questions]]
key = "notes"
question = "What should we know about the place where you are?"
kind = "text"
longest = 400
required = false
"""
HUGGINS = {
    "key": "huggins",
    "kind": "choices",
    "title": "Are your headphones on?",
    "text": "Each sound has three bursts of noise. In one of them hides a faint tone, which only "
    "headphones let through. Say which one.",
    "question": "Which burst has the tone?",
    "options": [
        {"value": str(n), "text": text, "hotkey": str(n)}
        for n, text in enumerate(("First", "Second", "Third"), start=1)
    ],
}
ANTIPHASE = HUGGINS | {
    "key": "antiphase",
    "question": "Which tone is the softest?",
    "title": "Which one is softest?",
}
DIGITS = {
    "key": "digits",
    "kind": "digits",
    "title": "Numbers in noise",
    "text": "You hear three digits in noise. Type them in; guess when you are not sure.",
    "question": "Which three digits did you hear?",
    "options": [],
}


def read(toml: str) -> list[dict[str, Any]]:
    notes = Notebook()
    found = read_questionnaires(tomllib.loads(toml)["questionnaires"], notes)
    assert not len(notes), notes.in_order()
    return list(found)


@dataclass
class Requirements:
    """A check as the house gives it: who knows `right` passes, the others try once more."""

    check: dict[str, Any]
    right: tuple[str, ...]
    attempts: int = 2

    @property
    def key(self) -> str:
        return str(self.check["key"])


@dataclass
class FormsHouse(House):
    """Questionnaires first, then checks, then the trials of the story."""

    story: Story = field(default_factory=lambda: short_story(1))
    forms: list[dict[str, Any]] = field(default_factory=list)
    checks: list[Requirements] = field(default_factory=list)
    answered: dict[str, dict[str, Any]] = field(default_factory=dict)
    tries: dict[str, list[list[str]]] = field(default_factory=dict)
    screened: str = ""

    def __post_init__(self) -> None:
        for place in range(4):
            self.story.clips[f"k{place}"] = tone(0.5, 200.0 + 40 * place)

    def state(self) -> dict[str, Any]:
        state = super().state()
        form = next((f for f in self.forms if f["key"] not in self.answered), None)
        check = next((c for c in self.checks if not self.done(c)), None)
        if self.screened:
            self.outcome = "screened_out"
            end = self.end() | {"text": "Thank you. You are not asked to go on."}
            return state | {"stage": "end", "trials": [], "check": None, "end": end}
        if form:
            shown = {"stage": "questionnaire", "questionnaire": questionnaires.page(form)}
            return state | shown | {"trials": [], "check": None}
        if check:
            return state | {"stage": "check", "check": self.page_of(check), "trials": []}
        return state

    def done(self, check: Requirements) -> bool:
        tries = self.tries.get(check.key, [])
        return tuple(tries[-1]) == check.right if tries else False

    def page_of(self, check: Requirements) -> dict[str, Any]:
        tries = self.tries.get(check.key, [])
        one = {name: check.check[name] for name in ("question", "options")}
        right = sum(map(str.__eq__, tries[-1], check.right)) if tries else 0
        return {name: check.check[name] for name in ("key", "kind", "title", "text")} | {
            "attempt": len(tries) + 1,
            "attempts": check.attempts,
            "feedback": f"{right} of {len(check.right)} were right. Try again." if tries else "",
            "clip": None,
            "trials": [{**one, "clip": f"/c/k{place}"} for place in range(len(check.right))],
        }

    def form(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]] | None:
        if path.endswith("/questionnaires/"):
            self.posts.append(body)
            return self.filled(body)
        if path.endswith("/checks/") and "answers" in body["answer"]:
            self.posts.append(body)
            return self.tried(body)
        return None

    def filled(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        (form,) = (f for f in self.forms if f["key"] == body["key"])
        try:
            kept = questionnaires.checked(form, body["answers"])
        except questionnaires.Incorrect as wrong:
            return 422, {"error": "malformed", "message": "Check again.", "fields": wrong.fields}
        self.answered[body["key"]] = kept
        self.screened = questionnaires.screens_out(form, kept)
        return 200, self.state()

    def tried(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        (check,) = (c for c in self.checks if c.key == body["key"])
        tries = self.tries.setdefault(check.key, [])
        if body["answer"]["attempt"] == len(tries) + 1:
            tries.append(body["answer"]["answers"])
        if not self.done(check) and len(tries) >= check.attempts:
            self.screened = f"check {check.key}"
        return 200, self.state()
