"""The languages in which Earnest has texts for raters, and who has checked each translation."""

from __future__ import annotations

from typing import NamedTuple


class InterfaceLanguage(NamedTuple):
    """A language with a complete catalogue under locale/."""

    code: str  # as Django writes it
    name: str  # in the language itself
    checked: bool = False  # a native speaker has read the whole translation


INTERFACE_LANGUAGES = (
    InterfaceLanguage("en", "English", checked=True),
    InterfaceLanguage("de", "Deutsch"),
    InterfaceLanguage("fr", "Français"),
    InterfaceLanguage("es", "Español"),
    InterfaceLanguage("it", "Italiano"),
    InterfaceLanguage("nl", "Nederlands"),
    InterfaceLanguage("pl", "Polski"),
    InterfaceLanguage("cs", "Čeština"),
    InterfaceLanguage("ru", "Русский"),
    InterfaceLanguage("tr", "Türkçe"),
    InterfaceLanguage("ar", "العربية"),
    InterfaceLanguage("pt-br", "Português do Brasil"),
    InterfaceLanguage("hi", "हिन्दी"),
    InterfaceLanguage("id", "Bahasa Indonesia"),
    InterfaceLanguage("zh-hans", "简体中文"),
    InterfaceLanguage("zh-hant", "繁體中文"),
)
