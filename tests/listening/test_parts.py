"""Parts of raters' pages are made once per language, and as `include` makes them."""

import re
from pathlib import Path

import pytest
from django.template import engines
from django.template.loader import render_to_string
from django.utils import translation

from listening.templatetags import parts

TEMPLATES = Path(__file__).parents[2] / "templates"
PAGE = '{% load parts %}{% part "rater/views.html" %}'


def made(language, study_lang):
    with translation.override(language):
        page = engines["django"].from_string(PAGE).render({"study_lang": study_lang, "x": 1})
        return page, render_to_string("rater/views.html", {"study_lang": study_lang})


@pytest.mark.parametrize("study_lang", ["", "sw"])
@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_a_part_is_what_an_include_gives_in_its_language(language, study_lang):
    page, included = made(language, study_lang)
    assert page == included
    assert ('lang="sw"' in page) == bool(study_lang)


def test_a_part_is_made_once(monkeypatch):
    parts._part.cache_clear()
    first, _ = made("en", "")
    monkeypatch.setattr(parts, "render_to_string", lambda *_: "made anew")
    assert made("en", "")[0] == first
    assert made("zh-hans", "")[0] == "made anew"
    parts._part.cache_clear()


def test_who_works_on_templates_sees_each_change(monkeypatch, settings):
    settings.DEBUG = True
    monkeypatch.setattr(parts, "render_to_string", lambda *_: "made anew")
    assert made("en", "")[0] == "made anew"


def names_in(template):
    """The variables that a template and what it includes write or ask for."""
    text = (TEMPLATES / template).read_text()
    names = set(re.findall(r"{{\s*(\w+)", text)) | set(
        re.findall(r"{%\s*(?:if|for \w+ in)\s+(\w+)", text)
    )
    return names.union(*map(names_in, re.findall(r'{% include "([^"]+)"', text)))


def test_parts_use_nothing_that_differs_between_raters():
    texts = [path.read_text() for path in (TEMPLATES / "rater").glob("*.html")]
    used = [name for text in texts for name in re.findall(r'{% part "([^"]+)" %}', text)]
    assert len(used) == 4
    assert {name for template in used for name in names_in(template)} == {"study_lang"}
