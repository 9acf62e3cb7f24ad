"""Sounds of the presets with a right answer: words that rhyme, and lines in three styles."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from recipes import RATE_HZ, Recipe, Wave, random_of, rms, sound
from scipy import signal
from spoken_lines import VOICES, spoken

# Each differs from its alternative by one feature of the first consonant (Voiers 1977).
WORDS = (
    *("veal", "coat", "meat", "deed", "sheet", "tick"),
    *("jest", "thing", "pool", "net", "key", "so"),
)
CLEAR_WORDS = ("tune", "window", "carpet")  # for practice and traps
WORD_VOICES = ("slt", "rms", "kal")
SNR_DB = -3.0
EDGE_S = 0.15  # of silence before and after a word
STYLES = {"excited": 1.18, "tired": 0.84}  # how much faster and higher than the line as it is
STYLE_VOICES = ("slt", "rms")
STYLE_ITEMS = ("s0880", "s0890", "s0930")


def choice_sounds() -> Iterator[Recipe]:
    yield from rhyme_words()
    yield from styles()


def rhyme_words() -> Iterator[Recipe]:
    """Single words by each voice, and those of one voice in noise."""
    for voice in WORD_VOICES:
        for word in WORDS:
            yield said_word(voice, word)
    for word in CLEAR_WORDS:
        yield said_word("slt", word)
    for word in WORDS:
        how = f"noise of the word's own spectrum added, {SNR_DB:g} dB signal to noise"
        source = f"word-slt_{word}"
        yield Recipe(f"word-noisy_{word}", source, how, partial(in_noise, source))


def said_word(voice: str, word: str) -> Recipe:
    command = VOICES[f"flite-{voice}"]
    how = f"the word “{word}”, spoken by: {' '.join(command.command)}"

    def make() -> Wave:
        edge = np.zeros(round(EDGE_S * RATE_HZ))
        return np.concatenate([edge, spoken(word, command), edge])

    return Recipe(f"word-{voice}_{word}", "", how, make)


def in_noise(source: str) -> Wave:
    """The word in noise with its long-term spectrum: its phases are drawn."""
    speech = sound(source)
    spectrum = np.abs(np.fft.rfft(speech))
    smooth = signal.savgol_filter(spectrum, 101, 1).clip(min=0.0)
    phases = random_of(source).uniform(0, 2 * np.pi, len(smooth))
    noise = np.fft.irfft(smooth * np.exp(1j * phases), len(speech))
    return speech + noise * rms(speech) / rms(noise) * 10 ** (-SNR_DB / 20)


def styles() -> Iterator[Recipe]:
    for style in STYLES:
        for voice in STYLE_VOICES:
            for item in STYLE_ITEMS:
                yield styled(style, voice, item)
    yield styled("tired", "kal", "a0007")  # for practice


def styled(style: str, voice: str, item: str) -> Recipe:
    source, factor = f"flite-{voice}_{item}", STYLES[style]
    how = f"played {factor:g} times as fast, so that much higher too"
    return Recipe(f"{style}-{voice}_{item}", source, how, played_at(source, factor))


def played_at(source: str, factor: float) -> Callable[[], Wave]:
    def make() -> Wave:
        wave = sound(source)
        return np.asarray(signal.resample(wave, round(len(wave) / factor)))

    return make
