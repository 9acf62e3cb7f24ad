"""Findings in the browser: words of fields and buttons, and a link to the field that changes them.

Every call that makes a finding is read from the sources, so that none is missed that no study here
provokes; then pages are asked.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from listening.design.studyfile.schema import TABLES as TABLES_OF_TOML
from listening.drafts import folder
from listening.models import Study
from listening.studies import ProblemsFound, create_study, design_findings, prelaunch
from listening.studies import design_findings as designs
from listening.studies import sound_findings as sounds
from listening.studies.findings import problem, warning
from listening.web.researcher.draft_places import REVIEW, field_at
from listening.web.researcher.shown_findings import findings_of_study, lines_of
from tests.factories import make_study
from tests.listening.folders import make_folder
from tests.listening.test_studies import media  # noqa: F401

MODULES = (prelaunch, designs, sounds, design_findings)
MADE = {"warning": warning, "problem": problem}
TABLES = "study|tasks|conditions|settings|sources|questionnaires|dimensions|analysis_rules"
OF_A_FOLDER = re.compile(rf"study\.toml|stimuli\.csv|\[\[?({TABLES})\b|\w\[\d\]|\w = |\b[a-z]+_\w+")


@cache
def keys() -> frozenset[str]:
    """The keys of study.toml and columns of stimuli.csv that are no words of their own."""
    named = {key for table in TABLES_OF_TOML.values() for key in table.model_fields}
    return frozenset(key for key in named if "_" in key)


def calls() -> Iterator[tuple[ModuleType, dict[str, ast.expr]]]:
    """Each call that makes a finding, by the names of what it gives."""
    for module in MODULES:
        makers = {**MADE, "_if_any": getattr(module, "_if_any", None)}
        for node in ast.walk(ast.parse(inspect.getsource(module))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                continue
            if maker := makers.get(node.func.id):
                given = {kw.arg: kw.value for kw in node.keywords if kw.arg}
                yield module, inspect.signature(maker).bind(*node.args, **given).arguments


def words_in(module: ModuleType, node: ast.expr | None, filled: str = "…") -> str:
    """All words that an expression may say; what is only known when it runs is `filled`."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.Name):
        value = getattr(module, node.id, filled)
        return value if isinstance(value, str) else filled
    if isinstance(node, ast.JoinedStr):
        return "".join(words_in(module, each, filled) for each in node.values)
    if isinstance(node, ast.FormattedValue):
        return words_in(module, node.value, filled)
    if isinstance(node, ast.IfExp):
        both = (words_in(module, each, filled) for each in (node.body, node.orelse))
        return " ".join(filter(None, both))
    return filled if node is not None else ""


def of_a_folder(words: str) -> list[str]:
    return [found[0] for found in OF_A_FOLDER.finditer(words)]


def test_no_finding_says_a_key_of_the_folder_on_a_page() -> None:
    seen = 0
    for module, given in calls():
        what = words_in(module, given["what"])
        remedy = words_in(module, given.get("on_page")) or words_in(module, given["remedy"])
        said = f"{what} {remedy}".replace("EARNEST_PUBLIC_URL", "")  # that is set on the server
        assert not of_a_folder(said), said
        seen += 1
    assert seen >= 35


def test_every_key_would_be_noticed() -> None:
    assert {"block_size", "show_text", "loudness_lufs", "ratings_per_stimulus"} <= keys()
    missed = [key for key in keys() if not of_a_folder(f"Set {key}.")]
    assert missed == []
    for words in ("See study.toml.", "Set it in [study].", "In tasks[1].", "[[tasks]]", "ends = 1"):
        assert of_a_folder(words), words


def test_every_finding_has_its_field_or_page() -> None:
    for module, given in calls():
        if module is design_findings or "names" in given:
            continue  # no page changes the server's address; those with names are about clips
        node = given.get("place")
        assert node is not None, words_in(module, given["what"])
        if not (isinstance(node, ast.Name) and node.id == "place"):  # one of several
            place = words_in(module, node, filled="tasks[1]")
            assert field_at(place)[0] != REVIEW, place


@pytest.fixture
def broken(tmp_path: Any, db: None) -> Study:
    """A study without consent, with clips that are silent: a problem, and warnings."""
    import numpy as np
    import soundfile

    owner = User.objects.create_user("ada")
    where = make_folder(tmp_path / "study")
    soundfile.write(where / "audio" / "a1.wav", np.zeros(8000), 16_000)
    return create_study(where, owner)


@pytest.mark.medium
def test_the_page_of_a_study_links_to_the_field(broken: Study, client: Client) -> None:
    client.force_login(broken.owner)
    page = client.get(f"/studies/{broken.key}/?check").content.decode()
    assert "There is no consent text. Write one, or compose it above the field." in page
    assert f'<a href="/studies/{broken.key}/manage/#change-title">Edit draft</a>' in page
    assert "study.toml" not in page
    draft = folder.begin_copy(broken.owner, broken, None)
    draft.study = broken
    draft.save()
    page = client.get(f"/studies/{broken.key}/?check").content.decode()
    address = reverse("draft-raters", args=[draft.code])
    assert f'<a href="{address}#consent">Raters: Consent</a>' in page


@pytest.mark.medium
def test_a_launch_that_is_refused_says_it_in_fields(broken: Study, client: Client) -> None:
    client.force_login(broken.owner)
    sent = client.post(f"/studies/{broken.key}/state/", {"to": "open"}, follow=True)
    said = [str(each) for each in sent.context["messages"]]
    assert said == ["Digital silence: “a1”. Check these files."]


def test_the_message_for_commands_keeps_the_words_of_the_folder() -> None:
    found = problem("It is wrong.", "Set show_text.", "tasks[1].show_text", "Tick the box.")
    error = ProblemsFound([found])
    assert str(error) == "It is wrong. Set show_text."
    assert lines_of(error) == ["It is wrong. Tick the box."]


@pytest.mark.django_db
def test_who_may_not_change_the_draft_gets_no_link_into_it() -> None:
    study = make_study(items=1)
    found = warning("It is.", "Change it.", "study.title")
    (shown,) = findings_of_study([found], study, User.objects.create_user("eve"))
    assert shown.address.endswith("/manage/#change-title")
