"""axe-core asked about a page: what it finds, how grave it is, and where."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import axe_playwright_python
from playwright.sync_api import Page

SCRIPT = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
GRAVE = ("serious", "critical")
# What fades in is faint at first. The mark of the place in a playing clip may move on, and so may
# what turns for ever.
SETTLED = """
    const moving = () => document.getAnimations().some((a) => a.playState === "running"
        && (a instanceof CSSTransition || a instanceof CSSAnimation)
        && a.effect.getTiming().iterations !== Infinity);
    while (moving()) await new Promise((resolve) => setTimeout(resolve, 20));
"""
RUN = (
    """async ([part, rules]) => {
    """
    + SETTLED
    + """
    const only = rules ? { runOnly: { type: "rule", values: rules } } : {};
    const found = await axe.run(part ?? document, { resultTypes: ["violations"], ...only });
    return found.violations.map(({ id, impact, nodes }) => ({ id, impact,
        places: nodes.map((node) => `${node.target.join(" ")}: ${node.failureSummary}`) }));
}"""
)
OF_COLOURS = ["color-contrast", "link-in-text-block"]  # all that can differ on a dark page
CONTROLS = {
    *("button", "checkbox", "combobox", "disclosureTriangle", "link", "radio", "searchbox"),
    *("slider", "spinbutton", "switch", "tab", "textbox"),
}


@dataclass
class Report:
    """Findings of all stages that were looked at."""

    grave: list[str] = field(default_factory=list)
    moderate: dict[str, set[str]] = field(default_factory=dict)
    stages: list[str] = field(default_factory=list)

    def look(self, page: Page, stage: str, part: str | None = None) -> None:
        """Asks axe-core about the page as it stands, and for controls without a name.

        `part` is a selector, of what is new on a page that was looked at before.
        """
        self._ask(page, stage, part)
        self.grave += [f"{stage}: a {role} has no name" for role in nameless(page)]

    def look_in_both_schemes(self, page: Page, stage: str) -> None:
        """The same of a light page and, of its colours, of the dark one at the same place."""
        self.look(page, stage)
        with darkened(page):
            self._ask(page, f"{stage}, dark", rules=OF_COLOURS)

    def _ask(
        self, page: Page, stage: str, part: str | None = None, rules: list[str] | None = None
    ) -> None:
        self.stages.append(stage)
        if not page.evaluate("() => 'axe' in window"):
            page.evaluate(SCRIPT)
        for found in page.evaluate(RUN, [part, rules]):
            if found["impact"] in GRAVE:
                self.grave += [f"{stage}: {found['id']}: {place}" for place in found["places"]]
            else:
                self.moderate.setdefault(found["id"], set()).add(stage)


@contextmanager
def darkened(page: Page) -> Iterator[None]:
    """A light page as who wants it dark sees it."""
    page.emulate_media(color_scheme="dark")
    assert page.evaluate("() => matchMedia('(prefers-color-scheme: dark)').matches")
    page.evaluate(f"async () => {{ {SETTLED} }}")
    yield
    page.emulate_media(color_scheme="light")
    page.evaluate(f"async () => {{ {SETTLED} }}")


def nameless(page: Page) -> list[str]:
    """Roles of controls that a screen reader meets without a name."""
    session = page.context.new_cdp_session(page)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    session.detach()
    met = [node for node in nodes if not node.get("ignored")]
    roles = [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in met]
    assert any(role in CONTROLS for role, _name in roles) or len(roles) < 50
    return [role for role, name in roles if role in CONTROLS and not name.strip()]
