"""Which language a study's interface speaks, which way it runs, and what a request asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.locale import LocaleMiddleware
from django.utils import translation
from django.utils.translation import get_language_info

from listening.common.interface_languages import INTERFACE_LANGUAGES

ENGLISH = "en"
CODES = frozenset(each.code for each in INTERFACE_LANGUAGES)
TRADITIONAL = frozenset(["hant", "tw", "hk", "mo"])  # scripts and places of Traditional Chinese
RIGHT_TO_LEFT = frozenset(
    ["ar", "arc", "ckb", "dv", "fa", "he", "iw", "ks", "nqo", "ps", "sd", "syr", "ug", "ur", "yi"]
)
RIGHT_TO_LEFT_SCRIPTS = frozenset(["adlm", "arab", "hebr", "nkoo", "rohg", "syrc", "thaa"])
RATERS = frozenset({"landing", "session"})  # pages that study and session give their language


def interface_language(tag: str) -> str:
    """The language of our own words for a study in `tag`: English where we have no other.

    Readers of Portuguese get that of Brazil.
    """
    first, *rest = _parts(tag)
    if first == "zh":
        return "zh-hans" if TRADITIONAL.isdisjoint(rest) or "hans" in rest else "zh-hant"
    code = {"pt": "pt-br"}.get(first, first)
    return code if code in CODES else ENGLISH


def has_interface(tag: str) -> bool:
    """Whether Earnest has texts for raters in this language."""
    return _parts(tag)[0] == _parts(interface_language(tag))[0]


def unchecked_translations() -> list[str]:
    """English names of the languages whose translation no native speaker has checked yet."""
    return [each.english_name for each in INTERFACE_LANGUAGES if not each.checked]


def direction(tag: str) -> str:
    """Which way a language is written: ltr or rtl."""
    first, *rest = _parts(tag)
    scripts = [part for part in rest if len(part) == 4 and part.isalpha()]
    if scripts:
        return "rtl" if scripts[0] in RIGHT_TO_LEFT_SCRIPTS else "ltr"
    return "rtl" if first in RIGHT_TO_LEFT else "ltr"


def speaking(tag: str) -> AbstractContextManager[None]:
    """Inside, our own words are said for a study in this language."""
    return translation.override(interface_language(tag))


def page_words(tag: str) -> dict[str, str]:
    """What a page of a study needs to mark its words with: direction, and a tag if ours differs."""
    marked = "" if has_interface(tag) else tag.replace("_", "-")
    return {"page_direction": direction(tag), "study_lang": marked}


def study_words(
    title: str, texts: Mapping[str, str], translations: Mapping[str, Any], language: str
) -> dict[str, Any]:
    """A study's words in one of its languages; what has no translation stays."""
    own = translations.get(language, {})
    return {
        "title": own.get("title") or title,
        "texts": {**texts, **own.get("texts", {})},
        "checks": own.get("checks", {}),
        "questionnaires": own.get("questionnaires", {}),
    }


def name_of(tag: str) -> str:
    """A language as those who speak it call it, where Django knows; else its tag."""
    parts = tag.replace("_", "-").lower().split("-")
    for known in ("-".join(parts), interface_language(tag) if parts[0] == "zh" else parts[0]):
        with suppress(KeyError):
            return str(get_language_info(known)["name_local"])
    return tag


def _parts(tag: str) -> list[str]:
    return tag.replace("_", "-").lower().split("-")


class LanguageMiddleware(LocaleMiddleware):
    """Raters' pages of trouble speak the browser's language; everything for researchers English.

    Where the study is known, its pages say so themselves.
    """

    def process_view(
        self, request: HttpRequest, view: Callable[..., HttpResponse], args: Any, kwargs: Any
    ) -> None:
        match = request.resolver_match
        if match is not None and not _for_raters(match.url_name or ""):
            translation.activate(ENGLISH)

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        """Pages name their own language; a header could only say that of the browser."""
        return response


def _for_raters(name: str) -> bool:
    return name in RATERS or name.startswith("api-")
