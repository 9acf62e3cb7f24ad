"""Raters read their study's language: catalogues are complete, and every page speaks it."""

from __future__ import annotations

import gettext
import html
import io
import json
import re
import tomllib
from datetime import date
from html.parser import HTMLParser

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import translation
from django.utils.formats import date_format
from django.utils.translation import gettext as gettext_of
from django.utils.translation import ngettext

from listening.checks import Check
from listening.common.interface_languages import INTERFACE_LANGUAGES
from listening.common.languages import (
    direction,
    interface_language,
    page_words,
    unchecked_translations,
)
from listening.methods import Method, method_named
from listening.models import Study
from tests import catalogue
from tests.factories import ATT_TRAPS, arrive, current, make_study, make_user

CHINESE_BROWSER = {"HTTP_ACCEPT_LANGUAGE": "zh-CN,zh;q=0.9,en;q=0.5"}
LATIN = re.compile(r"[A-Za-z]{2,}")
SCRIPTS = {  # of the languages that are not written in Latin letters
    "ar": re.compile(r"[\u0600-\u06ff]"),
    "hi": re.compile(r"[\u0900-\u097f]"),
    "ja": re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]"),
    "ko": re.compile(r"[\uac00-\ud7af]"),
    "ru": re.compile(r"[\u0400-\u04ff]"),
    "zh": re.compile(r"[\u4e00-\u9fff]"),
}
OUR_NAMES = {"JavaScript", "Cookie", "Earnest", "Esc"}  # the same in every language


# --- The catalogue ---------------------------------------------------------------------------

each_locale = pytest.mark.parametrize("locale", catalogue.LOCALES)


@pytest.mark.slow
@each_locale
def test_every_sentence_for_raters_is_translated(locale):
    assert catalogue.untranslated(locale) == [], "translate them: python -m tests.catalogue"


@pytest.mark.slow
def test_the_texts_of_methods_and_checks_are_translated():
    texts = {}
    for key in Method.registry:
        method = method_named(key)
        steps = method.scale({"choices": ["1", "2"]} if key == "free_choice" else {}).steps
        questions = [question for _, question, _ in method.default_criteria]
        texts[key] = [method.default_question, *questions, *(step.text for step in steps)]
    for key, check in Check.registry.items():
        answers = [option.text for option in check.options]
        texts[key] = [check.title, check.text, check.question, *answers]
    known = {text for said in catalogue.sentences() for text in catalogue.forms(said)}
    unmarked = {
        key: rest
        for key, mine in texts.items()
        if (rest := {text for text in mine if re.search("[a-z]", text)} - known)
    }
    assert unmarked == {}, "put them into gettext_noop, then run python -m tests.catalogue"


@pytest.mark.slow
@each_locale
def test_no_translation_is_left_of_a_sentence_that_nobody_says(locale):
    said = catalogue.sentences()
    idle = [m.id for m in catalogue.messages(locale) if m.id not in said]
    assert idle == [], "run python -m tests.catalogue"


@pytest.mark.medium
@each_locale
def test_a_translation_fills_in_what_the_sentence_fills_in(locale):
    """Each plural form but that of one, which may say “one page”, has all blanks."""
    differing = [
        (m.id, text)
        for m in catalogue.messages(locale)
        for text in catalogue.forms(m.string)
        if catalogue.places(text) != catalogue.places(catalogue.forms(m.id)[-1])
        and not (m.pluralizable and not catalogue.places(text))
    ]
    assert differing == []


@pytest.mark.medium
@each_locale
def test_a_catalogue_has_its_plural_forms_and_can_be_formatted(locale):
    known = catalogue.translations(locale)
    assert [(m.id, faults) for m in known if m.id and (faults := [*m.check(known)])] == []
    counted = [m for m in known if m.pluralizable]
    assert counted
    for message in counted:
        assert len(message.string) == known.num_plurals
    for number in range(102):
        with translation.override(catalogue_code(locale)):
            text = ngettext("%(screens)s screen", "%(screens)s screens", number)
        form = known.get(("%(screens)s screen", "%(screens)s screens")).string
        assert text in form


def catalogue_code(locale):
    return locale.lower().replace("_", "-")


@pytest.mark.medium
@each_locale
def test_a_translation_is_in_the_script_of_its_language(locale):
    """A line in Latin letters of another alphabet's language was forgotten or is a name."""
    script = SCRIPTS.get(locale.split("_")[0])
    wrong = [
        text
        for m in catalogue.messages(locale)
        for text in catalogue.forms(m.string)
        if script and LATIN.search(re.sub(r"%?[({]\w+[)}]", "", text)) and not script.search(text)
    ]
    assert set(wrong) <= {"Esc", "Enter", "Shift", "Del", "Delete"}


def test_chinese_has_no_stray_half_width_marks():
    halves = re.compile(r"[\u4e00-\u9fff][,;:?!.]|[,;:?!][\u4e00-\u9fff]")
    texts = [m.string for each in ("zh_Hans", "zh_Hant") for m in catalogue.messages(each)]
    assert [text for text in texts if isinstance(text, str) and halves.search(text)] == []


@pytest.mark.medium
@each_locale
def test_the_compiled_catalogue_is_that_of_the_translations(locale):
    fresh = io.BytesIO(catalogue.compiled(catalogue.translations(locale)))
    with catalogue.file(locale, "mo").open("rb") as stored:
        committed = dict(gettext.GNUTranslations(stored)._catalog)
    compiled = dict(gettext.GNUTranslations(fresh)._catalog)
    committed.pop(""), compiled.pop("")
    assert committed == compiled, "run python -m tests.catalogue"


@pytest.mark.parametrize(
    ("tag", "language"),
    [
        *dict.fromkeys(("zh", "zh-CN", "zh-Hans", "zh_Hans", "zh-Hans-TW"), "zh-hans").items(),
        *dict.fromkeys(("zh-hant", "zh-TW", "zh_HK"), "zh-hant").items(),
        *dict.fromkeys(("de", "de-AT"), "de").items(),
        *dict.fromkeys(("pt", "pt-PT", "pt_BR"), "pt-br").items(),
        *dict.fromkeys(("en", "en-GB", "sw", "zhx", "x-klingon"), "en").items(),
    ],
)
def test_a_study_in_any_language_has_an_interface(tag, language):
    assert interface_language(tag) == language


@pytest.mark.parametrize(
    ("tag", "way"),
    [
        ("ar", "rtl"),
        ("he-IL", "rtl"),
        ("ar-Latn", "ltr"),
        ("pa-Arab-PK", "rtl"),
        ("zh-Hans", "ltr"),
    ],
)
def test_a_language_runs_its_own_way(tag, way):
    assert direction(tag) == way


def test_words_in_another_language_than_ours_are_marked():
    assert page_words("sw") == {"page_direction": "ltr", "study_lang": "sw"}
    assert page_words("de-AT")["study_lang"] == ""
    assert page_words("zh_CN")["study_lang"] == ""
    assert page_words("en-GB")["study_lang"] == ""
    assert page_words("he") == {"page_direction": "rtl", "study_lang": "he"}


# --- The pages -------------------------------------------------------------------------------


class Words(HTMLParser):
    """What a page says: its text and the names of its controls, without scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.silent = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.silent += tag in ("script", "style")
        named = dict(attrs)
        self.found += [
            named.get(name) or "" for name in ("aria-label", "placeholder", "title", "alt")
        ]

    def handle_endtag(self, tag: str) -> None:
        self.silent -= tag in ("script", "style")

    def handle_data(self, data: str) -> None:
        if not self.silent:
            self.found.append(data)


def english_in(page: str) -> list[str]:
    """Words of a page in Latin letters, but for names and for what is filled in."""
    said = [re.sub(r"\{\w+\}", "", words) for words in Words(page).found]
    return [w.strip() for w in said if not OUR_NAMES.issuperset(LATIN.findall(w))]


@pytest.fixture
def chinese(db) -> Study:
    """Every check and ready-made questionnaire, and tasks of several methods; texts are ours."""
    study = make_study(
        items=10,
        language="zh-CN",
        task={"method": "att", "block_size": 10, "traps": ATT_TRAPS},
        traps={"flawed": 2, "human": 3},
        checks=[{"key": "volume"}],
    )
    study.title = "听音研究"
    study.save()
    return study


def test_a_chinese_study_has_no_english_on_its_door(chinese):
    page = Client().get(f"/r/{chinese.link}/").content.decode()
    assert '<html lang="zh-hans">' in page
    assert english_in(page) == []
    assert "我已阅读以上内容，同意参加。" in page


def test_no_header_claims_another_language_than_the_page(chinese):
    page = Client().get(f"/r/{chinese.link}/", HTTP_ACCEPT_LANGUAGE="en")
    assert "Content-Language" not in page


@pytest.mark.parametrize("state", ["paused", "closed", "draft", "full"])
def test_a_closed_door_says_so_in_chinese(chinese, state):
    if state == "full":
        chinese.tasks.first().blocks.all().delete()
    else:
        Study.objects.update(state=state)
    page = Client().get(f"/r/{chinese.link}/").content.decode()
    assert english_in(page) == []
    assert ("再试一次" in page) == (state != "closed")


def test_consent_that_is_missing_is_asked_for_in_chinese(chinese):
    page = Client().post(f"/r/{chinese.link}/", {"consent": ""})
    assert page.status_code == 422
    assert "请勾选方框，表示同意参加。" in page.content.decode()


def test_a_chinese_session_has_no_english_on_its_page(chinese):
    session = arrive(chinese)
    page = Client().get(f"/s/{session.code}/").content.decode()
    spoken = [
        words for words in english_in(page) if words not in ("How natural?", "Human", "Machine")
    ]
    assert spoken == []
    state = json.loads(re.search(r'id="state" type="application/json">(.*?)</script>', page)[1])
    assert state["check"]["title"] == "调节音量"


def test_refusals_are_chinese_and_keep_their_numbers(chinese):
    chinese.tasks.update(justification={"required": True, "min_chars": 12})
    chinese.checks = []
    session = arrive(chinese)
    label = current(session).task.criteria.get().scale["steps"][0]["label"]
    body = {"trial": current(session).code, "answers": {"0": label}, "latency_ms": 9, "plays": 1}
    body |= {"heard_fraction": 1.0, "justification": {"text": "短"}}
    reply = Client().post(
        f"/api/s/{session.code}/answers/", json.dumps(body), content_type="application/json"
    )
    assert reply.json()["error"] == "justification_required"
    assert reply.json()["message"] == "请填写理由，至少 12 个字符。"


@pytest.mark.parametrize("door", ["answers", "checks", "questionnaires", "skips", "comments"])
def test_what_cannot_be_read_is_refused_in_chinese(chinese, door):
    session = arrive(chinese)
    reply = Client().post(f"/api/s/{session.code}/{door}/", b"{", content_type="application/json")
    assert reply.json()["message"].startswith("页面发送的内容无法识别")


@pytest.mark.parametrize("path", ["/s/nobody/", "/r/nobody/", "/nowhere/"])
def test_pages_that_are_not_there_speak_the_browsers_language(db, path):
    page = Client().get(path, **CHINESE_BROWSER)
    assert page.status_code == 404
    assert english_in(page.content.decode()) == []
    assert '<html lang="en">' in Client().get(path).content.decode()


def test_a_refused_form_is_explained_in_the_studys_language(chinese):
    page = Client(enforce_csrf_checks=True).post(f"/r/{chinese.link}/", {"consent": "yes"})
    assert page.status_code == 403
    assert english_in(page.content.decode()) == []
    assert "请重新载入页面" in page.content.decode()


def test_a_broken_page_speaks_the_browsers_language(chinese, monkeypatch):
    monkeypatch.setattr("listening.web.rater.pages._landing_page", lambda *a, **k: 1 / 0)
    client = Client(raise_request_exception=False)
    page = client.get(f"/r/{chinese.link}/", **CHINESE_BROWSER)
    assert page.status_code == 500
    assert english_in(page.content.decode()) == []


@pytest.mark.medium
def test_researchers_read_english_whatever_their_browser_asks_for(chinese):
    client = Client()
    assert "Log in" in client.get("/login/", **CHINESE_BROWSER).content.decode()
    client.force_login(make_user())
    page = client.get(f"/studies/{chinese.key}/", **CHINESE_BROWSER).content.decode()
    assert '<html lang="en">' in page
    assert "Go to the content" in page


def test_other_languages_get_english_around_their_own_words(db):
    swahili = make_study(language="sw", texts={"welcome": "Karibu."})
    page = Client().get(f"/r/{swahili.link}/").content.decode()
    assert '<html lang="en">' in page
    assert '<p lang="sw">Karibu.</p>' in page
    assert "I agree to take part" in page


@pytest.mark.medium
def test_a_study_from_right_to_left_has_a_page_from_right_to_left(db):
    for language, ours in (("he", "en"), ("ar", "ar")):
        study = make_study(language=language)
        top = f'<html lang="{ours}" dir="rtl">'
        assert top in Client().get(f"/r/{study.link}/").content.decode()
        assert top in Client().get(f"/s/{arrive(study).code}/").content.decode()
    assert (
        '<html lang="ar" dir="rtl">'
        in Client().get("/nowhere/", HTTP_ACCEPT_LANGUAGE="ar").content.decode()
    )


@pytest.mark.medium
@pytest.mark.parametrize("code", [each.code for each in INTERFACE_LANGUAGES])
def test_the_first_page_speaks_each_language_with_its_dates(db, code):
    study = make_study(language=code)
    study.erase_on = date(2027, 3, 9)
    study.save()
    page = html.unescape(Client().get(f"/r/{study.link}/").content.decode())
    with translation.override(code):
        day = date_format(study.erase_on)
        assert gettext_of("I have read this and I agree to take part.") in page
    assert day in page
    assert f'<html lang="{code}"' in page


def test_researchers_see_which_translations_nobody_has_checked():
    assert "German" in unchecked_translations()
    assert "English" not in unchecked_translations()


def test_a_preset_is_written_for_raters_of_another_language_with_a_warning(tmp_path):
    said = io.StringIO()
    call_command("new_study", "p808", str(tmp_path / "p"), language="de", stderr=said)
    toml = tomllib.loads((tmp_path / "p/study.toml").read_text("utf-8"))
    assert toml["study"]["language"] == "de"
    assert "texts and clips are not in Deutsch" in said.getvalue()
    with pytest.raises(CommandError, match="no texts in “sw”"):
        call_command("new_study", "p808", str(tmp_path / "q"), language="sw")
