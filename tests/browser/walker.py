"""A rater who takes a whole study in Chromium, answers all and remembers every click."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Locator, Page, expect

from listening.design.questionnaires import PREFER_NOT
from listening.sessions.simulated_raters.scripted_rater import RaterKnowledge

NEW = "#stage > :not([data-walked]):not(.view-wait):not(.loading)"
TAKEN = "el => { el.dataset.walked = 'yes'; return el.className }"
QUESTIONS = """() => [...document.querySelectorAll('fieldset.question')]
  .filter(each => each.checkVisibility()).map(each => ({
    kind: each.dataset.kind,
    key: (each.querySelector('input[name]')?.name ?? each.querySelector('[aria-labelledby]')
      .getAttribute('aria-labelledby')).replace(/^question-/, ''),
    limits: each.querySelector('[data-part=limits]').textContent,
    values: [...each.querySelectorAll('input[name]')].map(input => input.value),
  }))"""
REASON = "The pauses lie where a reader would breathe, and the last word falls."
COMMENT = "All went well; the second clip was rather short."

Look = Callable[[Page, str], None]


@dataclass
class Answered:
    """What was done on one trial."""

    labels: dict[str, str] = field(default_factory=dict)  # by criterion, or criterion.letter
    reason: str = ""
    training: bool = False
    questions: list[str] = field(default_factory=list)


@dataclass
class Walk:
    """All that the rater met and did, from consent to completion code."""

    session: str = ""
    questionnaires: dict[str, dict[str, Any]] = field(default_factory=dict)
    checks: dict[str, list[list[str]]] = field(default_factory=dict)  # answers of each attempt
    answered: list[Answered] = field(default_factory=list)
    examples: int = 0
    feedback: list[str] = field(default_factory=list)
    breaks: int = 0
    tasks: list[str] = field(default_factory=list)
    comment: str = ""
    code: str = ""
    outcome: str = ""
    stages: list[str] = field(default_factory=list)


def ignore(_page: Page, _name: str) -> None:
    """Nobody looks on."""


class Walker:
    """Goes from the landing page to the end; `look` sees the page at every stage."""

    def __init__(
        self, page: Page, landing: str, known: RaterKnowledge, *, seed: int = 0, look: Look = ignore
    ) -> None:
        self.page = page
        self.landing = landing
        self.known = known
        self.random = Random(f"walker/{seed}")
        self.look = look
        self.walk = Walk()
        self.touch = page.evaluate("navigator.maxTouchPoints") > 0

    def take(self) -> Walk:
        self.consent()
        while not self.walk.outcome:
            self.stage()
        return self.walk

    def stage(self) -> None:
        """Takes the stage that is on the screen."""
        present = self.page.locator(NEW)
        present.wait_for()
        shown = str(present.evaluate(TAKEN)).split()
        name = next(each for each in (*DOORS, shown[0]) if each in shown)
        self.walk.stages.append(name)
        DOORS[name](self)

    def state(self) -> dict[str, Any]:
        """What the house says just now: only for the keys of questionnaires and checks."""
        origin = "{0.scheme}://{0.netloc}".format(urlsplit(self.landing))
        answer = self.page.request.get(f"{origin}/api/s/{self.walk.session}/")
        assert answer.ok, answer.text()
        found: dict[str, Any] = answer.json()
        return found

    def press(self, place: Locator) -> None:
        if self.touch:
            place.tap()
        else:
            place.click()

    # --- Before the trials ---------------------------------------------------------------------

    def consent(self) -> None:
        page = self.page
        page.goto(self.landing)
        self.look(page, "landing")
        self.press(page.get_by_role("checkbox"))
        self.press(page.locator("#consent-form button.button-primary"))
        page.wait_for_url("**/s/*/")
        found = re.search(r"/s/(\w+)/", page.url)
        assert found
        self.walk.session = found[1]

    def questionnaire(self) -> None:
        key = self.state()["questionnaire"]["key"]
        avoided = self.known.avoided.get(key, {})
        given: dict[str, Any] = {}
        self.look(self.page, f"questionnaire-{key}")
        while question := next((q for q in self.questions() if q["key"] not in given), None):
            given[question["key"]] = self.answer_question(question, avoided)
        self.walk.questionnaires.setdefault(key, {}).update(given)  # it may come in two parts
        self.look(self.page, f"questionnaire-{key}-answered")
        asked = self.page.locator(f'[aria-labelledby="question-{next(iter(given))}"]')
        self.press(self.page.locator("[data-part=send]"))
        asked.first.wait_for(state="detached")

    def questions(self) -> list[dict[str, Any]]:
        """Those that are asked just now: an answer may bring others along."""
        found: list[dict[str, Any]] = self.page.evaluate(QUESTIONS)
        return found

    def answer_question(self, question: Mapping[str, Any], avoided: Mapping[str, Any]) -> Any:
        key = question["key"]
        field = self.page.locator(f'[aria-labelledby="question-{key}"]')
        if question["kind"] == "text":
            field.fill("Nothing to add.")
            return "Nothing to add."
        if question["kind"] == "number":
            (low, *_) = [*re.findall(r"-?\d+", question["limits"]), "1"]
            field.fill(low)
            return int(low)
        refused = {PREFER_NOT, *avoided.get(key, ())}
        value = self.random.choice([v for v in question["values"] if v not in refused])
        self.press(self.page.locator(f'label:has(input[name="question-{key}"][value="{value}"])'))
        if question["kind"] == "scale":
            return int(value)
        return [value] if question["kind"] == "many" else value

    def volume(self) -> None:
        page, key = self.page, self.state()["check"]["key"]
        self.look(page, f"check-{key}")
        self.press(page.locator(".player-button"))
        ready = page.locator("[data-part=confirm][aria-disabled=false]")
        ready.wait_for()
        self.look(page, f"check-{key}-heard")
        self.walk.checks.setdefault(key, []).append(["comfortable"])
        self.press(ready)

    def check(self) -> None:
        """Each sound is heard to its end and answered as the truth says."""
        page = self.page
        asked = self.state()["check"]
        key, attempt = asked["key"], asked["attempt"]
        answers = self.known.truths(self.walk.session, key, attempt)
        for place, value in enumerate(answers):
            first = f"check-{key}" if not place else ""
            name = re.compile(rf"{place + 1}\D+{len(answers)}")
            expect(page.locator(".player")).to_have_attribute("aria-label", name)
            self.hear(first)
            self.answer_sound(value)
            if first:
                self.look(page, f"{first}-answered")
            self.go_on()
        self.walk.checks.setdefault(key, []).append(answers)

    def answer_sound(self, value: str) -> None:
        field = self.page.locator("input.digits")
        if not field.count():
            self.press(self.page.locator(f'label:has(input[value="{value}"])'))
            return
        expect(field).to_be_focused()
        self.page.keyboard.type(value)

    # --- Between the trials --------------------------------------------------------------------

    def intro(self) -> None:
        """Reads the instructions and plays each example to its end."""
        page = self.page
        self.walk.tasks.append(page.locator(".view-intro h1").inner_text())
        self.look(page, f"intro-{len(self.walk.tasks)}")
        for example in page.locator(".view-intro .player").all():
            self.press(example.locator(".player-button"))
            expect(example).to_have_attribute("data-state", "heard")
            self.walk.examples += 1
        self.press(page.locator("[data-part=start]"))

    def feedback(self) -> None:
        page = self.page
        self.walk.feedback.append(page.locator("#feedback-text").inner_text())
        self.look(page, f"feedback-{len(self.walk.feedback)}")
        page.keyboard.press("Enter") if not self.touch else self.press(
            page.locator(".view-feedback [data-part=next]")
        )

    def rest(self) -> None:
        self.walk.breaks += 1
        self.look(self.page, "break")
        self.press(self.page.locator(".view-break [data-part=next]"))

    # --- Trials --------------------------------------------------------------------------------

    def trial(self) -> None:
        """Hears all clips in a row, then answers every question."""
        name = self.trial_name()
        self.hear(name)
        self.answer_all(name)

    def parallel(self) -> None:
        """Hears each clip of the screen, then moves every slider or places every clip."""
        page = self.page
        name = self.trial_name()
        self.look(page, name)
        for button in page.locator(".clip-button").all():
            if "heard" not in (button.get_attribute("class") or "").split():
                self.press(button)
                expect(button).to_have_class(re.compile(r"\bheard\b"))
        self.answer_all(name)

    def trial_name(self) -> str:
        widgets = self.page.locator("fieldset.criterion").evaluate_all(
            "all => all.map(each => each.dataset.widget)"
        )
        return f"trial-{len(self.walk.tasks)}-{'-'.join(dict.fromkeys(widgets))}"

    def hear(self, name: str) -> None:
        """Plays what the player holds to its end."""
        player = self.page.locator(".trial .player")
        if name:
            self.look(self.page, name)
        expect(player).to_have_attribute("data-state", "ready")
        self.press(player.locator(".player-button"))
        if name:
            self.page.wait_for_timeout(200)
            self.look(self.page, f"{name}-playing")
        expect(player).to_have_attribute("data-state", "heard")

    def answer_all(self, name: str) -> None:
        page = self.page
        given = Answered(training=page.locator("[data-part=practice]:visible").count() > 0)
        given.questions = page.locator("fieldset.criterion legend").all_inner_texts()
        for place, fieldset in enumerate(page.locator("fieldset.criterion").all()):
            widget = str(fieldset.get_attribute("data-widget"))
            labels = WIDGETS[widget](self, fieldset)
            given.labels |= {f"{place}{suffix}": label for suffix, label in labels.items()}
        if page.locator("#justification").count():
            given.reason = f"{REASON} {len(self.walk.answered) + 1}"  # none twice
            self.write_reason(given.reason)
        self.look(page, f"{name}-answered")
        self.walk.answered.append(given)
        self.go_on()

    def write_reason(self, reason: str) -> None:
        page = self.page
        if self.touch:
            page.locator("#justification").tap()
        else:
            page.locator("#stage").focus()
            page.keyboard.press("w")
        expect(page.locator("#justification")).to_be_focused()
        page.keyboard.type(reason)

    def go_on(self) -> None:
        button = self.page.locator(".trial [data-part=next]")
        expect(button).to_have_attribute("aria-disabled", "false")
        self.press(button)

    # --- Widgets: each returns what it was given, by suffix --------------------------------------

    def choose(self, fieldset: Locator) -> dict[str, str]:
        """One step: with its key where it has one and keys are at hand, else by pointing at it."""
        steps = fieldset.locator("input")
        step = steps.nth(self.random.randrange(steps.count()))
        key = step.get_attribute("data-hotkey")
        if key and not self.touch and self.random.random() < 0.5:
            self.page.keyboard.press(key)
        else:
            self.press(self.label_of(fieldset, step))
        expect(step).to_be_checked()
        return {"": str(step.get_attribute("value"))}

    def choose_many(self, fieldset: Locator) -> dict[str, str]:
        steps = fieldset.locator("input:not([data-apart])").all()
        chosen = sorted(self.random.sample(range(len(steps)), min(2, len(steps))))
        for place in chosen:
            self.press(self.label_of(fieldset, steps[place]))
        return {"": "|".join(str(steps[place].get_attribute("value")) for place in chosen)}

    def label_of(self, fieldset: Locator, step: Locator) -> Locator:
        value = str(step.get_attribute("value")).replace('"', '\\"')
        return fieldset.locator(f'label:has(input[value="{value}"])')

    def move(self, fieldset: Locator) -> dict[str, str]:
        return {"": self.slide(fieldset.locator("input[type=range]"))}

    def slide(self, slider: Locator) -> str:
        """By arrow keys from one end, or by pointing at the line."""
        if self.touch or self.random.random() < 0.5:
            box = slider.bounding_box()
            assert box
            share = self.random.uniform(0.1, 0.9)
            slider.click(position={"x": share * box["width"], "y": box["height"] / 2})
        else:
            slider.focus()
            self.page.keyboard.press("Home")
            for key in self.random.choices(("PageUp", "ArrowRight", "ArrowLeft"), k=7):
                self.page.keyboard.press(key)
        expect(slider).not_to_have_attribute("aria-valuetext", "no answer yet")
        return f"{float(slider.input_value()):g}"

    def move_all(self, fieldset: Locator) -> dict[str, str]:
        """The slider of each clip, by its letter."""
        rows = fieldset.locator(".rate-row").all()
        sliders = {f".{letter_of(row)}": row.locator("input[type=range]") for row in rows}
        answers = {letter: self.slide(slider) for letter, slider in sliders.items()}
        if self.page.locator("[data-part=hint-top]:visible").count():
            best = self.random.choice([*sliders])
            sliders[best].focus()
            self.page.keyboard.press("End")
            answers[best] = f"{float(sliders[best].input_value()):g}"
        return answers

    def place_all(self, fieldset: Locator) -> dict[str, str]:
        """Every clip into an order, the next free place each time."""
        letters = [letter_of(row) for row in fieldset.locator(".rank-row").all()]
        self.random.shuffle(letters)
        for letter in letters:
            row = fieldset.locator(".rank-row", has=self.page.get_by_text(letter, exact=True))
            self.press(row.locator("[data-part=up]"))
        order = [letter_of(row) for row in fieldset.locator("ol .rank-row").all()]
        assert order == letters
        return {f".{letter}": str(place) for place, letter in enumerate(letters, start=1)}

    def choose_ends(self, fieldset: Locator) -> dict[str, str]:
        """One clip as the best, another as the worst."""
        rows = fieldset.locator(".extreme-row").all()
        letters = [letter_of(row) for row in rows]
        best, worst = self.random.sample(range(len(rows)), 2)
        self.press(rows[best].locator("[data-part=best]"))
        self.press(rows[worst].locator("[data-part=worst]"))
        chosen = {best: "best", worst: "worst"}
        return {f".{letter}": chosen.get(k, "neither") for k, letter in enumerate(letters)}

    def write(self, fieldset: Locator) -> dict[str, str]:
        words = f"I heard {self.random.randint(2, 99)} words."
        fieldset.locator("textarea").fill(words)
        return {"": words}

    def mark(self, fieldset: Locator) -> dict[str, str]:
        """Mark the first word by key or by pointing, and words 2 to 3 as one."""
        words = fieldset.locator(".mark-word").all()
        kind = fieldset.locator(".mark-kind").first
        if self.touch:
            self.press(words[0])
            self.press(kind)
        else:
            words[0].focus()
            self.page.keyboard.press("1")
        marked = [f"1:{kind.get_attribute('value')}"]
        if len(words) > 2:
            self.press(words[1])
            self.press(words[2])
            self.press(kind)
            marked.append(f"2-3:{kind.get_attribute('value')}")
        expect(fieldset.locator(".mark-entry")).to_have_count(len(marked))
        return {"": " ".join(marked)}

    # --- The end -------------------------------------------------------------------------------

    def end(self) -> None:
        page = self.page
        expect(page.locator("#saved")).to_have_text("All answers saved")
        self.look(page, "end")
        if page.locator("#comment:visible").count():
            page.locator("#comment").fill(COMMENT)
            self.press(page.locator("[data-part=comment-send]"))
            expect(page.locator("[data-part=comment-told]")).to_contain_text("stored")
            self.walk.comment = COMMENT
            self.look(page, "end-commented")
        self.walk.code = page.locator("[data-part=code]").inner_text()
        self.walk.outcome = str(page.locator(".view-end").get_attribute("data-outcome"))

    def trouble(self) -> None:
        raise AssertionError(f"a dead end: {self.page.locator('.view-trouble').inner_text()}")


def letter_of(row: Locator) -> str:
    return row.locator("[data-part=letter]").inner_text()


DOORS: Mapping[str, Callable[[Walker], None]] = {
    "view-questionnaire": Walker.questionnaire,
    "view-check": Walker.volume,
    "view-check-trials": Walker.check,
    "view-intro": Walker.intro,
    "view-feedback": Walker.feedback,
    "view-break": Walker.rest,
    "view-trouble": Walker.trouble,
    "view-end": Walker.end,
    "parallel": Walker.parallel,
    "trial": Walker.trial,
}
WIDGETS: Mapping[str, Callable[[Walker, Locator], dict[str, str]]] = {
    "choice": Walker.choose,
    "alternatives": Walker.choose,
    "steps": Walker.choose,
    "many": Walker.choose_many,
    "slider": Walker.move,
    "text": Walker.write,
    "transcript": Walker.write,
    "marks": Walker.mark,
    "sliders": Walker.move_all,
    "ranking": Walker.place_all,
    "best_worst": Walker.choose_ends,
}
