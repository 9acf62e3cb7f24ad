"""What the pages of a draft change in study.toml, and what the sidebar makes of it."""

from __future__ import annotations

import json
import re
from typing import Annotated, Any

import pytest
from django.template.loader import render_to_string
from django.test import Client
from django.urls import reverse
from django.utils.translation import gettext
from pydantic import Field

from analysis.statistics.planning.group_sequential import looks_design
from listening.common.languages import speaking
from listening.design import draft_fields
from listening.design.consent import composed
from listening.design.draft_fields import UnknownField, field_value, put
from listening.design.studyfile import schema
from listening.drafts.figures import reading_of
from listening.drafts.journal import add_to_journal, changed_places, who_changed
from listening.models import Draft
from listening.web.researcher.draft_fields import question_fields, rater_fields
from tests.listening.test_drafts import ada, begun, fill, save  # noqa: F401


def table() -> dict[str, Any]:
    study = {"key": "s", "title": "S", "checks": [{"key": "volume"}]}
    task = {"key": "mos", "method": "mos", "criteria": [{"key": "naturalness"}]}
    return {"study": study, "tasks": [task], "sources": [{"key": "lab", "kind": "panel"}]}


def test_a_label_above_the_highest_point_is_shown_so_that_it_can_be_cleared() -> None:
    top = table()
    options = "tasks.0.criteria.0.options"
    put(top, f"{options}.points", "7")
    put(top, f"{options}.names.7", "very hard")
    put(top, f"{options}.points", "5")
    (task,) = question_fields(top, [])
    gone = [step["label"] for step in task["criteria"][0]["steps"] if step.get("gone")]
    assert gone == ["7"]
    put(top, f"{options}.names.7", "")
    (task,) = question_fields(top, [])
    assert [step["label"] for step in task["criteria"][0]["steps"]] == list("12345")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("checks.huggins", True),
        ("forms.hearing", True),
        ("screen.loudspeaker", True),
        ("sources.lab.quota", "20"),
        ("sources.lab.invited_only", True),
        ("sources.lab.return_urls.quota_full", "https://lab.example/full"),
        ("sources.lab.codes.complete", "THANKS"),
        ("study.seed", "7"),
        ("tasks.0.options.tie", True),
        ("study.payment.per_hour", "9.5"),
        ("study.ethics.approval", "17/26"),
        ("study.hypotheses", "A is ahead of B.\nB is ahead of C."),
        ("tasks.0.reasons", "optional"),
        ("tasks.0.comparisons", "adaptive"),
        ("tasks.0.comparisons", "with human"),
        ("tasks.0.options.uniform_share", "0.3"),
        ("tasks.0.options.names.5", "Excellent"),
        ("tasks.0.translations.zh-Hans.criteria.naturalness.names.5", "很好"),
        ("study.translations.zh-Hans.texts.welcome", "您好"),
        ("stop.looks", "0.4, 0.7, 1"),
        ("stop.target", "0.2"),
    ],
)
def test_a_field_shows_what_was_put_and_is_gone_when_taken_back(name: str, value: Any) -> None:
    top = table()
    before = json.loads(json.dumps(top)), field_value(top, name)
    put(top, name, value)
    assert field_value(top, name) == value
    put(top, name, "usual" if name.endswith("reasons") else type(value)())
    assert field_value(top, name) == before[1]


def test_another_stop_rule_keeps_what_it_takes_of_the_one_before() -> None:
    top = table()
    assert draft_fields.choose_stop_rule(top, "planned_looks")
    for name, value in {"looks": "4", "difference": "0.3", "act": "ask", "futility": False}.items():
        put(top, f"stop.{name}", value)
    assert top["stop"] == {
        "rule": "planned_looks",
        "looks": 4,
        "difference": 0.3,
        "act": "ask",
        "futility": False,
    }
    assert draft_fields.choose_stop_rule(top, "half_width")
    assert top["stop"] == {"rule": "half_width", "looks": 4, "act": "ask"}
    assert not draft_fields.choose_stop_rule(top, "luck")
    assert draft_fields.choose_stop_rule(top, "")
    assert "stop" not in top


@pytest.mark.medium
@pytest.mark.django_db
def test_a_stop_rule_is_chosen_on_the_page_with_its_raters_beside(ada: Client, tmp_path) -> None:  # noqa: F811
    draft = begun(ada)
    fill(ada, draft, tmp_path)
    save(ada, draft, {"tasks.0.ratings_per_stimulus": "100"})
    act, page = (reverse(name, args=[draft.code]) for name in ("draft-do", "draft-raters"))

    def choose(rule: str) -> str:
        draft.refresh_from_db()
        sent = {"do": "stop-rule", "rule": rule, "revision": draft.revision}
        return ada.post(act, sent, follow=True).content.decode()

    assert 'data-field="stop.looks"' in choose("planned_looks")
    save(ada, draft, {"stop.looks": "5", "stop.difference": "0.3"})
    beside = ada.get(reverse("draft-precision", args=[draft.code])).content.decode()
    raters = dict(re.findall(r"<dt>Raters, ([^<]+)</dt><dd class=.number.>(\d+)</dd>", beside))
    most = int(raters["at most"])
    design = looks_design((0.2, 0.4, 0.6, 0.8, 1.0), futility=True)
    assert raters == {
        "no difference": str(round(design.expected_share(0) * most)),
        "planned difference": str(round(design.expected_share(1) * most)),
        "at most": str(most),
    }
    study = reading_of(Draft.objects.get(pk=draft.pk)).study
    assert study is not None
    assert study.stop == {
        "rule": "planned_looks",
        "act": "close",
        "looks": 5,
        "difference": 0.3,
        "futility": True,
    }
    assert "half_width" in choose("half_width")
    assert "needs the field target" in ada.get(page).content.decode()
    assert 'data-field="stop.act"' not in choose("")


def test_the_pairs_of_a_comparison_are_chosen_and_named_pairs_stay_until_then() -> None:
    named = [["a", "b"]]
    top = table() | {"tasks": [{"key": "ab", "method": "ab", "options": {"pairs": named}}]}
    rows = [{"condition": key, "item": "i1"} for key in "abc"]

    def offered() -> dict[str, bool]:
        (task,) = question_fields(top, rows)
        return {value: chosen for value, _, chosen in task["comparisons"]}

    assert offered()["named"]
    put(top, "tasks.0.comparisons", "named")
    assert top["tasks"][0]["options"] == {"pairs": named}
    put(top, "tasks.0.comparisons", "adaptive")
    put(top, "tasks.0.options.uniform_share", "0.3")
    assert top["tasks"][0]["options"] == {"pairs": "adaptive", "uniform_share": 0.3}
    assert offered()["adaptive"]
    assert "named" not in offered()
    put(top, "tasks.0.comparisons", "with b")
    assert top["tasks"][0]["options"] == {"versus": "b"}
    assert offered()["with b"]
    put(top, "tasks.0.comparisons", "all")
    assert top["tasks"][0]["options"] == {}
    assert "adaptive" not in dict(question_fields(table(), rows)[0]["comparisons"])


def test_who_is_screened_out_is_asked() -> None:
    top = table()
    put(top, "screen.loudspeaker", True)
    (form,) = top["questionnaires"]
    assert form["use"] == ["device"]
    assert form["questions"] == [{"key": "listening_device", "screen_out": ["loudspeaker"]}]
    put(top, "forms.device", False)
    assert (top["questionnaires"], field_value(top, "screen.loudspeaker")) == ([], False)


def test_a_draft_can_ask_for_raters_of_its_own_language() -> None:
    top = table()
    put(top, "screen.not_fluent", True)
    (form,) = top["questionnaires"]
    assert form["use"] == ["fluent_languages"]
    assert form["questions"] == [{"key": "fluent_languages", "screen_out_unless": ["{language}"]}]
    put(top, "screen.not_fluent", False)
    assert "questions" not in form
    assert field_value(top, "forms.fluent_languages")


@pytest.mark.parametrize(
    "name",
    [
        "study.sead",
        "study.texts",
        "study.translations.not a tag.title",
        "sources.lab.kind",
        "tasks.0.method",
        "tasks.0.options.names",
        "conditions.0.label",
        "checks.nothing",
        "checks.nothing.trials",
        "tasks.7.title",
        "sources.x.quota",
    ],
)
def test_what_no_page_has_is_refused(name: str) -> None:
    with pytest.raises(UnknownField):
        put(table(), name, "1")


def test_a_tick_that_is_usual_is_kept_where_it_is_taken_off() -> None:
    top = table() | {"tasks": [{"key": "m", "method": "mushra"}]}
    put(top, "tasks.0.options.hidden_reference", False)
    assert top["tasks"][0]["options"] == {"hidden_reference": False}


@pytest.mark.parametrize(
    ("added_to", "prefix"),
    [
        (schema.Study, "study"),
        (schema.Payment, "study.payment"),
        (schema.Texts, "study.texts"),
        (schema.Task, "tasks.0"),
    ],
)
def test_a_field_added_to_the_schema_is_shown_and_changed_by_the_editor(
    added_to: type[schema.Table], prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Added(schema.Table, kind=schema.PLAN):
        rooms: Annotated[int, Field(ge=1)] = schema.declare("Rooms", "so many rooms", 3)

    monkeypatch.setitem(added_to.__pydantic_fields__, "rooms", Added.model_fields["rooms"])
    top = table()

    def control() -> str:
        shown_there = rater_fields(top) | {
            "further_of_task": question_fields(top, ())[0]["further"]
        }
        if prefix == "study.texts":  # raters_page has a loop over all of them
            (text,) = (each for each in shown_there["texts"] if each["key"] == "rooms")
            return f"{text['words']}: {text['value']}"
        fields = shown_there["further_of_task" if prefix == "tasks.0" else "further"]
        html = render_to_string("researcher/_draft_fields.html", {"fields": fields})
        (found,) = re.findall(r'<label for="[^"]*">Rooms</label><input [^>]*>', html)
        assert f'data-field="{prefix}.rooms"' in found
        assert ">So many rooms<" in html
        return str(found)

    assert "7" not in control()
    put(top, f"{prefix}.rooms", "7")
    assert field_value(top, f"{prefix}.rooms") == "7"
    assert "7" in control()
    with pytest.raises(UnknownField):
        put(top, f"{prefix}.roms", "7")


def test_languages_and_ways_in_are_added_once() -> None:
    top = table()
    assert [draft_fields.add_language(top, tag) for tag in ("de", "de", "en", "not a tag")] == [
        *(True, False, False, False)
    ]
    put(top, "tasks.0.translations.de.title", "Wie?")
    assert draft_fields.remove_language(top, "de")
    assert top["tasks"][0]["translations"] == {}
    assert [draft_fields.add_source(top, kind) for kind in ("link", "link", "pigeon")] == [
        *(True, True, False)
    ]
    assert [source["key"] for source in top["sources"]] == ["lab", "link", "link-2"]


def test_the_journal_knows_a_part_by_what_it_lies_in() -> None:
    old, new = {"a": {"b": [1, 2], "c": "x"}}, {"a": {"b": [1], "c": "y"}}
    assert list(changed_places(old, new)) == ["a.b", "a.c"]
    journal = add_to_journal({"a.b.0": [3, "ada"]}, ["a.b", "a.c"], 5, "ben")
    assert journal == {"a.b": [5, "ben"], "a.c": [5, "ben"]}
    assert who_changed(journal, "a.b.0", 4) == "ben"
    assert who_changed(journal, "a", 4) == "ben"
    assert who_changed(journal, "a.b.0", 5) is None
    assert who_changed(journal, "a.bc", 4) is None


def test_a_consent_text_says_what_a_board_asks_for_in_both_languages() -> None:
    ethics = {"controller": "The Lab.", "risks": "None.", "approval": "17/26", "age": "21"}
    text = composed(ethics, "me@example.org", 30, gettext)
    for words in ("run by The Lab.", "Risks: None.", "17/26.", "30 days after", "21 years old"):
        assert words in text
    assert "about {minutes} minutes" in text
    assert "no risk beyond" not in text
    with speaking("zh-Hans"):
        chinese = composed(ethics, "", None, gettext)
    assert "伦理审查批准：17/26。" in chinese
    assert "{minutes} 分钟" in chinese


@pytest.mark.django_db
@pytest.mark.medium
def test_the_sidebar_counts_as_the_planning_and_says_what_it_assumes(ada, tmp_path) -> None:  # noqa: F811
    draft = begun(ada)
    fill(ada, draft, tmp_path, ("vits", "human"), range(1, 6))
    changes = {"tasks.0.ratings_per_stimulus": "12", "study.payment.per_hour": "12"}
    page = save(ada, draft, changes).json()["figures"]
    rows = dict(part.split('</dt><dd class="number">') for part in page.split("<dt>")[1:])
    found = {words: value.partition("<")[0] for words, value in rows.items()}
    assert (found["Ratings"], found["Raters"]) == ("120", "12")  # 10 clips, all of them to each
    minutes = int(found["Minutes each"])
    each = 20 * minutes  # pence, at £12 an hour
    assert found["Pay each"] == f"£{each / 100:.2f}"
    assert found["Cost, with fees"] == f"£{12 * each * 1.4 / 100:.2f}"
    assert "assumed: Prolific’s fee of 33.3%" in page
    precision = ada.get(f"/drafts/{draft.code}/precision/").content.decode()
    assert "Variances: simulated, after Clark et al." in precision
    assert "Pairwise difference" in precision
    changed = Draft.objects.get(pk=draft.pk)
    free = save(ada, changed, {"study.payment.by": "nobody"}).json()["figures"]
    assert "Raters are not paid" in free
