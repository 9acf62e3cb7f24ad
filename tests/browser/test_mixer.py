"""The mixer of parallel trials, rendered sample by sample in Chromium: no click, no drift."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page

from tests.browser.fake import FakeServer
from tests.browser.story import Story, short_story

Serve = Callable[[Story], FakeServer]
NewPage = Callable[..., Page]
Render = Callable[..., tuple[np.ndarray, dict[str, Any]]]
RATE_HZ = 48_000
LEAD = 960  # samples from "play" to the first sound: 20 ms
FADE = 480  # samples of every fade: 10 ms

# Waves come as expressions of t (seconds) and n (samples); acts as [time, code over m].
RENDER = """async () => {
    const { Mixer } = await import("/static/js/rater/mixer.js");
    const rate = 48000, length = LENGTH, waves = WAVES, acts = ACTS;
    const context = new OfflineAudioContext(2, length * rate, rate);
    const buffers = waves.map((channels) => {
        const buffer = context.createBuffer(channels.length, 2 * rate, rate);
        channels.forEach((wave, k) => {
            buffer.getChannelData(k).forEach((_, n, data) => { data[n] = wave(n / rate, n); });
        });
        return buffer;
    });
    const m = new Mixer(context, buffers);
    const notes = { heard: [] };
    const block = (time) => Math.floor(time * rate / 128);
    const ticks = Array.from({ length: Math.ceil(length / 0.1) - 1 }, (_, k) => [0.1 * (k + 1)]);
    const taken = new Set([0]);
    for (const [time, act] of [...acts, ...ticks]) {
        if (taken.has(block(time))) continue;
        taken.add(block(time));
        context.suspend(time).then(() => {
            m.tick();
            act?.(m, notes);
            context.resume();
        });
    }
    FIRST;
    const sound = await context.startRendering();
    m.collect();
    notes.heard.push(...m.take());
    notes.loops = m.wraps;
    notes.position = m.position;
    return { left: [...sound.getChannelData(0)], right: [...sound.getChannelData(1)], notes };
}"""


def script(
    waves: Sequence[str | list[str]],
    length_s: float,
    acts: Sequence[tuple[float, str]],
    first: str,
) -> str:
    channels = [wave if isinstance(wave, list) else [wave] for wave in waves]
    told = [", ".join(f"(t, n) => {code}" for code in each) for each in channels]
    done = [f"[{time}, (m, notes) => {{ {code} }}]" for time, code in acts]
    return (
        RENDER.replace("LENGTH", str(length_s))
        .replace("WAVES", "[" + ", ".join(f"[{each}]" for each in told) + "]")
        .replace("ACTS", "[" + ", ".join(done) + "]")
        .replace("FIRST", first)
    )


@pytest.fixture
def render(serve: Serve, new_page: NewPage) -> Render:
    """Renders the mixer's output: (channels, samples) and what the mixer noted."""
    page = new_page()
    page.goto(f"{serve(short_story(1)).url}/lost/")

    def play(
        waves: Sequence[str | list[str]],
        length_s: float,
        acts: Sequence[tuple[float, str]] = (),
        first: str = "m.play()",
    ) -> tuple[np.ndarray, dict[str, Any]]:
        got = page.evaluate(script(waves, length_s, acts, first))
        return np.array([got["left"], got["right"]]), got["notes"]

    return play


def sine(frequency_hz: int) -> str:
    return f"0.3 * Math.sin(2 * Math.PI * {frequency_hz} * t)"


def steepest(wave: np.ndarray) -> float:
    return float(np.abs(np.diff(wave)).max())


SLOPE = 0.3 * 2 * np.pi * 450 / RATE_HZ  # the steepest step that the louder of the tones has
ROOM = 2**0.5 * SLOPE + 0.3 * 2 * (np.pi / 2) / FADE  # two at equal power, and the fades' own


def test_switching_makes_no_jump_beyond_those_of_the_signals(render: Render) -> None:
    switches = [(0.2 + 0.1 * k + 0.0137 * (k % 3), f"m.select({(k + 1) % 2})") for k in range(12)]
    wave, _ = render([sine(300), sine(450)], 1.8, switches)
    assert steepest(wave[0]) < ROOM
    loud = np.lib.stride_tricks.sliding_window_view(wave[0][LEAD + FADE :], 240)[::60]
    assert np.abs(loud).max(axis=1).min() > 0.15  # and never a gap: half a period is 2 ms


def test_switching_very_fast_makes_no_jump_either(render: Render) -> None:
    acts = [(0.3 + k / 250, f"m.select({(k + 1) % 3})") for k in range(40)]
    wave, _ = render([sine(300), sine(450), sine(220)], 1.2, acts)
    assert steepest(wave[0]) < ROOM


def test_a_switch_changes_the_clip_and_not_the_place(render: Render) -> None:
    """Ramps tell their own place: the output must go on at the very same sample."""
    wave, notes = render(["n / 96000", "-n / 96000"], 1.5, [(0.5, "m.select(1)")])
    place = (np.arange(wave.shape[1]) - LEAD) / 96_000
    before = slice(LEAD + FADE, 24_000)
    after = slice(24_000 + LEAD + 2 * FADE, 71_000)
    assert np.abs(wave[0][before] - place[before]).max() < 1e-6
    assert np.abs(wave[0][after] + place[after]).max() < 1e-6
    (first, second) = notes["heard"][0], notes["heard"][-1]
    assert first[:2] == [0, 0]
    assert first[0] == 0
    assert second[0] == 1
    assert second[2] == pytest.approx(1.48, abs=0.01)


def test_a_loop_comes_round_on_time_and_its_seam_is_faded(render: Render) -> None:
    first = "m.setLoop({ on: true, from: 0.2, to: 0.5 }); m.play()"
    wave, notes = render(["n / 96000"], 1.5, first=first)
    period = round(0.3 * RATE_HZ) - FADE
    inside = np.arange(LEAD, 70_000) - LEAD
    place = 0.1 + (inside % period) / 96_000
    away = (inside % period > FADE) & (inside % period < period - 1)
    assert np.abs(wave[0][LEAD:70_000] - place)[away].max() < 1e-6
    assert steepest(wave[0]) < 0.25 / FADE * 2
    assert notes["loops"] == (72_000 - LEAD) // period
    assert all(0.199 < start < end < 0.501 for _, start, end in notes["heard"])


def test_a_loop_may_be_moved_while_it_plays(render: Render) -> None:
    acts = [
        (0.5, "m.setLoop({ on: true, from: 0.4, to: 0.9 })"),  # the ear is inside: it goes on
        (1.2, "m.setLoop({ on: true, from: 1.2, to: 1.6 })"),  # outside: from its start
    ]
    wave, _ = render(["n / 96000"], 1.6, acts)
    place = (np.arange(wave.shape[1]) - LEAD) / 96_000
    assert np.abs(wave[0] - place)[LEAD + FADE : 40_000].max() < 1e-6
    assert wave[0][60_000:].min() >= 0.6 - 1e-6
    assert steepest(wave[0]) < 0.9 / FADE * 2


def test_a_restart_begins_the_next_clip_where_the_loop_does(render: Render) -> None:
    first = "m.setLoop({ on: true, from: 0.2, to: 1.8 }); m.play()"
    wave, notes = render(["n / 96000", "-n / 96000"], 1.5, [(0.5, "m.restart(1)")], first)
    later = (9_600 + 60_000 - 24_000 - LEAD) / 96_000  # from 0.2 s on, half a second after it began
    assert wave[0][60_000] == pytest.approx(-later, abs=0.002)
    assert wave[0][20_000] == pytest.approx((9_600 + 20_000 - LEAD) / 96_000, abs=0.002)
    assert steepest(wave[0]) < 0.9 / FADE * 2
    (one, _, _), *_, (other, _, end) = notes["heard"]
    assert (one, other, end) == (0, 1, pytest.approx(0.2 + 0.98, abs=0.02))


def test_pause_and_jump_fade(render: Render) -> None:
    acts = [
        (0.4, "m.seek(0.9)"),
        (0.7, "m.pause()"),
        (1.0, "notes.rest = m.position; m.play()"),
    ]
    wave, notes = render([sine(450)], 1.5, acts)
    assert steepest(wave[0]) < ROOM
    assert np.abs(wave[0][36_000:48_000]).max() == 0
    assert notes["rest"] == pytest.approx(0.9 + 0.3, abs=0.03)
    assert notes["position"] == pytest.approx(notes["rest"] + 0.48, abs=0.01)


def test_the_end_without_a_loop_is_the_end(render: Render) -> None:
    first = "m.setLoop({ on: false, from: 0, to: 2 }); m.seek(1.5); m.play()"
    wave, notes = render([sine(450)], 1.5, first=first)
    assert steepest(wave[0]) < ROOM
    assert np.abs(wave[0][LEAD + 24_000 + 10 :]).max() == 0
    assert notes["position"] == 0
    assert notes["heard"][-1][2] == pytest.approx(2.0, abs=0.11)


def test_mono_is_in_both_ears_and_stereo_stays_stereo(render: Render) -> None:
    wave, _ = render([sine(300), [sine(300), "0"]], 1.0, [(0.5, "m.select(1)")])
    assert np.array_equal(wave[0][:24_000], wave[1][:24_000])
    assert np.abs(wave[0][LEAD + FADE : 24_000]).max() > 0.29
    assert np.abs(wave[1][26_000:]).max() == 0
    assert np.abs(wave[0][26_000:]).max() > 0.29


LENGTHS = """async (files) => {
    const { Mixer } = await import("/static/js/rater/mixer.js");
    const context = new OfflineAudioContext(2, 2 * 48000, 48000);
    const buffers = [];
    for (const file of files) {
        const bytes = Uint8Array.from(atob(file), (c) => c.charCodeAt(0));
        buffers.push(await context.decodeAudioData(bytes.buffer));
    }
    const m = new Mixer(context, buffers);
    m.select(1);
    m.play();
    const sound = await context.startRendering();
    return { durations: m.durations, duration: m.duration, wave: [...sound.getChannelData(0)] };
}"""


def test_other_rates_and_unequal_lengths_are_at_home(serve: Serve, new_page: NewPage) -> None:
    """A clip of 16 kHz and 0.8 s beside one of 44.1 kHz and 1 s; it ends in mid-swing."""
    import base64

    from tests.browser.parallel_story import sine as wave_of
    from tests.browser.parallel_story import wav

    files = [wav(wave_of(300, 1.0, 44_100), 44_100), wav(wave_of(410, 0.8006, 16_000), 16_000)]
    page = new_page()
    page.goto(f"{serve(short_story(1)).url}/lost/")
    got = page.evaluate(LENGTHS, [base64.b64encode(file).decode() for file in files])
    assert got["durations"] == pytest.approx([1.0, 0.8006], abs=0.001)
    wave = np.array(got["wave"])
    heard = wave[LEAD + FADE : LEAD + 38_000]
    spectrum = np.abs(np.fft.rfft(heard * np.hanning(len(heard))))
    assert np.argmax(spectrum) * RATE_HZ / len(heard) == pytest.approx(410, abs=2)
    assert steepest(wave) < ROOM
    assert np.abs(wave[LEAD + 38_600 : LEAD + 47_000]).max() == 0
