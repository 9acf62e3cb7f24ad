"""Five tabs lead to every page of a study, and each page shows where it belongs."""

import re
from collections import Counter
from pathlib import Path

import pytest
from django.conf import settings
from django.urls import get_resolver

from listening.templatetags.study_tabs import TABS
from tests.factories import make_study
from tests.listening.test_researcher_pages import page_of

PAGES = [page for pages in TABS.values() for page in pages]


def study_routes() -> dict[str, str]:
    """Route names below studies/<key>/ that take nothing else, with their pattern."""
    found = {}
    todo = [("", each) for each in get_resolver().url_patterns]
    while todo:
        prefix, each = todo.pop()
        path = prefix + str(each.pattern)
        if hasattr(each, "url_patterns"):
            todo += [(path, inner) for inner in each.url_patterns]
        elif path.startswith("studies/<slug:key>/") and each.name:
            found[each.name] = path
    return found


def test_every_page_stands_in_one_tab():
    named = Counter(route for page in PAGES for route in (page.route, *page.below))
    assert set(named.values()) == {1}
    assert set(named) <= set(study_routes())


@pytest.mark.django_db
@pytest.mark.slow
def test_each_page_marks_its_tab_and_itself(client):
    study = make_study()
    client.force_login(study.owner)
    for tab, pages in TABS.items():
        for page in pages:
            path = study_routes()[page.route].replace("<slug:key>", study.key)
            shown = page_of(client, f"/{path}")
            (tabs,) = re.findall(r'<nav class="tabs study-tabs".*?</nav>', shown, re.DOTALL)
            assert re.findall(r"aria-current=\"\w+\">([^<]+)", tabs) == [tab], path
            below = re.findall(r'<nav class="subtabs".*?</nav>', shown, re.DOTALL)
            marked = re.findall(r"aria-current=\"page\">([^<]+)", "".join(below))
            assert marked == ([page.label] if len(pages) > 1 else []), path
            assert shown.count("<h1") == 1, path


def test_pages_of_a_study_share_one_frame():
    """Title, state and tabs are written once."""
    for file in Path(settings.BASE_DIR, "templates").rglob("*.html"):
        if file.name != "study_base.html":
            assert "{% study_tabs" not in file.read_text(), file
