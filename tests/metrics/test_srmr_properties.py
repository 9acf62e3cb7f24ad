"""What SRMR must do with any audio: batches, levels, lengths, silence, broken samples."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.core.lazy_torch import torch
from metrics.core.metric import make_metric
from metrics.signal import srmr
from tests.metrics import reference

# Float32: sums in another order, on another processor, move a value by 8e-8. A neighbour heard
# at -60 dB moves it by 3e-5, a frame less by 1e-2.
ROUNDING = 5e-6

SHORT = 1e-3  # what is promised holds from 3 s on; of 220 shorter lengths the worst was 1.6e-4 off


@pytest.fixture
def windows():
    return torch.stack([reference.cut(row) for row in reference.rows("windows.csv")[:5]])


def values(waves, *settings):
    return [result.value for result in srmr.srmr(waves, *settings)]


def synthetic(n_samples, seed=1):
    """Noise with a speech-like rhythm of 4 Hz."""
    generator = torch.Generator().manual_seed(seed)
    time_s = torch.arange(n_samples) / 16_000
    rhythm = 1 + torch.sin(2 * math.pi * 4 * time_s)
    return torch.randn(n_samples, generator=generator) * rhythm / 8


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["slow", "fast"])
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_a_batch_gives_what_its_waves_give_alone(windows, variant, precision):
    windows = windows[:3] if precision == "float32" else windows[:2, :16_000]
    alone = [values(wave.unsqueeze(0), variant, precision)[0] for wave in windows]
    assert values(windows, variant, precision) == pytest.approx(alone, rel=ROUNDING)


@pytest.mark.slow
def test_waves_side_by_side_in_large_blocks_give_the_same(windows, monkeypatch):
    small = values(windows)
    monkeypatch.setitem(srmr.BLOCK_SAMPLES, "cpu", 1 << 22)  # several waves, as on a GPU
    assert values(windows) == pytest.approx(small, rel=ROUNDING)


@pytest.mark.slow
def test_the_level_changes_nothing(windows):
    windows = windows[:, :16_000]
    exact = values(windows[:1].double(), "slow_norm30", "float64") * 3
    levels = torch.tensor([[1e-7], [300.0], [-1.0]], dtype=torch.float64)
    louder = windows[:1].double() * levels
    assert values(louder, "slow_norm30", "float64") == pytest.approx(exact, rel=1e-11)
    assert values(louder.float()) == pytest.approx(values(windows[:1]) * 3, rel=ROUNDING)


@pytest.mark.medium
def test_reverberation_lowers_srmr():
    dry = synthetic(48_000)
    decay = torch.exp(-6.9 * torch.arange(12_800) / 12_800) * torch.randn(
        12_800, generator=torch.Generator().manual_seed(2)
    )
    wet = torch.fft.irfft(torch.fft.rfft(dry, n=64_000) * torch.fft.rfft(decay, n=64_000))
    (high, low) = values(torch.stack([dry, wet[:48_000]]))
    assert low < 0.8 * high


@pytest.mark.parametrize("variant", srmr.VARIANTS)
def test_silence_has_no_value(variant):
    (result,) = srmr.srmr(torch.zeros(1, 48_000), variant)
    assert (result.value, result.reason) == (None, "silent")


@pytest.mark.medium
def test_a_silent_wave_does_not_disturb_its_neighbours(windows):
    mixed = torch.stack([windows[0], torch.zeros(48_000), windows[1]])
    found = values(mixed)
    assert found[1] is None
    assert [found[0], found[2]] == pytest.approx(values(windows[:2]), rel=ROUNDING)


def test_the_shortest_wave_has_4081_samples():
    (short,) = srmr.srmr(synthetic(4080).unsqueeze(0))
    assert short.value is None
    assert short.reason.startswith("too short: 4080 samples")
    (enough,) = srmr.srmr(synthetic(4081).unsqueeze(0))
    assert enough.value is not None


def test_the_fast_variants_need_4592_samples():
    """103 columns: a transform of 512 samples, and 102 steps of 40."""
    (short,) = srmr.srmr(synthetic(4591).unsqueeze(0), "fast")
    assert short.value is None
    assert short.reason.startswith("too short: 4591 samples")
    (enough,) = srmr.srmr(synthetic(4592).unsqueeze(0), "fast")
    assert enough.value is not None


@pytest.mark.parametrize("n_samples", [8_000, 8_032, 8_031])
def test_the_fast_envelopes_are_those_of_the_gammatone_package(n_samples):
    """With its quirk: a last column that ends with the wave stays zero (8,032 samples)."""
    from gammatone.fftweight import fft_gtgram

    wave = synthetic(n_samples).double()
    wanted = fft_gtgram(wave.numpy(), 16_000, 0.010, 0.0025, 23, 125)
    found = srmr.fast_envelopes(wave.unsqueeze(0))[0].numpy()
    assert np.abs(found - wanted).max() < 1e-12 * wanted.max()
    assert (wanted[:, -1] == 0).all() == (n_samples == 8_032)


@pytest.mark.parametrize(
    ("n_samples", "frames"), [(4081, 1), (4096, 1), (5104, 1), (5105, 2), (5120, 2), (48_000, 43)]
)
def test_frames_are_counted_on_a_multiple_of_16_samples(n_samples, frames):
    """SRMRpy's envelope is that long: one frame more when the length % 1024 is 1009 to 1023."""
    assert srmr.frame_count(n_samples) == frames
    energy = srmr.modulation_energies(
        synthetic(n_samples).unsqueeze(0), 128.0, srmr.PRECISIONS["float32"]
    )
    assert energy.shape == (1, 23, 8, frames)


@pytest.mark.slow
@settings(max_examples=4, deadline=None)
@given(st.integers(4081, 20_000))
def test_both_precisions_agree_at_every_length(n_samples):
    waves = synthetic(n_samples, seed=n_samples).unsqueeze(0)
    (quick,), (exact,) = (srmr.srmr(waves, "slow", p) for p in ("float32", "float64"))
    if exact.k90_margin > 0.01:
        assert quick.k_star == exact.k_star
        assert quick.value == pytest.approx(exact.value, rel=SHORT)


@pytest.mark.slow
@pytest.mark.parametrize("n_samples", [4096, 16 * 257 + 5, 20_000, 48_000, 61_441])
def test_the_quick_envelopes_are_the_exact_ones_up_to_single_precision(n_samples):
    """Short, with a large prime factor, of one piece and of two; cut off in the middle of sound."""
    wave = srmr.unit_peak(synthetic(n_samples, seed=3).unsqueeze(0))
    exact = srmr.exact_envelopes(srmr.prepare_exact(wave.double()), slice(0, 23))
    wanted = exact.unflatten(-1, (-1, 4)).mean(-1)
    found = srmr.quick_envelopes(srmr.prepare_quick(wave), slice(0, 23))
    off = (found - wanted).square().mean(-1).sqrt() / wanted.square().mean(-1).sqrt()
    assert off.max() < 2e-3  # 9.7e-4 on every processor: what single precision leaves out


@pytest.mark.parametrize("n_samples", [4096, 8192, 48_000])
def test_the_period_before_leaves_nothing_in_the_modulation_filters(n_samples):
    """A short wave repeats several times while the slowest filter dies away."""
    envelope = (synthetic(n_samples, seed=4).abs() + 1).unsqueeze(0).double()
    quick, exact = (
        srmr.framed_energies(part, n_samples, 128.0, srmr.PRECISIONS[name])
        for name, part in (
            ("float32", envelope.unflatten(-1, (-1, 4)).mean(-1).float()),
            ("float64", envelope),
        )
    )
    assert quick[:, :3].numpy() == pytest.approx(exact[:, :3].numpy(), rel=2e-3)


@pytest.mark.parametrize("padded", [4096, 16 * 257, 16 * 311])
def test_the_envelope_is_that_of_scipy_at_quick_and_slow_lengths(padded):
    from scipy.signal import hilbert

    wave = synthetic(padded - 5).double()
    padded_wave = np.pad(wave.numpy(), (0, 5))
    found = srmr.analytic_magnitude(wave, padded).numpy()
    assert np.abs(found - np.abs(hilbert(padded_wave))).max() < 1e-11


@pytest.mark.medium
@settings(max_examples=20, deadline=None)
@given(st.integers(1, 10**8))
def test_transform_lengths_are_quick_and_little_longer(n_samples):
    length = srmr.round_up(n_samples)
    assert n_samples <= length <= max(1.21 * n_samples, 1024)
    assert length % 64 == 0
    assert srmr.quick_length(length)


def test_k_star_counts_the_modulation_filters_below_the_bandwidth():
    stars = srmr.k_stars(128.0).tolist()
    edges = srmr.modulation_lower_edges(srmr.modulation_centres(128.0))
    for star, centre in zip(stars, srmr.centre_frequencies()[::-1], strict=True):
        bandwidth = srmr.erb_hz(centre)
        assert all(bandwidth > edge for edge in edges[:star])
        assert all(bandwidth <= edge for edge in edges[star:])
    assert stars[0] == 6  # 38.19 Hz: above the sixth edge (35.7 Hz), below the seventh
    assert stars[-1] == 8


def test_a_bandwidth_below_the_fifth_filter_has_no_k_star():
    """SRMRpy raises UnboundLocalError there: with filters up to 512 Hz it can happen."""
    energy = torch.zeros(1, 23, 8, dtype=torch.float64)
    energy[0, -1] = 1.0  # all in the lowest channel
    (result,) = srmr.ratios(energy, 512.0)
    assert result.value is None
    assert "fifth modulation filter" in result.reason


def test_the_ratio_by_hand():
    """Channels equal: 90 % is passed at the 21st of 23, whose K* is 8: 4 low over 4 high."""
    energy = torch.ones(1, 23, 8, dtype=torch.float64)
    energy[:, :, :4] = 3.0
    (result,) = srmr.ratios(energy, 128.0)
    assert result.value == pytest.approx(3.0)
    assert result.k_star == 8
    assert result.k90_margin == pytest.approx(21 / 23 * 100 - 90)


def test_the_range_is_limited_to_30_db_below_the_peak_of_the_channel_mean():
    energy = torch.rand(2, 23, 8, 5, dtype=torch.float64) ** 20
    limited = srmr.limited_range(energy)
    for before, after in zip(energy, limited, strict=True):
        peak = before.mean(dim=0).max()
        assert after.max() <= peak
        assert after.min() >= peak / 1000 * (1 - 1e-12)
        inside = (before > peak / 1000) & (before < peak)
        assert torch.equal(before[inside], after[inside])


@pytest.mark.medium
def test_broken_waves_get_reasons_and_the_others_their_values(windows):
    srmr = make_metric("srmr")
    broken = windows[0].clone()
    broken[100] = torch.nan
    infinite = windows[0].clone()
    infinite[7] = torch.inf
    stereo = windows[:2].T
    scores = srmr.measure([broken, windows[0], torch.zeros(0), infinite, stereo, windows[1][:99]])
    assert [score.value is None for score in scores] == [True, False, True, True, True, True]
    assert (
        scores[0].reason
        == scores[3].reason
        == "audio holds NaN or infinity; export it again, as 16 or 24 bit"
    )
    assert scores[2].reason == "no samples"
    assert "not mono" in scores[4].reason
    assert "too short" in scores[5].reason
    assert scores[1].value == pytest.approx(values(windows[:1])[0], rel=ROUNDING)


@pytest.mark.slow
def test_integer_waves_are_taken_at_full_scale(windows):
    windows = windows[:, :16_000]
    integers = (windows[0].double() * 32_768).round().to(torch.int16)
    srmr = make_metric("srmr", {"precision": "float64"})
    as_integers, as_floats = srmr.measure([integers, windows[0].double()])
    assert as_integers.value == pytest.approx(as_floats.value, rel=1e-12)


@pytest.mark.gpu
@pytest.mark.parametrize("variant", srmr.VARIANTS)
@pytest.mark.parametrize(("precision", "tolerance"), [("float32", 1e-5), ("float64", 1e-9)])
def test_the_gpu_gives_what_the_cpu_gives(windows, variant, precision, tolerance):
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    for waves in (windows, windows[:2, :33_333]):
        on_gpu = srmr.srmr(waves.cuda(), variant, precision)
        on_cpu = srmr.srmr(waves, variant, precision)
        clear = [i for i, found in enumerate(on_cpu) if found.k90_margin > 0.01]
        assert len(clear) > len(waves) // 2
        for i in clear:
            assert on_gpu[i].k_star == on_cpu[i].k_star
            assert on_gpu[i].value == pytest.approx(on_cpu[i].value, rel=tolerance)


@pytest.mark.gpu
def test_the_gpu_holds_many_windows_in_bounded_memory(windows):
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    many = windows[:1].cuda().expand(2000, -1)
    torch.cuda.reset_peak_memory_stats()
    found = values(many)
    assert found == pytest.approx([found[0]] * 2000, rel=ROUNDING)
    assert torch.cuda.max_memory_allocated() < 12e9
