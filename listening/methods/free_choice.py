"""One clip and a question of the study's own: one or many choices, a slider, or text."""

from collections.abc import Mapping, Sequence
from typing import Any

from listening.methods.estimand import FREE_ANSWER, Estimand
from listening.methods.method import (
    JOINT,
    LONGEST_LABEL,
    Method,
    Options,
    Scale,
    Step,
    gettext_noop,
    names_in,
    slider_scale,
)

MOST_CHOICES = 50
LONGEST_CHOICE = 80
MOST_POSITIONS = 1000
LIKE = 'choices is a list, like ["yes", "no"] or [{ label = "yes", text = "Yes!", score = 1 }]'
KINDS = ("choices", "slider", "text")


class FreeChoice(Method):
    key = "free_choice"
    title = "Free choice"
    estimand = Estimand(
        key="choice",
        name="Choice",
        phrase="the mean of the choices",
        axis="Mean of the choices",
        comparison=FREE_ANSWER,
        ceilings=False,
    )
    standard = "The study's own question: shares of the choices, and a mean where they have scores"
    offers_choices = True
    default_question = gettext_noop("What do you hear?")
    default_criteria = (("choice", default_question, {}),)

    def scale(self, options: Options) -> Scale:
        kinds = [kind for kind in KINDS if options.get(kind) not in (None, False)]
        if len(kinds) != 1:
            raise ValueError(
                "free_choice needs one of choices = […], slider = [low, high, step], text = true"
            )
        if kinds == ["text"]:
            return Scale((), "text", longest=_longest(options))
        if kinds == ["slider"]:
            return _slider(options["slider"], names_in(options))
        many = options.get("many", False)
        if not isinstance(many, bool):
            raise ValueError(f"many is true or false, not {many!r}")
        steps = _steps(options["choices"], many)
        return Scale(steps, "many" if many else "choice")


def _longest(options: Options) -> int:
    if options["text"] is not True:
        raise ValueError(f"text is true or false, not {options['text']!r}")
    longest = options.get("longest", 500)
    if type(longest) is not int or not 1 <= longest <= LONGEST_LABEL:
        raise ValueError(f"longest is a whole number from 1 to {LONGEST_LABEL}, not {longest!r}")
    return longest


def _steps(choices: Any, many: bool) -> tuple[Step, ...]:
    if not isinstance(choices, list | tuple):
        raise ValueError(LIKE)
    if not 2 <= len(choices) <= MOST_CHOICES:
        raise ValueError(f"there are 2 to {MOST_CHOICES} choices, not {len(choices)}")
    steps = tuple(_step(choice, place) for place, choice in enumerate(choices, start=1))
    labels = [step.label for step in steps]
    if twice := next((label for label in labels if labels.count(label) > 1), ""):
        raise ValueError(f"the choice “{twice}” is there twice")
    scored = [step.score is not None for step in steps]
    if many and any(scored):
        raise ValueError("where many may be chosen, a choice has no score")
    if any(scored) and not all(scored):
        raise ValueError("give every choice a score, or none")
    return steps


def _step(choice: Any, place: int) -> Step:
    entry = {"label": choice} if isinstance(choice, str) else choice
    if not isinstance(entry, Mapping) or not set(entry) <= {"label", "text", "score"}:
        raise ValueError(LIKE)
    label, text, score = entry.get("label"), entry.get("text", ""), entry.get("score")
    if not isinstance(label, str) or not isinstance(text, str):
        raise ValueError(LIKE)
    if not 0 < len(label) <= LONGEST_CHOICE or JOINT in label:
        raise ValueError(f"a label has 1 to {LONGEST_CHOICE} characters and no {JOINT}: “{label}”")
    if isinstance(score, bool) or not isinstance(score, int | float | None):
        raise ValueError(f"the score of “{label}” is no number")
    number = None if score is None else float(score)
    return Step(label, number, text or label, str(place) if place <= 9 else "")


def _slider(span: Any, names: Mapping[str, str]) -> Scale:
    like = "slider is [low, high, step], like [0, 100, 1]"
    if not isinstance(span, Sequence) or isinstance(span, str) or len(span) != 3:
        raise ValueError(like)
    if not all(isinstance(n, int | float) and not isinstance(n, bool) for n in span):
        raise ValueError(like)
    low, high, step = (float(n) for n in span)
    if step <= 0 or not low < high or max(abs(low), abs(high)) >= 1e5:
        raise ValueError(like)
    count = (high - low) / step
    if abs(count - round(count)) > 1e-6 or count > MOST_POSITIONS:
        raise ValueError(f"the steps of a slider fit it, and are at most {MOST_POSITIONS}")
    return slider_scale(low, high, step, names)
