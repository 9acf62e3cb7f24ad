"""Style sheets: colours and measures have their names in base.css, and no rule is idle."""

import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHEETS = {
    path.name: re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)
    for path in sorted((ROOT / "static/css").glob("*.css"))
}
RULES = "".join(SHEETS.values())
TOKENS = set(
    re.findall(r"(--[\w-]+):", "".join(re.findall(r":root \{.*?\}", SHEETS["base.css"], re.DOTALL)))
)
PLACES = ("templates/**/*.html", "static/js/**/*.js", "analysis/report/**/*.html")
MODULES = ("analysis/report", "listening/common", "listening/web", "metrics/web")


@cache
def source() -> str:
    """All that makes pages."""
    paths = [p for place in PLACES for p in ROOT.glob(place)]
    paths += [p for folder in MODULES for p in (ROOT / folder).rglob("*.py")]
    return "\n".join(path.read_text() for path in paths)


def test_colours_are_written_in_one_place():
    found = {
        name: re.findall(r"#[0-9a-f]{3,8}\b(?=[^{]*\})|\b(?:rgb|hsl)a?\(", text, re.IGNORECASE)
        for name, text in SHEETS.items()
        if name != "base.css"
    }
    assert {name: colours for name, colours in found.items() if colours} == {}
    assert len(TOKENS) > 40


def test_every_token_is_declared_once_and_used():
    used = set(re.findall(r"var\((--[\w-]+)", RULES))
    declared = set(re.findall(r"(--[\w-]+):", RULES))
    assert sorted(TOKENS - used) == []
    assert [name for name in sorted(used - declared) if f'"{name}"' not in source()] == []
    elsewhere = set(re.findall(r"(--[\w-]+):", RULES.replace(SHEETS["base.css"], "")))
    assert sorted(elsewhere & TOKENS) == []


def test_every_class_of_a_sheet_is_on_some_page():
    words = set(re.findall(r"[A-Za-z][\w-]*", source()))
    begun = tuple(re.findall(r"\b([a-z]+-)\{", source()))  # completed by a template or a script
    selectors = re.findall(r"([^{};]+)\{", RULES)
    classes = {name for each in selectors for name in re.findall(r"\.([A-Za-z][\w-]*)", each)}
    assert len(classes) > 400
    assert [name for name in sorted(classes - words) if not name.startswith(begun)] == []
