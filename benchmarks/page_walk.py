"""What a rater does on a session page, with the clocks of the probe running."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import Page

READY = """() => {
    const player = document.querySelector('.trial :is(.player, .deck)');
    const button = player.querySelector('[data-part=toggle]');
    return player.dataset.state === 'ready' && button.getAttribute('aria-disabled') !== 'true'
        && document.querySelector('.trial [data-part=title]').textContent !== %s;
}"""
OPENING = """
    probe.watch("begin", () => {
        document.querySelector(".view-intro [data-part=start]").click();
        return true;
    });
    probe.watch("progress", () => {
        const player = document.querySelector(".trial :is(.player, .deck)");
        const bar = player.querySelector("progress")?.value > 0;
        return bar || /[1-9] ?%%/.test(player.textContent) || player.dataset.state === "ready";
    });
    probe.watch("ready", %s);
""" % (READY % "''")
PATIENCE_MS = 120_000


@dataclass
class Trial:
    """What one trial took, in milliseconds."""

    playing_ms: float | None = None  # the audio element says that it plays
    sound_ms: float | None = None  # the first loud sample came out of the page's sound
    next_ms: float | None = None  # from "Next" to the next trial with its button, painted


@dataclass
class Walk:
    """One rater's way through several trials."""

    page: Page
    url: str
    trials: list[Trial] = field(default_factory=list)
    pressed: float = 0.0  # when play was pressed, on the page's clock

    def begin(self) -> None:
        self.page.goto(self.url)
        self.page.get_by_role("button", name="Begin").click()
        self.page.locator(":is(.player, .deck)[data-state=ready]").wait_for()
        self.page.wait_for_timeout(600)  # a rater reads before the first tap

    @property
    def parallel(self) -> bool:
        return self.page.locator(".trial.parallel").count() > 0

    def trial(self) -> Trial:
        """Plays, hears, answers and goes on."""
        found = Trial()
        self.trials.append(found)
        self.tap()
        self.page.locator(".trial .player-button").first.click()
        self.pressed = self.page.evaluate("probe.marks.last_click")
        self.hear()
        self.sound(found)
        self.answer()
        self.go_on(found)
        return found

    def tap(self) -> None:
        """Records what will sound, and when the audio element says that it plays."""
        self.page.evaluate(
            """() => {
                probe.marks.playing = undefined;
                const note = () => { probe.marks.playing ??= performance.now(); };
                for (const audio of document.querySelectorAll(".trial audio"))
                    audio.addEventListener("playing", note);
            }"""
        )
        self.page.evaluate("probe.tapGraph()" if self.parallel else "probe.tapElements()")
        self.page.wait_for_timeout(150)

    def sound(self, found: Trial) -> None:
        page, clicked = self.page, self.pressed
        playing = page.evaluate("probe.marks.playing ?? null")
        first = page.evaluate("(after) => probe.firstSound(after)", clicked)
        page.evaluate("probe.untap()")
        if playing is not None:
            found.playing_ms = playing - clicked
        if first is not None:
            found.sound_ms = first["came"] - clicked

    def hear(self) -> None:
        """All of it: one clip after the other, or each of those that play together."""
        page = self.page
        if not self.parallel:
            page.locator(".player[data-state=heard]").wait_for(timeout=PATIENCE_MS)
            return
        for button in page.locator(".clip-button").all():
            if "sounding" not in (button.get_attribute("class") or ""):
                button.click()
            page.wait_for_function(
                "(b) => b.classList.contains('heard')", arg=button.element_handle()
            )

    def answer(self) -> None:
        page = self.page
        for fieldset in page.locator("fieldset.criterion").all():
            labels = fieldset.locator("label:has(input[type=radio])")
            if labels.count():
                labels.nth(1).click()
        for slider in page.get_by_role("slider", name=re.compile(", score$")).all():
            slider.fill("60")
        if page.locator("textarea").count():
            page.locator("textarea").fill("The pause before the name is too even.")

    def go_on(self, found: Trial) -> None:
        """Presses "Next" and waits for the trial that follows."""
        page = self.page
        page.locator("[data-part=next][aria-disabled=false]").wait_for()
        page.wait_for_timeout(300)
        title = page.evaluate("document.querySelector('.trial [data-part=title]').textContent")
        question = READY % json.dumps(title)
        page.evaluate(f"delete probe.marks.next; probe.watch('next', {question})")
        page.locator("[data-part=next]").click()
        page.wait_for_function("probe.marks.next")
        marks: dict[str, Any] = page.evaluate("probe.marks")
        found.next_ms = marks["next"] - marks["last_click"]
