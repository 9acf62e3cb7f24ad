"""The languages in which Earnest has texts for raters, and which translations are checked."""

from __future__ import annotations

from gettext import NullTranslations, translation
from typing import NamedTuple

from listening.common.command_name import FILES


class InterfaceLanguage(NamedTuple):
    """A language with a complete catalogue under locale/."""

    tag: str
    name: str  # in the language itself
    english_name: str
    checked: bool = False  # a native speaker has read the whole translation

    @property
    def code(self) -> str:
        """The tag as Django writes it."""
        return self.tag.lower()

    def catalogue(self) -> NullTranslations:
        """Its texts by the English ones, also where Django is not set up."""
        names = [self.tag.replace("-", "_")]
        return translation("django", FILES / "locale", languages=names, fallback=True)


INTERFACE_LANGUAGES = (
    InterfaceLanguage("en", "English", "English", checked=True),
    InterfaceLanguage("ar", "العربية", "Arabic"),
    InterfaceLanguage("cs", "Čeština", "Czech"),
    InterfaceLanguage("de", "Deutsch", "German"),
    InterfaceLanguage("es", "Español", "Spanish"),
    InterfaceLanguage("fr", "Français", "French"),
    InterfaceLanguage("hi", "हिन्दी", "Hindi"),
    InterfaceLanguage("id", "Bahasa Indonesia", "Indonesian"),
    InterfaceLanguage("it", "Italiano", "Italian"),
    InterfaceLanguage("ja", "日本語", "Japanese"),
    InterfaceLanguage("ko", "한국어", "Korean"),
    InterfaceLanguage("nl", "Nederlands", "Dutch"),
    InterfaceLanguage("pl", "Polski", "Polish"),
    InterfaceLanguage("pt-BR", "Português do Brasil", "Brazilian Portuguese"),
    InterfaceLanguage("ru", "Русский", "Russian"),
    InterfaceLanguage("tr", "Türkçe", "Turkish"),
    InterfaceLanguage("vi", "Tiếng Việt", "Vietnamese"),
    InterfaceLanguage("zh-Hans", "简体中文", "Simplified Chinese"),
    InterfaceLanguage("zh-Hant", "繁體中文", "Traditional Chinese"),
)
