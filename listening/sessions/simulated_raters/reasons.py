"""Reasons that scripted raters type: varied, fitting the label, and never about a known truth."""

from random import Random

HEARD = {
    "Human": (
        "there is a small breath in the middle",
        "the stress falls where it should",
        "the pace slows down towards the end",
        "the pitch moves freely",
        "I hear the mouth open at the start",
        "the sentence has one clear melody",
    ),
    "Machine": (
        "every word has the same weight",
        "the consonants buzz a little",
        "the pauses are all of one length",
        "the melody starts anew with each word",
        "the vowels sound cut together",
        "there is a ring under the voice",
    ),
    "Unclear": (
        "the rhythm is fine but the timbre flat",
        "it could be a careful reader",
        "one word sounded wrong",
        "it is too short to be sure",
        "the voice is warm, the pauses are odd",
    ),
}
OPENINGS = ("", "To me ", "I noticed ", "Mostly ", "I think ", "Again: ")
ENDINGS = ("", ".", ", I think.", ", for sure.", ". Not sure.")
LAZY = ("good", "ok sound", "idk", "just a feeling", "sounds like it", "nice voice nice voice")


def reason(random: Random, label: str, min_chars: int) -> str:
    """A sentence or two for this label, at least `min_chars` long.

    Two raters may write the same short sentence, as people do. A longer one names the moments.
    """
    heard = list(HEARD.get(label, HEARD["Unclear"]))
    random.shuffle(heard)
    opening, ending = random.choice(OPENINGS), random.choice(ENDINGS)
    text = opening + heard.pop()
    if len(text + ending) < min_chars:
        text += _moment(random)
        while len(text + ending) < min_chars and heard:
            text = f"{text}, and {heard.pop()}{_moment(random)}"
    text += ending
    return _long_enough(text if opening else text[0].upper() + text[1:], min_chars)


def _moment(random: Random) -> str:
    start = random.uniform(0.1, 4)
    return f" (from {start:.2f} s to {start + random.uniform(0.2, 4):.2f} s)"


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
