"""Lines of a clip reach the page only where context is marked, and too coarse to tell clips."""

import pytest

from listening.methods import Part
from listening.sessions.line_marks import MARK_STEP_S, MOST_MOVED_S, marked_lines
from listening.web.rater.page_facts import clip_facts


@pytest.fixture(autouse=True)
def fixed_key(settings) -> None:
    settings.SECRET_KEY = "a key of the tests of marks" * 2


def line(role: str, start_s: float, end_s: float, text: str = "Words.") -> dict[str, object]:
    return {"role": role, "start_s": start_s, "end_s": end_s, "text": text, "stimulus": "x"}


IN_CONTEXT = [line("context", 0.175, 2.4321), line("rated", 2.8321, 6.123456)]


def test_a_clip_without_context_has_no_lines_on_the_page():
    parts = [Part(1, "A", "rated"), Part(2, "B", "rated")]
    stored = {1: [line("rated", 0.175, 3.1415)], 2: [line("rated", 0, 2), line("rated", 2.3, 4)]}
    told = clip_facts(parts, lambda place, part: f"/c/{place}", stored.__getitem__)
    assert [part["lines"] for part in told["parts"]] == [[], []]


def test_marks_cover_the_clip_and_are_moved_for_each_appearance():
    places = set()
    for n in range(40):
        context, rated = marked_lines(IN_CONTEXT, f"/c/{n}")
        assert (context["start_s"], rated["end_s"]) == (0.0, 3600.0)
        assert context["end_s"] == rated["start_s"]
        assert abs(rated["start_s"] - 2.6321) <= MOST_MOVED_S + MARK_STEP_S / 2 + 1e-9
        places.add(rated["start_s"])
        assert context["text"] is rated["text"] is None
    assert 4 <= len(places) <= 5
    assert all(round(place, 1) == place for place in places)
    assert marked_lines(IN_CONTEXT, "/c/0") == marked_lines(IN_CONTEXT, "/c/0")


def test_context_that_is_read_keeps_its_words_and_the_rest_is_rated():
    lines = [line("context", 0, 0, "Anna had not slept."), line("rated", 0.03, 3.21, "No.")]
    read, rated = marked_lines(lines, "/c/0")
    assert read == {"role": "context", "start_s": 0.0, "end_s": 0.0, "text": "Anna had not slept."}
    assert rated == {"role": "rated", "start_s": 0.0, "end_s": 3600.0, "text": None}
