"""DNSMOS P.835: predicted quality of speech, background and the whole, without a reference.

P.835 and P.808 hear many hops of 9.01 s, and what overlapping hops share is computed once. The
weights are those of two ONNX files of speechmos. Hops start every second and last 900 frames of
10 ms, so eight ninths of a hop are in the next one, too. The P.835 network is a stack of
convolutions before a maximum over time: away from a hop's edges the first layers, which take 97 %
of the time, give the same numbers in every hop. They are computed once per second of audio; only
four frames at either edge of a hop, which see its zero padding, are computed again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metrics.core import weights
from metrics.core.devices import kind
from metrics.core.lazy_torch import functional, torch
from metrics.core.metric import (
    WIDE_BAND_HZ,
    Accepts,
    Input,
    Metric,
    Output,
    ParameterError,
    Parameters,
    Score,
    Sharing,
)
from metrics.core.precision import Precisions, spectra
from metrics.networks.predictors import chunks, onnx
from metrics.networks.predictors.onnx import OnnxFile
from metrics.networks.predictors.predictor import exact_inference
from metrics.signal.mel import mel_filters

SHORTEST_S = 0.1
POLYNOMIALS = (  # of SIG, BAK and OVRL in P.835's authors' code, highest power first
    (-0.08397278, 1.22083953, 0.0052439),
    (-0.13166888, 1.60915514, -0.39604546),
    (-0.06766283, 1.11546468, 0.04602535),
)
P835, P808 = "sig_bak_ovr.onnx", "model_v8.onnx"


@dataclass(frozen=True)
class DnsmosParameters(Parameters):
    """Which hops of 9.01 s are averaged."""

    rule: str = "speechmos"

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise ParameterError(f"rule is {self.rule!r}; choose {' or '.join(RULES)}")


class Dnsmos(Metric):
    """Predicted OVRL of P.835, with SIG, BAK and the P.808 network's MOS."""

    key = "dnsmos"
    version = "1"
    cpu_s_per_s = 0.054
    description = "DNSMOS P.835, overall quality (OVRL) predicted from the audio alone"
    title = "DNSMOS OVRL"
    source = (
        "Reddy, Gopal, Cutler (2022), DNSMOS P.835; weights and polynomials of speechmos 0.0.1.1"
    )
    unit = "MOS"
    higher_is_better = True
    more_outputs = tuple(
        Output(key, f"DNSMOS {description}", "MOS", higher_is_better=True, title=f"DNSMOS {name}")
        for key, description, name in (
            ("dnsmos_sig", "P.835, quality of the speech (SIG)", "SIG"),
            ("dnsmos_bak", "P.835, background noise (BAK)", "BAK"),
            ("dnsmos_p808", "P.808, overall quality (MOS)", "P.808"),
        )
    )
    sharing = Sharing(Input.WINDOWS)
    precisions = Precisions(
        0.005, 0.02, None, "real weights", "its own code shares layers between hops"
    )
    accepts = Accepts(WIDE_BAND_HZ, SHORTEST_S)
    parameters_type = DnsmosParameters
    parameters: DnsmosParameters

    def load(self, device: str = "cpu") -> None:
        """Read both networks from their files."""
        super().load(device)
        files = [weights.bundled_file(name) for name in (P835, P808)]
        self.weights = weights.hashes(files)
        p835, p808 = (onnx.read(file) for file in files)
        self.networks = Networks(p835, p808, device)

    def score(self, waves: Sequence[torch.Tensor]) -> list[Score]:
        """One score per wave, (samples,) at 16 kHz; hops of all waves go through in batches."""
        scores = [chunks.unfit(wave, SHORTEST_S) for wave in waves]
        usable = [i for i, score in enumerate(scores) if score is None]
        long = [repeat_to_hop(waves[i]) for i in usable]
        hop_starts = [hops(len(wave), self.parameters.rule) for wave in long]
        wanted = [(w, start) for w, (starts, _) in enumerate(hop_starts) for start in starts]
        values = map_polynomials(self.networks.predict(long, wanted))
        ends = np.cumsum([len(starts) for starts, _ in hop_starts])
        parts = np.split(values, ends[:-1]) if usable else []
        for i, (starts, total), part in zip(usable, hop_starts, parts, strict=True):
            sig, bak, ovrl, p808 = (float(value) for value in part.mean(axis=0))
            also = {"dnsmos_sig": sig, "dnsmos_bak": bak, "dnsmos_p808": p808}
            scores[i] = Score(
                ovrl, also=also, details={"hops_used": len(starts), "hops_total": total}
            )
        return [score for score in scores if score is not None]


def map_polynomials(raw: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return raw SIG, BAK, OVRL and P.808, (hops, 4), the first three mapped by `POLYNOMIALS`."""
    columns = [np.polyval(each, raw[:, place]) for place, each in enumerate(POLYNOMIALS)]
    return np.column_stack([*columns, raw[:, 3]])


RATE_HZ = 16_000
INPUT_S = 9.01  # what the networks were trained on
FRAME, STEP = 320, 160  # samples
SECOND = 100  # frames: how far hops are apart
FRAMES = 900  # of a hop
SAMPLES = STEP * FRAMES + STEP
BLOCKS = FRAMES // SECOND
EDGE = 4  # frames that the padding of a hop reaches through the first four layers
P835_POOLS = frozenset({3, 4, 5})  # layers before a 2 × 2 maximum
P808_POOLS = frozenset({0, 1, 3})
SHARED = range(EDGE)  # the layers that hops share
AT_ONCE = {"cpu": 1, "cuda": 64}  # hops
BLOCKS_AT_ONCE = {"cpu": 1, "cuda": 64}  # one at a time stays in the processor's cache
RULES = ("speechmos", "all_hops")

Hop = tuple[int, int]  # index of the wave, start in s


def repeat_to_hop(wave: torch.Tensor) -> torch.Tensor:
    """The wave, doubled until it fills a hop, as speechmos does; at least one sample."""
    while len(wave) < SAMPLES:
        wave = torch.cat([wave, wave])
    return wave


def hops(samples: int, rule: str) -> tuple[list[int], int]:
    """Starts in s of the hops that a rule averages over, and how many hops there are.

    "all_hops": every one. "speechmos": its loop, which skips the hops that a rounding of
    (start + 9.01) · 16000 makes one sample too short (7 … 23 s and 119 … 122 s).
    """
    count = int(np.floor(samples / RATE_HZ) - INPUT_S) + 1
    starts = list(range(count))
    if rule == "speechmos":
        starts = [i for i in starts if int((i + INPUT_S) * RATE_HZ) - i * RATE_HZ >= SAMPLES]
    return starts, count


class Convolutions:
    """3 × 3 convolutions with ReLU and 2 × 2 maxima, the maximum over all, and dense layers."""

    def __init__(self, file: OnnxFile, pools: frozenset[int], device: str) -> None:
        def tensor(values: Any) -> torch.Tensor:
            return torch.from_numpy(np.ascontiguousarray(values)).to(device)

        pairs = [pair for pair in file.weights_of("Conv") if len(pair) == 2]
        self.layers = [
            (tensor(kernel).contiguous(memory_format=torch.channels_last), tensor(bias))
            for kernel, bias in pairs
        ]
        matrices, biases = file.weights_of("MatMul"), file.weights_of("Add")
        self.dense = [
            (tensor(matrix), tensor(bias))
            for (matrix,), (bias,) in zip(matrices, biases, strict=True)
        ]
        self.pools = pools

    def part(self, x: torch.Tensor, layers: range, before: int = 1, after: int = 1) -> torch.Tensor:
        """Some layers on (batch, channels, frames, bands); zero frames added around each."""
        x = x.contiguous(memory_format=torch.channels_last)
        for layer in layers:
            if before or after:
                x = functional.pad(x, (0, 0, before, after))
            x = functional.conv2d(x, *self.layers[layer], padding=(0, 1)).relu_()
            if layer in self.pools:
                x = functional.max_pool2d(x, 2)
        return x

    def head(self, x: torch.Tensor) -> torch.Tensor:
        """The network's outputs from the last convolution's, (batch, outputs)."""
        x = x.amax(dim=(2, 3))
        for matrix, bias in self.dense[:-1]:
            x = (x @ matrix + bias).relu_()
        matrix, bias = self.dense[-1]
        return x @ matrix + bias


class Networks:
    """Both networks on a device; `predict` takes waves of at least `SAMPLES` samples."""

    def __init__(self, p835: OnnxFile, p808: OnnxFile, device: str) -> None:
        self.device = device
        self.p835 = Convolutions(p835, P835_POOLS, device)
        self.p808 = Convolutions(p808, P808_POOLS, device)
        real, imaginary = (kernel[0][:, :, 0] for kernel in p835.weights_of("Conv")[:2])
        self.fourier = torch.from_numpy(np.concatenate([real, imaginary])).T.to(device)
        self.mel = torch.from_numpy(mel_filters(RATE_HZ, FRAME + 1, 120)).to(device)
        self.window = torch.hann_window(FRAME + 1, device=device)

    def predict(self, waves: Sequence[torch.Tensor], wanted: Sequence[Hop]) -> NDArray[np.float64]:
        """Raw SIG, BAK, OVRL (before the polynomials) and P.808, one row per hop, (hops, 4)."""
        rows = []
        ordered = sorted(wanted)
        with exact_inference():
            known_blocks: dict[Hop, torch.Tensor] = {}
            for group in groups(ordered, AT_ONCE[kind(self.device)]):
                known_blocks = self.blocks(waves, group, known_blocks)
                p835 = self.p835.part(self.shared(waves, group, known_blocks), range(EDGE, 7))
                p808 = self.p808.part(self.log_mel(waves, group), range(5))
                both = torch.cat([self.p835.head(p835), self.p808.head(p808)], dim=1)
                rows.append(both.double().cpu().numpy())
        by_hop = dict(zip(ordered, np.concatenate(rows), strict=True)) if rows else {}
        return np.array([by_hop[hop] for hop in wanted]).reshape(-1, 4)

    def blocks(
        self,
        waves: Sequence[torch.Tensor],
        group: Sequence[Hop],
        known_blocks: dict[Hop, torch.Tensor],
    ) -> dict[Hop, torch.Tensor]:
        """The shared layers of each second (wave, second) of some hops; computed once."""
        needed = sorted({(w, i + k) for w, i in group for k in range(BLOCKS)})
        blocks = {key: known_blocks[key] for key in needed if key in known_blocks}
        for part in groups(
            [k for k in needed if k not in blocks], BLOCKS_AT_ONCE[kind(self.device)]
        ):
            x = torch.stack(
                [self.spectrum(waves[w], k * SECOND - EDGE, SECOND + 2 * EDGE) for w, k in part]
            )
            blocks |= zip(part, self.p835.part(x, SHARED, 0, 0), strict=True)
        return blocks

    def shared(
        self, waves: Sequence[torch.Tensor], group: Sequence[Hop], blocks: dict[Hop, torch.Tensor]
    ) -> torch.Tensor:
        """The shared layers of whole hops: blocks, with edges of their own, (hops, 32, 450, 80)."""
        last = FRAMES - 2 * EDGE
        first = torch.stack([self.spectrum(waves[w], i * SECOND, 2 * EDGE) for w, i in group])
        final = torch.stack(
            [self.spectrum(waves[w], i * SECOND + last, 2 * EDGE) for w, i in group]
        )
        first, final = self.p835.part(first, SHARED, 1, 0), self.p835.part(final, SHARED, 0, 1)
        joined = [torch.cat([blocks[w, i + k] for k in range(BLOCKS)], dim=1) for w, i in group]
        x = torch.stack(joined)
        x[:, :, : EDGE // 2] = first
        x[:, :, -EDGE // 2 :] = final
        return x

    def spectrum(self, wave: torch.Tensor, first: int, frames: int) -> torch.Tensor:
        """Logarithmic power of some frames, (1, frames, 161); zeros where the wave has none."""
        start, end = first * STEP, (first + frames - 1) * STEP + FRAME
        part = wave[max(start, 0) : min(end, len(wave))].float()
        part = functional.pad(part, (max(-start, 0), max(end - len(wave), 0)))
        with spectra():
            both = part.unfold(0, FRAME, STEP) @ self.fourier
        real, imaginary = both.chunk(2, dim=1)
        power = (real.square() + imaginary.square()).clamp_min(1e-12)
        return power.log10()[None]

    def log_mel(self, waves: Sequence[torch.Tensor], group: Sequence[Hop]) -> torch.Tensor:
        """The P.808 network's input, (hops, 1, 900, 120): dB below the hop's peak, 80 at most."""
        starts = [(waves[w], i * RATE_HZ) for w, i in group]
        parts = torch.stack([w[start : start + SAMPLES - STEP].float() for w, start in starts])
        frames = torch.stft(
            parts, FRAME + 1, STEP, window=self.window, pad_mode="constant", return_complex=True
        )
        with spectra():
            power = (self.mel @ frames.abs().square()).clamp_min(1e-10)
        level = 10 * (power / power.amax(dim=(1, 2), keepdim=True)).log10().clamp_min(-8)
        return ((level + 40) / 40).transpose(1, 2)[:, None]


def groups(items: Sequence[Hop], size: int) -> Iterator[Sequence[Hop]]:
    """Neighbours, `size` at a time."""
    for first in range(0, len(items), size):
        yield items[first : first + size]
