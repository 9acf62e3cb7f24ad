"""Nonverbal vocalisations: what types there are, what they are called, and marks in a text."""

from __future__ import annotations

import re

from listening.methods.method import gettext_noop
from listening.methods.text_units import in_characters, units

TAXONOMY = {  # NVV-SuperBench (2026), Table 1; questions name a type in the page's language
    "respiratory": (
        gettext_noop("breath"),
        gettext_noop("inhale"),
        gettext_noop("exhale"),
        gettext_noop("quick breath"),
        gettext_noop("sigh"),
        gettext_noop("gasp"),
        gettext_noop("panting"),
        gettext_noop("wheezing"),
        gettext_noop("snore"),
        gettext_noop("yawn"),
    ),
    "throat": (
        gettext_noop("cough"),
        gettext_noop("sneeze"),
        gettext_noop("throat clearing"),
        gettext_noop("hiccup"),
        gettext_noop("sniff"),
        gettext_noop("sniffle"),
        gettext_noop("snort"),
    ),
    "laughter": (
        gettext_noop("chuckle"),
        gettext_noop("giggle"),
        gettext_noop("laugh"),
        gettext_noop("laugh harder"),
        gettext_noop("start laughing"),
        gettext_noop("stifled laugh"),
        gettext_noop("burst of laughter"),
    ),
    "crying": (
        gettext_noop("crying"),
        gettext_noop("sobbing"),
        gettext_noop("crying loudly"),
        gettext_noop("wail"),
        gettext_noop("whimper"),
    ),
    "emotional": (
        gettext_noop("hum"),
        gettext_noop("humming"),
        gettext_noop("groan"),
        gettext_noop("moan"),
        gettext_noop("grunt"),
        gettext_noop("mumble"),
        gettext_noop("exclamation"),
    ),
    "oral": (
        gettext_noop("lipsmack"),
        gettext_noop("gulp"),
        gettext_noop("swallow"),
        gettext_noop("burp"),
        gettext_noop("tsk"),
        gettext_noop("sss"),
        gettext_noop("clucking"),
        gettext_noop("hissing"),
        gettext_noop("whisper"),
    ),
}
TYPES = tuple(name for names in TAXONOMY.values() for name in names)
OTHER_NAMES = {  # names that systems and data sets use -> the taxonomy's
    "laugh": "laughs laughing laughter",
    "laugh harder": "laughs_harder laughing_harder",
    "start laughing": "starts_laughing",
    "chuckle": "chuckles chuckling",
    "giggle": "giggles giggling",
    "sigh": "sighs sighing",
    "gasp": "gasps gasping",
    "breath": "breathing breathe breathes",
    "inhale": "inhales inhaling",
    "exhale": "exhales exhaling",
    "panting": "pant pants",
    "wheezing": "wheeze wheezes",
    "snore": "snores snoring",
    "yawn": "yawns yawning",
    "cough": "coughs coughing",
    "sneeze": "sneezes sneezing",
    "throat clearing": "clears_throat clearing_throat clear_throat throat",
    "hiccup": "hiccups",
    "sniff": "sniffs sniffing",
    "sniffle": "sniffles sniffling",
    "snort": "snorts snorting",
    "crying": "cry cries",
    "sobbing": "sob sobs",
    "wail": "wails wailing",
    "whimper": "whimpers whimpering",
    "groan": "groans groaning",
    "moan": "moans moaning",
    "grunt": "grunts grunting",
    "mumble": "mumbles mumbling",
    "lipsmack": "lip_smack lip_smacking lipsmacks",
    "gulp": "gulps gulping",
    "swallow": "swallows swallowing",
    "burp": "burps burping",
    "clucking": "cluck clucks",
    "hissing": "hiss hisses",
    "whisper": "whispers whispering",
}
_CANONICAL = {
    other.replace("_", " "): name
    for name, others in OTHER_NAMES.items()
    for other in others.split()
}
_MARKER = re.compile(r"\[\s*([^\[\]<>]+?)\s*\]|<\s*(/?[^\[\]<>]+?)\s*>|【\s*([^【】]+?)\s*】")


def canonical(name: str) -> str:
    """A type in the taxonomy's spelling ("laugh" of "Laughs"); unknown names in lower case."""
    plain = " ".join(re.split(r"[\s_-]+", name.strip().lower())).strip()
    return _CANONICAL.get(plain, plain)


def marked(text: str, language: str) -> tuple[str, list[tuple[str, int]]]:
    """The transcript without its markers, and their types with how many units come before each.

    Markers: [type], <type>, 【type】; closing ones (</type>) are dropped.
    """
    plain, markers, end = "", [], 0
    gap = "" if in_characters(language) else " "
    for marker in _MARKER.finditer(text):
        plain += text[end : marker.start()]
        end = marker.end()
        name = next(part for part in marker.groups() if part)
        if not name.startswith("/"):
            markers.append((canonical(name), len(units(plain, language))))
        plain += gap
    plain += text[end:]
    return " ".join(plain.split()), markers


def has_marks(text: str) -> bool:
    """Whether a text holds a marker such as [laugh]."""
    return _MARKER.search(text) is not None


def types_marked(text: str) -> list[str]:
    """The types that the marks of a text name, each once, in the taxonomy's spelling."""
    return list(dict.fromkeys(name for name, _ in marked(text, "en")[1]))
