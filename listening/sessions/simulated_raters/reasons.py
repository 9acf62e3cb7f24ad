"""Reasons that scripted raters type: varied, fitting the label, and never about a known truth."""

from random import Random

HEARD = {
    "Human": (
        "there is a small breath before the second phrase",
        "the stress falls where the meaning needs it",
        "the pace slows down towards the end, as in reading aloud",
        "the pitch moves freely and the vowels are never quite the same",
        "I can hear the mouth open before the first word",
        "the sentence has one clear melody from start to end",
    ),
    "Machine": (
        "every word has the same weight",
        "the consonants buzz a little",
        "the pauses are all of one length",
        "the melody starts again with each word",
        "the vowels sound cut together",
        "there is a metallic ring under the voice",
    ),
    "Unclear": (
        "the rhythm is natural but the timbre is flat",
        "it could be a careful reader or a good synthesiser",
        "one word sounded wrong, the rest was fine",
        "the recording is too short for me to be sure",
        "the voice is warm, yet the pauses are odd",
    ),
}
OPENINGS = (
    "",
    "To me ",
    "I noticed that ",
    "Mostly because ",
    "I think ",
    "After listening again: ",
)
ENDINGS = (
    "",
    ".",
    ", so I decided quickly.",
    ", though I am not quite certain.",
    ". No other sign.",
)
LAZY = ("good", "ok sound", "idk", "just a feeling", "sounds like it", "nice voice nice voice")


def reason(random: Random, label: str, min_chars: int) -> str:
    """A sentence or two for this label, at least `min_chars` long."""
    heard = list(HEARD.get(label, HEARD["Unclear"]))
    random.shuffle(heard)
    opening = random.choice(OPENINGS)
    text = opening + heard.pop() + random.choice(ENDINGS)
    while len(text) < min_chars and heard:
        text = f"{text.rstrip('.')}, and {heard.pop()}"
    return _long_enough(text if opening else text[0].upper() + text[1:], min_chars)


def lazy_reason(random: Random, min_chars: int) -> str:
    """What somebody types who only wants to go on."""
    return _long_enough(random.choice(LAZY), min_chars)


def agent_reason(label: str, min_chars: int) -> dict[str, object]:
    """What a program writes at once: fluent, the same each time, with a key for each character."""
    text = f"The prosody and timbre of this clip are consistent with the answer {label}."
    text = _long_enough(text, min_chars)
    return {"text": text, "keystrokes": len(text), "pasted_chars": 0, "typing_ms": 5 * len(text)}


def _long_enough(text: str, min_chars: int) -> str:
    while len(text) < min_chars:
        text = f"{text} {text}"
    return text


def typing_facts(random: Random, text: str, *, pasted: bool) -> dict[str, int]:
    """How the text came to be, as the page reports it."""
    if pasted:
        return {"keystrokes": 2, "pasted_chars": len(text), "typing_ms": random.randint(300, 2_000)}
    keystrokes = len(text) + 2 * random.randint(0, max(len(text) // 12, 1))
    typing_ms = int(sum(random.lognormvariate(5.2, 0.4) for _ in range(keystrokes)))
    return {"keystrokes": keystrokes, "pasted_chars": 0, "typing_ms": typing_ms}
