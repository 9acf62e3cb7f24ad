"""The sounds of the checks, analysed as signals."""

import numpy as np
import pytest

from listening.checks import CheckTrial, check_named, sounds
from listening.checks import antiphase as anti
from listening.checks import huggins as hug
from listening.checks.check import secret_noise
from listening.checks.sounds import EDGE_S, INTERVAL_S, LEVEL_DBFS, PAUSE_S, PLACES, Samples
from listening.checks.volume import SYLLABLES_HZ

RATE_HZ = hug.RATE_HZ


def db(power: float | Samples) -> Samples:
    return np.asarray(10 * np.log10(power))


def heard(key: str, seed: str, place: int) -> tuple[CheckTrial, Samples]:
    """A trial of the check as studies ask it by default, and its sound."""
    check = check_named(key)
    settings = check.settings({})
    return check.plan(settings, seed)[place], check.signal(settings, seed, place).astype(float)


def three_of(wave: Samples) -> dict[str, Samples]:
    """The intervals of a sound by their place; around them is silence."""
    n, step = round(INTERVAL_S * RATE_HZ), round((INTERVAL_S + PAUSE_S) * RATE_HZ)
    first = round(EDGE_S * RATE_HZ)
    found = {name: wave[first + k * step :][:n] for k, name in enumerate(PLACES)}
    assert sum(np.sum(part**2) for part in found.values()) == pytest.approx(np.sum(wave**2))
    return found


def frames_of(wave: Samples, size: int = 1024) -> Samples:
    """Power spectra of Hann frames along one channel, half overlapped: (frames, frequencies)."""
    frames = np.lib.stride_tricks.sliding_window_view(wave, size)[:: size // 2]
    return np.asarray(np.abs(np.fft.rfft(frames * np.hanning(size))) ** 2)


def near_the_tone(wave: Samples) -> float:
    """Power of one channel between 540 and 660 Hz."""
    power = np.abs(np.fft.rfft(wave)) ** 2
    frequency_hz = np.fft.rfftfreq(len(wave), 1 / RATE_HZ)
    return float(power[(frequency_hz > 540) & (frequency_hz < 660)].sum())


# Volume


def test_the_volume_sound_has_the_level_and_rhythm_of_speech_and_loops_without_a_click():
    check = check_named("volume")
    signal = check.signal(check.settings({}), "s", 0).astype(float)
    assert db(np.mean(signal**2)) == pytest.approx(LEVEL_DBFS, abs=0.01)
    step = np.abs(np.diff(signal))
    assert abs(signal[0] - signal[-1]) <= step.max()
    envelope = np.abs(np.fft.rfft(signal**2))
    rates_hz = np.fft.rfftfreq(len(signal), 1 / check.sample_rate_hz)
    slow = (rates_hz > 1) & (rates_hz < 16)
    assert rates_hz[slow][envelope[slow].argmax()] == pytest.approx(SYLLABLES_HZ, abs=0.01)


# Huggins pitch


@pytest.mark.parametrize("turned", [False, True])
def test_each_ear_of_the_huggins_noise_is_flat_and_both_have_the_same_magnitudes(turned):
    ears = hug.ears(np.random.default_rng(3), turned=turned)
    magnitude = np.abs(np.fft.rfft(ears, axis=0))
    frequency_hz = np.fft.rfftfreq(len(ears), 1 / RATE_HZ)
    flat = magnitude[(frequency_hz >= hug.LOWEST_HZ) & (frequency_hz <= hug.HIGHEST_HZ)]
    assert flat.max() / flat.min() == pytest.approx(1, abs=1e-9)
    assert np.abs(magnitude[:, 0] - magnitude[:, 1]).max() < 1e-9 * flat.max()
    assert db(np.mean(ears**2, axis=0)) == pytest.approx(LEVEL_DBFS, abs=1e-6)


def test_the_phase_between_the_ears_is_turned_in_the_band_only_and_by_180_degrees():
    ears = hug.ears(np.random.default_rng(4), turned=True)
    left, right = np.fft.rfft(ears, axis=0).T
    frequency_hz = np.fft.rfftfreq(len(ears), 1 / RATE_HZ)
    flat = (frequency_hz >= hug.LOWEST_HZ) & (frequency_hz <= hug.HIGHEST_HZ)
    band = (frequency_hz >= 564) & (frequency_hz <= 636)
    phase = np.abs(np.angle(right * np.conj(left)))
    assert phase[band] == pytest.approx(np.pi, abs=1e-6)
    assert phase[flat & ~band] == pytest.approx(0, abs=1e-6)
    assert hug.ears(np.random.default_rng(4), turned=False)[:, 0] == pytest.approx(ears[:, 0])


@pytest.mark.parametrize("place", range(6))
def test_only_the_right_interval_differs_between_the_ears_and_only_around_600_hz(place):
    trial, wave = heard("huggins", "s", place)
    for name, interval in three_of(wave).items():
        difference = interval[:, 0] - interval[:, 1]
        if name != trial.truth:
            assert not difference.any()
            continue
        power = np.abs(np.fft.rfft(difference)) ** 2
        frequency_hz = np.fft.rfftfreq(len(difference), 1 / RATE_HZ)
        inside = (frequency_hz > 555) & (frequency_hz < 645)
        assert power[inside].sum() > 0.995 * power.sum()


@pytest.mark.slow
def test_one_ear_alone_cannot_find_the_huggins_tone():
    """Listeners of one channel who take the most, or least, energy near 600 Hz guess at best."""
    count, hits = 180, np.zeros(4)
    for k in range(count // 6):
        for place in range(6):
            trial, wave = heard("huggins", f"one ear {k}", place)
            for ear in (0, 1):
                found = {n: near_the_tone(part[:, ear]) for n, part in three_of(wave).items()}
                hits[2 * ear] += max(found, key=lambda n: found[n]) == trial.truth
                hits[2 * ear + 1] += min(found, key=lambda n: found[n]) == trial.truth
    assert hits / count == pytest.approx(1 / 3, abs=4 * (2 / 9 / count) ** 0.5)


def test_both_ears_together_find_the_huggins_tone_every_time():
    """The ears' difference near 600 Hz, as equalisation and cancellation would leave it."""
    for place in range(6):
        trial, wave = heard("huggins", "both ears", place)
        found = {n: near_the_tone(part[:, 0] - part[:, 1]) for n, part in three_of(wave).items()}
        assert max(found, key=lambda n: found[n]) == trial.truth


@pytest.mark.slow
@pytest.mark.parametrize("ear", [0, pytest.param(1, marks=pytest.mark.soak)])
def test_target_and_foils_have_the_same_long_term_statistics_in_each_ear(ear):
    """Mean spectrum, its spread over time, and the shape of the amplitudes, over 240 trials."""
    spectra: dict[bool, list[Samples]] = {True: [], False: []}
    tails: dict[bool, list[float]] = {True: [], False: []}
    for k in range(40):
        for place in range(6):
            trial, wave = heard("huggins", f"statistics {k}", place)
            for name, interval in three_of(wave).items():
                channel = interval[:, ear]
                spectra[name == trial.truth].append(frames_of(channel)[1:-1])
                peaks = np.mean(channel**4) / np.mean(channel**2) ** 2
                tails[name == trial.truth].append(float(peaks))
    target, foil = (np.concatenate(spectra[which]) for which in (True, False))
    frequency_hz = np.fft.rfftfreq(1024, 1 / RATE_HZ)
    inside = (frequency_hz > 2 * hug.LOWEST_HZ) & (frequency_hz < hug.HIGHEST_HZ - 50)
    # of exponential powers: the mean over so many half-overlapped frames errs by about 2.3 %
    level = db(target.mean(0)[inside] / foil.mean(0)[inside])
    assert np.abs(level).max() < 0.5
    flat = db(target.mean(0)[inside] / target.mean(0)[inside].mean())
    assert np.abs(flat).max() < 0.5
    spread = target.std(0)[inside] / foil.std(0)[inside]
    assert spread == pytest.approx(1, abs=0.15)
    error = np.std(tails[False]) / len(tails[True]) ** 0.5
    assert np.mean(tails[True]) == pytest.approx(np.mean(tails[False]), abs=4.5 * error)


# Antiphase


@pytest.mark.slow
@pytest.mark.parametrize("place", range(6))
def test_the_answer_is_6_db_quieter_and_one_of_the_others_is_inverted_in_one_ear(place):
    trial, wave = heard("antiphase", "s", place)
    inverted = trial.facts["inverted"]
    assert inverted != trial.truth
    for name, interval in three_of(wave).items():
        left, right = interval.T
        assert right == pytest.approx(-left if name == inverted else left, abs=1e-7)
        power = np.abs(np.fft.rfft(left)) ** 2
        assert np.fft.rfftfreq(len(left), 1 / RATE_HZ)[power.argmax()] == anti.TONE_HZ
        steady = left[round(anti.FADE_S * RATE_HZ) : -round(anti.FADE_S * RATE_HZ)]
        wanted = anti.TONE_DBFS - (6 if name == trial.truth else 0)
        assert db(np.mean(steady**2)) == pytest.approx(wanted, abs=0.01)


def test_in_the_air_the_inverted_tone_is_the_quietest_so_loudspeakers_lead_astray():
    for place in range(6):
        trial, wave = heard("antiphase", "air", place)
        mixed = {name: float(np.sum(part.sum(1) ** 2)) for name, part in three_of(wave).items()}
        assert min(mixed, key=lambda n: mixed[n]) == trial.facts["inverted"] != trial.truth


# Digits


def test_there_are_ten_digits_of_each_language_equally_loud_and_short_enough():
    assert {"en", "zh"} <= set(sounds.LANGUAGES)
    for language in sounds.LANGUAGES:
        waves = [sounds.digit(language, number) for number in "0123456789"]
        assert len({wave.tobytes() for wave in waves}) == 10
        for wave in waves:
            assert 0.2 * sounds.RATE_HZ < len(wave) < sounds.SLOT_S * sounds.RATE_HZ
            assert np.mean(wave**2) == pytest.approx(1)


@pytest.mark.parametrize("language", sounds.LANGUAGES)
def test_the_noise_has_the_long_term_spectrum_of_the_digits(language):
    """The band of the pitch, then third octaves to 6.3 kHz, by an independent long analysis."""
    every = np.concatenate([sounds.digit(language, number) for number in "0123456789"])
    noise = sounds.voice_noise(language, 30 * sounds.RATE_HZ, np.random.default_rng(5))
    centres_hz = 315 * 2 ** (np.arange(14) / 3)
    edges_hz = [100.0, *(centres_hz * 2 ** (-1 / 6)), centres_hz[-1] * 2 ** (1 / 6)]
    shares = []
    for wave in (every, noise):
        power = np.abs(np.fft.rfft(wave)) ** 2
        bands = np.searchsorted(edges_hz, np.fft.rfftfreq(len(wave), 1 / sounds.RATE_HZ))
        shares.append(np.bincount(bands, power)[1:-1] / power.sum())
    assert db(shares[1] / shares[0]) == pytest.approx(0, abs=1.5)


@pytest.mark.slow
@pytest.mark.parametrize(("language", "snr_db"), [("en", -8.0), ("zh", 4.0)])
def test_the_digits_have_the_ratio_that_was_asked_for(language, snr_db):
    """Means over 48 trials: in one trial speech and noise are alike by chance to some degree."""
    check = check_named("digits_in_noise")
    settings = check.settings({"snr_db": snr_db, "language": language})
    start = round(0.5 * sounds.RATE_HZ)
    gains, noises = [], []
    for seed in range(12):
        for place, trial in enumerate(check.plan(settings, f"s{seed}")):
            assert trial.facts["clean"] == (place == 0)
            words = sounds.spoken(language, trial.truth)
            whole = check.signal(settings, f"s{seed}", place).astype(float)
            wave = whole[start : start + len(words)]
            gain = wave @ words / (words @ words)
            noise = wave - gain * words
            if place == 0:
                assert np.abs(noise).max() < 1e-6
                assert not whole[:start].any()
                assert db(gain**2) == pytest.approx(LEVEL_DBFS, abs=0.01)
            else:
                gains.append(gain)
                noises.append(np.mean(noise**2))
    assert db(np.mean(gains) ** 2 / np.mean(noises)) == pytest.approx(snr_db, abs=0.4)
    assert db(np.mean(gains) ** 2 + np.mean(noises)) == pytest.approx(LEVEL_DBFS, abs=0.2)


@pytest.mark.parametrize("typed", ["4 2 7", " 427 ", "４２７", "四二七", "4, 2, 7", "4-2-7"])
def test_three_digits_are_understood_however_they_are_typed(typed):
    check = check_named("digits_in_noise")
    trial = CheckTrial("", (), "427")
    assert check.read(typed, trial) == "427"


def test_a_triplet_counts_when_all_digits_are_right_and_single_digits_are_kept_as_a_fact():
    check = check_named("digits_in_noise")
    settings = check.settings({})
    truths = [trial.truth for trial in check.plan(settings, "s")]
    nearly = [truth[:2] + str((int(truth[2]) + 1) % 10) for truth in truths]
    outcome = check.judge(settings, "s", [*truths[:2], *nearly[2:]])
    assert (outcome.right, outcome.passed) == (2, False)
    assert outcome.facts["digits_right"] == 12
    assert outcome.facts["snr_db"] == -2.0


# Environment


@pytest.mark.parametrize("place", range(4))
def test_the_same_words_come_twice_with_40_and_50_db_of_white_noise(place):
    trial, wave = heard("environment", "s", place)
    lead, half = (
        round(0.15 * sounds.RATE_HZ),
        round((2 * 0.15 + 1.4) * sounds.RATE_HZ),
    )
    starts = [round(0.1 * sounds.RATE_HZ), round((0.1 + 0.5) * sounds.RATE_HZ) + half]
    words = sounds.spoken("en", trial.facts["digits"])
    ratios_db = []
    for start in starts:
        part = wave[start : start + half]
        spoken = part[lead : lead + len(words)]
        gain = spoken @ words / (words @ words)
        noise = spoken - gain * words
        ratios_db.append(float(db(gain**2 / np.mean(noise**2))))
        power = np.abs(np.fft.rfft(noise)) ** 2
        quarters = [db(chunk.mean()) for chunk in np.array_split(power, 4)]
        assert max(quarters) - min(quarters) < 0.5
    wanted = [50, 40] if trial.truth == "first" else [40, 50]
    assert ratios_db == pytest.approx(wanted, abs=0.3)


def test_who_cannot_tell_is_counted_as_wrong():
    check = check_named("environment")
    settings = check.settings({})
    assert check.judge(settings, "s", ["cannot_tell"] * 4).right == 0
    truths = [trial.truth for trial in check.plan(settings, "s")]
    assert check.judge(settings, "s", ["cannot_tell", "cannot_tell", *truths[2:]]).passed


# Stereo


@pytest.mark.parametrize("place", range(4))
def test_the_digits_are_in_the_ear_that_is_right_with_the_same_power_in_all(place):
    trial, wave = heard("stereo", "s", place)
    left, right = (float(np.sum(wave[:, ear] ** 2)) for ear in (0, 1))
    shares = {"left": (1, 0), "middle": (0.5, 0.5), "right": (0, 1)}
    assert (left / (left + right), right / (left + right)) == pytest.approx(shares[trial.truth])
    assert trial.truth != "middle" or np.array_equal(wave[:, 0], wave[:, 1])


def test_the_noise_of_one_place_tells_nothing_about_another():
    draws = [secret_noise("huggins", "s", "noise", place).standard_normal(4000) for place in (0, 1)]
    correlation = np.mean(draws[0] * draws[1])
    assert abs(correlation) < 5 / 4000**0.5
