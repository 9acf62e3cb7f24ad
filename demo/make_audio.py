"""Makes the files of demo/audio, and says how each was made.

    python demo/make_audio.py                   what is missing is made
    python demo/make_audio.py --again           everything is made anew
    python demo/make_audio.py --packages DIR    also the human readings, out of packages in DIR
    python demo/make_audio.py --recordings DIR  first brings recordings in, with their manifest.csv

The voices speak the lines of stimuli.csv where their programs are installed (Debian: `apt install
flite festival festvox-us-slt-hts espeak-ng`); the readings are cut out of the packages named in
spoken_lines.py, unpacked anywhere below DIR. What cannot be made is left as it is, and the last
lines say what it takes. demo/audio/made.csv lists every file that is made here, and how.
"""

from __future__ import annotations

import argparse
import csv
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from pathlib import Path

import numpy as np
import soundfile
from choice_sounds import choice_sounds
from conversations import conversations
from recipes import (
    AUDIO,
    RATE_HZ,
    LacksError,
    Recipe,
    Wave,
    at_rate,
    faded,
    levelled,
    random_of,
    rms,
    sound,
    write,
)
from scipy import signal
from sound_effects import sound_effects
from spoken_lines import VOICES, spoken, spoken_lines

NAMES = {"flite-kal16": "flite-kal", "espeak": "espeak-ng"}  # manifest's name: ours


def recipes(packages: Path | None = None) -> Iterator[Recipe]:
    yield from spoken_lines(packages)
    yield from anchors()
    yield from coded()
    yield from noisy_and_cleaned()
    yield from enhanced_and_references()
    yield from masked()
    yield from stuttered()
    yield from vocalised()
    yield from spoken_instructions()
    yield from spoiled_chinese()
    yield from sound_effects()
    yield begun()
    yield from choice_sounds()
    yield from conversations()


# --- MUSHRA: anchors of BS.1534 ------------------------------------------------------------------


def anchors() -> Iterator[Recipe]:
    for item in ("s0870", "s0880", "s0890", "s0920", "s0930"):
        for name, cut_hz in (("anchor35", 3500), ("anchor70", 7000)):
            how = f"low-pass at {cut_hz} Hz (Kaiser window, 80 dB, zero phase), level kept"
            yield Recipe(
                f"{name}_{item}", f"human_{item}", how, low_passed(f"human_{item}", cut_hz), True
            )


def low_passed(name: str, cut_hz: float) -> Callable[[], Wave]:
    def make() -> Wave:
        taps, beta = signal.kaiserord(80.0, 500 / (RATE_HZ / 2))
        fir = signal.firwin(taps | 1, cut_hz, window=("kaiser", beta), fs=RATE_HZ)
        return np.convolve(sound(name), fir, mode="same")

    return make


# --- Codecs: Opus at a few bit rates, and MP3 ----------------------------------------------------


def coded() -> Iterator[Recipe]:
    for item in ("s0880", "s0890", "s0920", "s0930"):
        for kbps in (8, 12, 16, 24):
            yield Recipe(
                f"opus{kbps}_{item}",
                f"human_{item}",
                f"Opus at {kbps} kbit/s (libsndfile), level kept",
                partial(sound, f"human_{item}"),
                True,
                opus_level=1 - (kbps - 6) / 250,
            )
        yield Recipe(
            f"mp3-16_{item}",
            f"human_{item}",
            "MP3 at 16 kbit/s (libsndfile) and back, aligned, level kept",
            partial(through_mp3, f"human_{item}"),
            True,
        )


def through_mp3(name: str) -> Wave:
    """Encoded and decoded, as long as before, without the delay of the codec."""
    speech, file = sound(name), BytesIO()
    how = {"compression_level": 0.95, "bitrate_mode": "CONSTANT"}
    soundfile.write(file, speech, RATE_HZ, format="MP3", subtype="MPEG_LAYER_III", **how)
    file.seek(0)
    back, _ = soundfile.read(file)
    lag = int(np.argmax(signal.correlate(back, speech, method="fft"))) - (len(speech) - 1)
    return np.asarray(back[lag : lag + len(speech)])


# --- P.835, DCR: noise added, and most of it taken out again -------------------------------------


def noisy_and_cleaned() -> Iterator[Recipe]:
    for item in ("s0880", "s0890", "s0930"):
        yield Recipe(
            f"noisy_{item}",
            f"human_{item}",
            "pink noise added, 8 dB below the speech",
            partial(noisy, item),
        )
        yield Recipe(
            f"denoised_{item}",
            f"noisy_{item}",
            "spectral subtraction (32 ms windows, floor -14 dB), which leaves its artefacts",
            partial(denoised, item),
        )


def noisy(item: str) -> Wave:
    return with_noise(item)[0]


def denoised(item: str) -> Wave:
    return without_noise(*with_noise(item))


def with_noise(item: str, snr_db: float = 8.0) -> tuple[Wave, Wave]:
    """The noisy speech, and the noise alone."""
    speech = sound(f"human_{item}")
    noise = pink(len(speech), f"noisy_{item}")
    noise *= rms(speech) / rms(noise) * 10 ** (-snr_db / 20)
    return speech + noise, noise


def without_noise(mixed: Wave, noise: Wave, floor: float = 0.2) -> Wave:
    transform = signal.ShortTimeFFT(signal.windows.hann(512), hop=128, fs=RATE_HZ)
    spectrum = transform.stft(mixed)
    power = np.mean(np.abs(transform.stft(noise)) ** 2, axis=1, keepdims=True)
    gain = 1 - 1.5 * power / np.maximum(np.abs(spectrum) ** 2, 1e-12)
    return np.asarray(transform.istft(spectrum * np.maximum(gain, floor), k1=len(mixed)))


# --- P.835: a second enhancer, and reference conditions for its two scales ----------------------

REFERENCE_SNR_DB = (12, 24)
REFERENCE_MNRU_DB = (10, 20)


def enhanced_and_references() -> Iterator[Recipe]:
    for item in ("s0880", "s0890", "s0930"):
        yield Recipe(
            f"stripped_{item}",
            f"noisy_{item}",
            "as denoised, with a floor of -30 dB: less noise, more artefacts",
            partial(stripped, item),
        )
        for snr_db in REFERENCE_SNR_DB:
            yield Recipe(
                f"noise{snr_db:02}_{item}",
                f"human_{item}",
                f"pink noise added, {snr_db} dB below the speech",
                partial(with_noise_only, item, snr_db),
            )
        for q_db in REFERENCE_MNRU_DB:
            yield Recipe(
                f"mnru{q_db}_{item}",
                f"human_{item}",
                f"noise modulated by the speech, {q_db} dB below it (MNRU, ITU-T P.810)",
                partial(modulated, item, q_db),
            )


def stripped(item: str) -> Wave:
    return without_noise(*with_noise(item), floor=10 ** (-30 / 20))


def with_noise_only(item: str, snr_db: float) -> Wave:
    return with_noise(item, snr_db)[0]


def modulated(item: str, q_db: float) -> Wave:
    """y(t) = x(t) (1 + 10^(-Q/20) n(t)), with n white and of unit power (ITU-T P.810)."""
    speech = sound(f"human_{item}")
    noise = random_of(f"mnru{q_db}_{item}").standard_normal(len(speech))
    return np.asarray(speech * (1 + 10 ** (-q_db / 20) * noise))


def pink(count: int, name: str) -> Wave:
    spectrum = np.fft.rfft(random_of(name).standard_normal(count))
    hz = np.fft.rfftfreq(count, 1 / RATE_HZ)
    return np.asarray(np.fft.irfft(spectrum / np.sqrt(np.maximum(hz, 50.0)), count))


# --- Intelligibility: speech in noise of its own spectrum ----------------------------------------

MASKED = ("human", "flite-slt", "espeak-ng")
MASKED_SNR_DB = -4.0


def masked() -> Iterator[Recipe]:
    for voice in MASKED:
        for item in ("s0880", "s0890", "s0920", "s0930"):
            yield Recipe(
                f"masked-{voice}_{item}",
                f"{voice}_{item}",
                f"speech-shaped noise added, {-MASKED_SNR_DB:g} dB above the speech; 10 bits",
                partial(in_noise, voice, item),
                keep_level=True,
            )


def in_noise(voice: str, item: str) -> Wave:
    """The speech in noise with the spectrum of the human reader, the same for each voice."""
    speech = sound(f"{voice}_{item}")
    noise = speech_shaped(len(speech), f"masked_{item}")
    mixed = speech + noise * rms(speech) / rms(noise) * 10 ** (-MASKED_SNR_DB / 20)
    return np.round(levelled(mixed, RATE_HZ) * 2**9) / 2**9  # smaller files; the noise covers it


def speech_shaped(count: int, name: str) -> Wave:
    hz, power = signal.welch(sound("human_s0870"), RATE_HZ, nperseg=512)
    spectrum = np.fft.rfft(random_of(name).standard_normal(count))
    gain = np.sqrt(np.interp(np.fft.rfftfreq(count, 1 / RATE_HZ), hz, power))
    return np.asarray(np.fft.irfft(spectrum * gain, count))


# --- Marked errors: a glitch in the last word, for practice and traps -----------------------------

GLITCH_S, REPEATED_S = 0.25, 0.05


def stuttered() -> Iterator[Recipe]:
    for voice, item in (("flite-slt", "s0880"), ("flite-rms", "s0930")):
        yield Recipe(
            f"stuttered-{voice}_{item}",
            f"{voice}_{item}",
            f"the last {GLITCH_S:g} s of speech are {REPEATED_S:g} s, repeated",
            partial(with_glitch, f"{voice}_{item}"),
        )


def with_glitch(name: str) -> Wave:
    speech = sound(name).copy()
    end = int(np.flatnonzero(np.abs(speech) > 0.05 * np.abs(speech).max())[-1])
    start, step = end - int(GLITCH_S * RATE_HZ), int(REPEATED_S * RATE_HZ)
    speech[start:end] = np.resize(speech[start : start + step], end - start)
    return speech


# --- NVV: stand-ins for recordings with breaths and laughter, which the demo does not have -------


@dataclass(frozen=True)
class Vocal:
    """A sentence, the vocalisation that its tag asks for, and where the tag stands."""

    item: str
    kind: str  # breath or laughter
    at_s: float  # in the clip of flite-slt; other voices: at the same share of their length


VOCALS = (
    Vocal("s0880", "breath", 0.0),
    Vocal("s0890", "breath", 2.99),
    Vocal("s0920", "laughter", 2.03),
    Vocal("s0930", "laughter", 2.91),
)


def vocalised() -> Iterator[Recipe]:
    for voice in ("slt", "rms", "kal"):
        for vocal in VOCALS:
            made = {
                "breath": "a breath of band-passed noise (700-5000 Hz, 0.5 s) put in",
                "laughter": "“ha ha ha”, spoken by the same voice, put in",
            }
            place = "at the end instead of at the tag" if voice == "rms" else "at the tag"
            yield Recipe(
                f"nvv-{voice}_{vocal.item}",
                f"flite-{voice}_{vocal.item}",
                f"{made[vocal.kind]} {place}",
                partial(with_vocal, voice, vocal),
            )


def with_vocal(voice: str, vocal: Vocal) -> Wave:
    speech = sound(f"flite-{voice}_{vocal.item}")
    share = vocal.at_s / (len(sound(f"flite-slt_{vocal.item}")) / RATE_HZ)
    at = len(speech) if voice == "rms" else quietest_near(speech, min(share, 1) * len(speech))
    if vocal.kind == "breath":
        extra = breath(f"nvv-{voice}_{vocal.item}") * rms(speech) * 0.35
    else:
        extra = spoken("Ha, ha, ha!", VOICES[f"flite-{voice}"])
        extra *= rms(speech) / rms(extra)
    gap = np.zeros(round(0.08 * RATE_HZ))
    return np.concatenate([speech[:at], gap, faded(extra), gap, speech[at:]])


def breath(name: str) -> Wave:
    """Unit power: noise in the band of a breath, that swells and stops."""
    count = round(0.5 * RATE_HZ)
    band = signal.butter(2, (700, 5000), "bandpass", fs=RATE_HZ, output="sos")
    swell = np.sin(np.pi * np.linspace(0, 1, count) ** 1.6) ** 2
    wave = signal.sosfilt(band, random_of(name).standard_normal(count)) * swell
    return np.asarray(wave / rms(wave))


def quietest_near(wave: Wave, place: float, reach_s: float = 0.2) -> int:
    """The middle of the quietest 30 ms around a place: between two words, if there is a gap."""
    if place <= 0 or place >= len(wave):
        return int(min(max(place, 0), len(wave)))
    width = round(0.03 * RATE_HZ)
    energy = np.convolve(wave**2, np.ones(width), mode="same")
    low = max(0, round(place - reach_s * RATE_HZ))
    return low + int(np.argmin(energy[low : round(place + reach_s * RATE_HZ)]))


# --- P.808: traps that say which answer to choose ------------------------------------------------

INSTRUCTIONS = {
    "spoken-1": ("s0920", "This is a check. Please ignore the voice, and choose one, bad."),
    "spoken-2": ("s0870", "This is a check. Please ignore the voice, and choose two, poor."),
    "spoken-4": ("s0890", "This is a check. Please ignore the voice, and choose four, good."),
}


def spoken_instructions() -> Iterator[Recipe]:
    for name, (item, words) in INSTRUCTIONS.items():
        yield Recipe(
            f"{name}_{item}",
            f"flite-slt_{item}",
            f"its first 2 seconds, then the same voice says: {words}",
            partial(interrupted, item, words),
        )


def interrupted(item: str, words: str) -> Wave:
    start = sound(f"flite-slt_{item}")
    start = start[: quietest_near(start, 2.0 * RATE_HZ)]
    said = spoken(words, VOICES["flite-slt"])
    said *= rms(start) / rms(said)
    return np.concatenate([faded(start), np.zeros(round(0.3 * RATE_HZ)), said])


# --- ATT in Chinese: traps that are plainly a machine --------------------------------------------


def spoiled_chinese() -> Iterator[Recipe]:
    for name in ("espeak-zh-m_z1", "espeak-zh-f_z3"):
        item = name.split("_")[1]
        how = "its pitch taken away: ring modulation at 90 Hz"
        yield Recipe(f"flawed-zh_{item}", name, how, partial(ring_modulated, name, 90.0))


def ring_modulated(name: str, hz: float) -> Wave:
    speech = sound(name)
    return np.asarray(speech * np.sin(2 * np.pi * hz * np.arange(len(speech)) / RATE_HZ))


# --- a known answer that nobody rates -------------------------------------------------------------


def begun() -> Recipe:
    """The human reader again, up to the stop before “prudently”: good speech, and no rated clip."""
    how = "the first 4.78 s, faded out within 10 ms, at the common level"
    cut = round(4.78 * RATE_HZ)
    return Recipe("begun_s0870", "human_s0870", how, lambda: faded(sound("human_s0870")[:cut]))


# --- the command ---------------------------------------------------------------------------------


def bring(recordings: Path, *, again: bool) -> None:
    """Recordings at one level; long clips and dialogues at 16 kHz too, the rest at their rate."""
    with (recordings / "manifest.csv").open(encoding="utf-8", newline="") as table:
        rows = [row for row in csv.DictReader(table) if row["set"] != "traps"]
    for row in rows:
        name = f"{NAMES.get(row['system'], row['system'])}_{row['text_id']}"
        if (AUDIO / f"{name}.flac").exists() and not again:
            continue
        wave, rate_hz = soundfile.read(recordings / row["file"])
        if row["set"] in ("long", "dialogues"):
            wave, rate_hz = at_rate(wave, rate_hz), RATE_HZ
        write(AUDIO / f"{name}.flac", levelled(wave, rate_hz), rate_hz)


def make(recipe: Recipe, *, again: bool) -> str:
    """What became of it, in a word; LacksError if it cannot be made here."""
    if recipe.file.exists() and not again:
        return "kept"
    wave = recipe.make()
    wave = wave if recipe.keep_level else levelled(wave, recipe.rate_hz)
    write(recipe.file, wave, recipe.rate_hz, recipe.opus_level)
    return "made"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--recordings", type=Path, help="a folder with recordings and manifest.csv")
    parser.add_argument("--packages", type=Path, help="a folder with the packages of the readings")
    parser.add_argument("--again", action="store_true", help="make existing files anew")
    options = parser.parse_args()
    if options.recordings:
        bring(options.recordings, again=options.again)
    rows, left = [], defaultdict(list)
    for recipe in recipes(options.packages):
        try:
            print(f"{recipe.name}: {make(recipe, again=options.again)}")
        except LacksError as lacks:
            left[str(lacks)].append(recipe.name)
        rows.append([recipe.file.name, recipe.sources, recipe.how])
    for missing, names in left.items():
        print(f"Not made for want of {missing}: {', '.join(names)}")
    with (AUDIO / "made.csv").open("w", encoding="utf-8", newline="") as table:
        csv.writer(table, lineterminator="\n").writerows([["file", "made from", "how"], *rows])


if __name__ == "__main__":
    main()
