"""Stories with parallel trials and every kind of scale, in the shape of the API's State."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import soundfile

from tests.browser.story import Story

BANDS = {"10": "Bad", "30": "Poor", "50": "Fair", "70": "Good", "90": "Excellent"}


def criterion(index: int, question: str, widget: str, **scale: Any) -> dict[str, Any]:
    steps = scale.pop("steps", [])
    whole = {"widget": widget, "steps": steps, "span": None, "longest": 0, **scale}
    return {"index": index, "question": question, "help": "", "scale": whole}


def step(label: str, text: str = "", hotkey: str = "", *, apart: bool = False) -> dict[str, Any]:
    return {"label": label, "text": text, "hotkey": hotkey, "apart": apart}


WORDS = [step(label, text) for label, text in BANDS.items()]
MUSHRA: dict[str, Any] = {
    "title": "How close to the reference?",
    "instructions": "Compare the clips with the reference and score each of them.",
    "screen": "parallel",
    "heard_out": False,
    "several": True,
    "clip_names": ["Reference", "A", "B", "C", "D"],
    "roles": ["reference", "rated", "rated", "rated", "rated"],
    "criteria": [
        criterion(
            0,
            "How good is each clip, compared with the reference?",
            "sliders",
            steps=WORDS,
            span=[0, 100, 1],
        )
    ],
    "justification": None,
}
RANKING: dict[str, Any] = {
    **MUSHRA,
    "title": "Best to worst",
    "instructions": "Listen to all clips and put them into order.",
    "clip_names": ["A", "B", "C"],
    "roles": ["rated"] * 3,
    "criteria": [criterion(0, "Which clip sounds best, which worst?", "ranking")],
}
BEST_WORST: dict[str, Any] = {
    **RANKING,
    "title": "Best and worst",
    "instructions": "Listen to all clips, then choose the best and the worst.",
    "clip_names": ["A", "B", "C", "D"],
    "roles": ["rated"] * 4,
    "criteria": [
        criterion(
            0,
            "Which clip is the best, and which the worst?",
            "best_worst",
            steps=[step("best", "Best"), step("neither"), step("worst", "Worst")],
        )
    ],
}
RHYME: dict[str, Any] = {
    "title": "Which word is it?",
    "instructions": "Choose the word that you heard.",
    "clip_names": ["Clip"],
    "criteria": [criterion(0, "Which word did you hear?", "alternatives")],
    "justification": None,
}


def question_story() -> Story:
    """Two trials, each with the question that its clip brings."""
    task = RHYME | {"criteria": [criterion(0, "{question}", "alternatives")]}
    steps = [step(word, word, str(place)) for place, word in enumerate(("yes", "no"), start=1)]
    extras = {
        k: {"alternatives": steps, "question": question}
        for k, question in enumerate(("Does it cost $& much?", "Is it late?"))
    }
    return Story([task], [(0, [0.3], None), (0, [0.3], None)], extras=extras)


def alternatives_story(*words: str) -> Story:
    """Two trials, each with the words that its clip brings; the second has them turned round."""
    words = words or ("veal", "feel")
    steps = [step(word, word, str(place)) for place, word in enumerate(words, start=1)]
    turned = [step(word, word, str(place)) for place, word in enumerate(words[::-1], start=1)]
    extras = {0: {"alternatives": steps}, 1: {"alternatives": turned}}
    return Story([RHYME], [(0, [0.3], None), (0, [0.3], None)], extras=extras)


LAUGHTER = [step(str(k), "", str(k)) for k in range(1, 6)]
TRANSCRIPT: dict[str, Any] = {
    "title": "Type what you hear",
    "instructions": "You hear a sentence. Type the words.",
    "clip_names": ["Clip"],
    "justification": None,
    "playback": {"plays": 2},
    "criteria": [
        criterion(
            0,
            "Type the words that you heard.",
            "transcript",
            steps=[step("[nothing understood]", "I could not understand anything")],
            longest=500,
        )
    ],
}

ERRORS: dict[str, Any] = {
    "title": "Mark errors",
    "instructions": "You hear a sentence. Mark the words that sound wrong.",
    "clip_names": ["Clip"],
    "justification": None,
    "criteria": [
        criterion(
            0,
            "Which words sound wrong?",
            "marks",
            steps=[
                step("mispronounced", "Mispronounced", "1"),
                step("pause", "Unnatural pause", "2"),
                step("glitch", "Glitch", "3"),
                step("[no errors]", "I hear no errors", "0", apart=True),
            ],
        )
    ],
}
MARKED_WORDS = ["He", "was", "not", "an", "ill-disposed", "young", "man,"]


def marks_story(clips: int = 1) -> Story:
    """Clips whose words are marked."""
    extras = {place: {"words": MARKED_WORDS} for place in range(clips)}
    return Story([ERRORS], [(0, [0.3], None)] * clips, extras=extras)


def spans_story(clips: int = 1, length_s: float = 1.0) -> Story:
    """Clips on whose waveforms errors are marked."""
    asked = {**ERRORS["criteria"][0], "question": "Where do you hear errors?"}
    asked["scale"] = {**asked["scale"], "widget": "spans"}
    return Story([{**ERRORS, "criteria": [asked]}], [(0, [length_s], None)] * clips)


SCALES: dict[str, Any] = {
    "title": "All scales",
    "instructions": "One clip, many questions.",
    "clip_names": ["Clip"],
    "criteria": [
        criterion(
            0,
            "How convincing is the laughter?",
            "steps",
            steps=[step("0", "No laughter heard", "0", apart=True), *LAUGHTER],
        ),
        criterion(1, "How natural is it?", "slider", steps=WORDS, span=[0, 100, 1]),
        criterion(
            2,
            "What did you hear?",
            "many",
            steps=[
                step("laugh", "Laughter"),
                step("cough", "A cough"),
                step("breath", "Breathing"),
                step("none", "Nothing of this", apart=True),
            ],
        ),
        criterion(3, "Anything else?", "text", longest=60),
    ],
    "justification": None,
}


def wav(wave: np.ndarray, rate_hz: int) -> bytes:
    """Samples, (n,) or (n, channels), as the bytes of a float WAV."""
    buffer = io.BytesIO()
    soundfile.write(buffer, wave.astype(np.float32), rate_hz, format="WAV", subtype="FLOAT")
    return buffer.getvalue()


def sine(frequency_hz: float, duration_s: float, rate_hz: int = 48_000) -> np.ndarray:
    time_s = np.arange(round(duration_s * rate_hz)) / rate_hz
    return 0.3 * np.sin(2 * np.pi * frequency_hz * time_s)


def mushra_story(
    length_s: float = 1.0, task: dict[str, Any] | None = None, trials: int = 1
) -> Story:
    """A reference and four clips: mono and stereo, several rates, unequal lengths."""
    whole = {**MUSHRA, **(task or {})}
    lengths = [length_s] * len(whole["clip_names"])
    story = Story([whole], [(0, lengths, None)] * trials, strict=False)
    for place in range(trials):
        left, right = sine(300, length_s, 44_100), sine(500, length_s, 44_100)
        story.clips[f"{place}x1"] = wav(np.stack([left, right], axis=1), 44_100)
        if len(lengths) > 2:
            story.clips[f"{place}x2"] = wav(sine(400, length_s * 0.8, 16_000), 16_000)
    return story
