"""Ready-made questions about raters, which a study names instead of writing them."""

from __future__ import annotations

from typing import Any

from listening.methods.method import gettext_noop

TITLES = {
    "demographics": gettext_noop("About you"),
    "hearing": gettext_noop("Your hearing"),
    "device": gettext_noop("How you listen"),
}
SEVERAL_TITLE = gettext_noop("A few questions")  # for a questionnaire that joins some, or its own

_AGE_BANDS = ("18–24", "25–34", "35–44", "45–54", "55–64")

READY_MADE: dict[str, tuple[dict[str, Any], ...]] = {
    "demographics": (
        {
            "key": "gender",
            "question": gettext_noop("What is your gender?"),
            "kind": "one",
            "options": [
                {"value": "woman", "text": gettext_noop("Woman")},
                {"value": "man", "text": gettext_noop("Man")},
                {"value": "other", "text": gettext_noop("Non-binary or another gender")},
            ],
            "prefer_not": True,
        },
        {
            "key": "age",
            "question": gettext_noop("How old are you?"),
            "kind": "one",
            "options": [
                {"value": "under_18", "text": gettext_noop("Under 18")},
                *({"value": band.replace("–", "-"), "text": band} for band in _AGE_BANDS),
                {"value": "65+", "text": gettext_noop("65 or older")},
            ],
            "prefer_not": True,
        },
        {
            "key": "native_speaker",
            "question": gettext_noop("Is the language of this study your first language?"),
            "help": gettext_noop("A first language is one that you grew up with."),
            "kind": "one",
            "options": [
                {"value": "yes", "text": gettext_noop("Yes")},
                {"value": "no", "text": gettext_noop("No")},
            ],
            "prefer_not": True,
        },
        {
            "key": "first_language",
            "question": gettext_noop("Which language did you grow up with?"),
            "help": gettext_noop("If there were several, name them all."),
            "kind": "text",
            "longest": 120,
            "required": False,
            "show_if": {"question": "native_speaker", "answers": ["no"]},
        },
    ),
    "hearing": (
        {
            "key": "hearing",
            "question": gettext_noop("Is your hearing normal?"),
            "kind": "one",
            "options": [
                {"value": "normal", "text": gettext_noop("Yes, as far as I know")},
                {"value": "loss", "text": gettext_noop("No, I hear less well on one or both ears")},
                {"value": "unsure", "text": gettext_noop("I am not sure")},
            ],
            "prefer_not": True,
        },
    ),
    "device": (
        {
            "key": "listening_device",
            "question": gettext_noop("What do you listen with?"),
            "kind": "one",
            "options": [
                {"value": "in_ear", "text": gettext_noop("Earphones or earbuds, in the ear")},
                {"value": "over_ear", "text": gettext_noop("Headphones, on or over the ear")},
                {"value": "loudspeaker", "text": gettext_noop("Loudspeakers")},
            ],
        },
        {
            "key": "place",
            "question": gettext_noop("How quiet is it where you are?"),
            "kind": "one",
            "options": [
                {"value": "quiet", "text": gettext_noop("Quiet")},
                {"value": "some_noise", "text": gettext_noop("There is some noise")},
                {"value": "noisy", "text": gettext_noop("Noisy")},
            ],
        },
    ),
}
