"""A questionnaire of every kind of question, as study.toml has it, and as it is read."""

from __future__ import annotations

import tomllib
from typing import Any

from listening.design.studyfile import Problem
from listening.design.studyfile.problems import Notebook
from listening.design.studyfile.questionnaire_tables import read_questionnaires

ABOUT = """
[[questionnaires]]
key = "about"
title = "About you"

[[questionnaires.questions]]
key = "hearing"
question = "Is your hearing normal?"
kind = "one"
options = [{ value = "normal", text = "Yes" }, { value = "loss", text = "No" }]
prefer_not = true
screen_out = ["loss"]

[[questionnaires.questions]]
key = "aid"
question = "Do you wear a hearing aid?"
kind = "one"
options = ["yes", "no"]
show_if = { question = "hearing", answers = ["loss"] }

[[questionnaires.questions]]
key = "aid_kind"
question = "Which one?"
kind = "text"
longest = 20
required = false
show_if = { question = "aid", answers = ["yes"] }

[[questionnaires.questions]]
key = "age"
question = "How old are you?"
kind = "number"
low = 18
high = 99
prefer_not = true

[[questionnaires.questions]]
key = "languages"
question = "Which languages do you speak?"
kind = "many"
options = ["English", "Chinese", "French"]
prefer_not = true
required = false

[[questionnaires.questions]]
key = "tired"
question = "How tired are you?"
kind = "scale"
low = 1
high = 5
options = [{ value = 1, text = "wide awake" }, { value = 5, text = "very tired" }]
"""


def read(toml: str) -> tuple[tuple[dict[str, Any], ...], list[Problem]]:
    notes = Notebook()
    return read_questionnaires(tomllib.loads(toml)["questionnaires"], notes), notes.in_order()


def about() -> dict[str, Any]:
    (found,), problems = read(ABOUT)
    assert problems == []
    return found
