"""Languages that raters may say they speak: tags, names, and what other services call them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from listening.methods.method import gettext_noop

OTHER = "other"
THIS_LANGUAGE = "{language}"  # in a study file: the language of the rater's pages
SPOKEN = {  # value of an answer, a language tag -> its name
    "ar": gettext_noop("Arabic"),
    "bn": gettext_noop("Bengali"),
    "yue": gettext_noop("Cantonese"),
    "nl": gettext_noop("Dutch"),
    "en": gettext_noop("English"),
    "fr": gettext_noop("French"),
    "de": gettext_noop("German"),
    "hi": gettext_noop("Hindi"),
    "id": gettext_noop("Indonesian"),
    "it": gettext_noop("Italian"),
    "ja": gettext_noop("Japanese"),
    "ko": gettext_noop("Korean"),
    "zh": gettext_noop("Mandarin Chinese"),
    "pl": gettext_noop("Polish"),
    "pt": gettext_noop("Portuguese"),
    "ru": gettext_noop("Russian"),
    "es": gettext_noop("Spanish"),
    "sv": gettext_noop("Swedish"),
    "tr": gettext_noop("Turkish"),
    "vi": gettext_noop("Vietnamese"),
    OTHER: gettext_noop("Another language"),
}
ALSO_CALLED = {"zh": ("Mandarin", "Chinese (Mandarin)", "Chinese")}  # the most exact name first


def spoken(tag: str) -> str:
    """The value of the answer that stands for a language tag: "zh" for "zh-Hans"; else the tag."""
    parts = tag.replace("_", "-").lower().split("-")
    return "yue" if parts[:2] == ["zh", "yue"] or parts[:2] == ["zh", "hk"] else parts[0]


def language_name(tag: str) -> str:
    """The English name of a language, or its tag."""
    return SPOKEN.get(spoken(tag), tag)


def choices_of(tags: Iterable[str], choices: Mapping[str, str]) -> list[str]:
    """The keys of a service's choices (key -> name) that are these languages, in its order.

    None where one of them is not among the choices: speakers of it must not be kept out.
    """
    wanted = set()
    by_name = {name.strip().casefold(): key for key, name in choices.items()}
    for tag in tags:
        names = (language_name(tag), *ALSO_CALLED.get(spoken(tag), ()))
        key = next((by_name[n.casefold()] for n in names if n.casefold() in by_name), None)
        if key is None:
            return []
        wanted.add(key)
    return [key for key in choices if key in wanted]
