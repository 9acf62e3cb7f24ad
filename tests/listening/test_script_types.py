"""What our scripts believe of the server and of the templates is so: tsc checks them against it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from listening.web.rater.api import AnswerPayload, JustificationPayload, SkipPayload
from tests.factories import make_user

ROOT = Path(__file__).parents[2]
SHARED = ROOT / "static/js/shared"
STATE = re.compile(r'<script id="state" type="application/json">(.*?)</script>', re.DOTALL)
ELEMENTS = {
    "a": "HTMLAnchorElement",
    "button": "HTMLButtonElement",
    "details": "HTMLDetailsElement",
    "fieldset": "HTMLFieldSetElement",
    "input": "HTMLInputElement",
    "progress": "HTMLProgressElement",
    "textarea": "HTMLTextAreaElement",
}


def typedefs(name: str) -> dict[str, str]:
    """The types of a script by their names, each as it stands in its comment."""
    text = re.sub(r"\n \* ?", "\n", (SHARED / name).read_text())
    named = {}
    for each in re.split(r"^@typedef ", text, flags=re.MULTILINE)[1:]:
        body = each.partition("*/")[0]
        head, _, rest = body.partition("\n@property")
        kind, own = re.fullmatch(r"(\{.*\})\s+(\w+).*", head.strip(), re.DOTALL).groups()
        named[own] = kind + (f"\n@property{rest}" if rest else "")
    return named


# --- JSON ----------------------------------------------------------------------------------------

WIRE = typedefs("wire.js")


def keys_of(name: str) -> dict[str, tuple[str, bool]]:
    """Keys of a declared object: the type of each, and whether it may be missing."""
    declared = re.findall(r"^@property \{(.*)\} (\[?)(\w+)", WIRE[name], re.MULTILINE)
    if declared:
        return {key: (kind, bool(optional)) for kind, optional, key in declared}
    return keys_within(WIRE[name][1:-1])


def keys_within(kind: str) -> dict[str, tuple[str, bool]]:
    """The same of a type in place: of an object's own keys, and of those that it is joined with."""
    keys = {}
    for inner in re.findall(r"\{([^{}]*)\}", kind):
        for key, optional, own in re.findall(r"(\w+)(\??): ([^,]+)", inner):
            keys[key] = (own, bool(optional))
    for name in re.findall(r"\b[A-Z]\w+", re.sub(r"\{[^{}]*\}", "", kind)):
        keys |= keys_of(name) if name in WIRE else {}
    return keys


def differences(value: Any, kind: str, path: str) -> Iterator[str]:
    """Keys that are sent and not declared, or the other way round."""
    if isinstance(value, list):
        for each in value:
            yield from differences(each, kind, f"{path}[]")
    if not isinstance(value, dict):
        return
    keys = keys_within(kind)
    yield from (f"{path}.{key} is not declared" for key in value.keys() - keys)
    needed = {key for key, (_kind, optional) in keys.items() if not optional}
    yield from (f"{path}.{key} is not sent" for key in needed - value.keys())
    for key, each in value.items():
        yield from differences(each, keys.get(key, ("", False))[0], f"{path}.{key}")


@pytest.mark.django_db
@pytest.mark.parametrize(
    "part", ["task=att", "task=mushra", "questionnaire=hearing", "check=huggins", "check=volume"]
)
def test_a_session_is_told_what_the_scripts_have_declared(client: Client, part: str) -> None:
    client.force_login(make_user("ada"))
    page = client.get(f"/preview/examples/gallery/?{part}").content.decode()
    found = STATE.search(page)
    assert found is not None
    state = json.loads(found[1])
    kinds = {"questionnaire": "Questionnaire", "check": "Check", "end": "End", "stage": "string"}
    shared = {name: kind for name, (kind, _optional) in keys_of("Session").items()}
    previewed = {name: kind for name, (kind, _optional) in keys_of("Previewed").items()}
    declared = kinds | shared | previewed
    assert state.keys() == declared.keys()
    for name, kind in declared.items():
        assert list(differences(state[name], kind, name)) == []


def test_scripts_send_what_the_doors_take() -> None:
    for name, shape in (
        ("Answer", AnswerPayload),
        ("Skip", SkipPayload),
        ("Reason", JustificationPayload),
    ):
        assert keys_of(name).keys() == set(shape.__struct_fields__)


# --- Templates -----------------------------------------------------------------------------------

VIEWS = typedefs("views.js")


def included(found: re.Match[str]) -> str:
    return (ROOT / "templates" / found[1]).read_text()


def places(markup: str) -> dict[str, str]:
    """The places that scripts fill, and what element each is where that matters."""
    markup = re.sub(r'{% include "([\w/.]+)" %}', included, markup)
    found = re.findall(r'<(\w+)\b[^>]*?data-part="([\w-]+)"', markup)
    return {name: ELEMENTS.get(tag, "HTMLElement") for tag, name in found if tag != "template"}


def declared_places(name: str) -> dict[str, str]:
    plain = "".join(re.findall(r"Plain<([^>]*)>", VIEWS[name]))
    rest = re.sub(r"Plain<[^>]*>", "", VIEWS[name])
    own = re.findall(r'"?([\w-]+)"?:\s+(HTML\w+)', rest)
    return dict.fromkeys(re.findall(r'"([\w-]+)"', plain), "HTMLElement") | dict(own)


def places_that(there: dict[str, str], element: str) -> set[str]:
    return {name for name, kind in there.items() if kind == element}


def test_scripts_know_every_place_of_every_template() -> None:
    views = dict(re.findall(r'"(view-[\w-]+)": (\w+)', VIEWS["Views"]))
    there = {
        name: places(markup)
        for path in (ROOT / "templates/rater").glob("*.html")
        for name, markup in re.findall(
            r'<template id="(view-[\w-]+)"[^>]*>(.*?)</template>', path.read_text(), re.DOTALL
        )
    }
    declared = {name: declared_places(kind) for name, kind in views.items()}
    folds = {name: places_that(there[name], "HTMLDetailsElement") for name in there}
    for name, kinds in declared.items():  # a fold that no script opens may be declared as plain
        for fold in folds.get(name, set()) & kinds.keys():
            if kinds[fold] == "HTMLElement":
                kinds[fold] = "HTMLDetailsElement"
    assert declared == there


@pytest.mark.parametrize("widget", ["slider", "sliders", "ranking", "best_worst"])
def test_scripts_know_every_place_of_a_scale(widget: str) -> None:
    markup = (ROOT / f"templates/widgets/{widget}.html").read_text()
    rows = "".join(re.findall(r"<template.*?</template>", markup, re.DOTALL))
    name = widget.title().replace("_", "")
    assert declared_places(f"{name}Parts") == places(markup.replace(rows, ""))
    if rows:
        assert declared_places(f"{name}RowParts") == places(rows)
