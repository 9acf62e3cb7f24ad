"""What a page does by itself is looked at within the page, at the very moment it does it.

Between two commands of a test any time may pass: a clip that was just begun may be at its end. So
the page notes what was true when something happened, and a test reads the notes afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Page

UNLOCKING = """() => {
    const fieldset = document.querySelector("fieldset.criterion");
    const audio = document.querySelector("audio");
    document.addEventListener("click", () => { window.askedMs ??= performance.now(); }, true);
    new MutationObserver(() => {
        if (fieldset.disabled || window.unlocked) return;
        const afterS = (performance.now() - window.askedMs) / 1000;
        window.unlocked = { placeS: audio.currentTime, afterS };
    }).observe(fieldset, { attributes: true, attributeFilter: ["disabled"] });
}"""
STATES = """(selector) => {
    window.states = [];
    document.querySelectorAll(selector).forEach((each, place) => {
        const note = () => window.states.push(`${place} ${each.dataset.state}`);
        const options = { attributes: true, attributeFilter: ["data-state"] };
        new MutationObserver(note).observe(each, options);
    });
}"""
WORDS = """([selector, name]) => {
    const place = document.querySelector(selector);
    window[name] = [];
    const note = () => {
        if (place.textContent !== window[name].at(-1)) window[name].push(place.textContent);
    };
    const options = { childList: true, characterData: true, subtree: true };
    new MutationObserver(note).observe(place, options);
}"""
PRESS_AT = """([clip, placeS, key]) => {
    const audio = document.querySelectorAll("audio")[clip];
    const options = { key, bubbles: true, cancelable: true };
    const look = () => {
        if (audio.paused || audio.currentTime <= placeS) setTimeout(look, 5);
        else document.activeElement.dispatchEvent(new KeyboardEvent("keydown", options));
    };
    look();
}"""

HIDE = """hidden => {
    const from = performance.now();
    Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
    return [from, performance.now()];
}"""


def note_unlocking(page: Page) -> None:
    """From now on: where the first clip stands when the answer unlocks, and how long that took."""
    page.evaluate(UNLOCKING)


def unlocking(page: Page) -> dict[str, float]:
    """`placeS` of the clip, `afterS` the first click; waits for it."""
    page.wait_for_function("() => window.unlocked")
    found: dict[str, float] = page.evaluate("window.unlocked")
    return found


def note_states(page: Page, selector: str) -> None:
    """From now on: every state that these players or segments come into."""
    page.evaluate(STATES, selector)


def was(page: Page, state: str, place: int = 0) -> None:
    """Waits until the player or segment at this place is in this state, or has been."""
    page.wait_for_function("(wanted) => window.states.includes(wanted)", arg=f"{place} {state}")


def note_words(page: Page, selector: str, name: str = "said") -> None:
    """From now on: every text that this place shows."""
    page.evaluate(WORDS, [selector, name])


def words(page: Page, name: str = "said") -> list[str]:
    found: list[str] = page.evaluate("(name) => window[name]", name)
    return found


def press_at(page: Page, key: str, place_s: float, clip: int = 0) -> None:
    """Presses a key as soon as this clip plays and is past this place: long before its end."""
    page.evaluate(PRESS_AT, [clip, place_s, key])


@contextmanager
def hidden(page: Page) -> Iterator[list[float]]:
    """The page is out of sight; afterwards the least and the longest time (ms) that it was."""
    bounds: list[float] = []
    before, after = page.evaluate(HIDE, True)
    yield bounds
    later, latest = page.evaluate(HIDE, False)
    bounds += [later - after, latest - before]
