"""NISQA: overall quality with noisiness, coloration, discontinuity and loudness.

The networks (v2) are convolutions of short windows, what joins these, and a mean. They are built
from the published checkpoints' own names, whose `args` say how it was trained.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metrics.core import weights
from metrics.core.lazy_torch import functional, torch
from metrics.core.metric import Input, Output, Score, Sharing, check_bounds
from metrics.core.precision import ANY_LENGTH, Precisions, spectra
from metrics.core.published_models import PublishedModel
from metrics.core.weights import Unavailable
from metrics.networks.predictors import chunks
from metrics.networks.predictors.layers import batch_norm
from metrics.signal.mel import mel_filters

MODEL = PublishedModel(
    "nisqa/nisqa.tar",
    source="https://github.com/gabrielmittag/NISQA/raw/master/weights/nisqa.tar",
    licence="CC BY-NC-SA 4.0",
    commercial=False,
    size=1_100_000,
    page="https://github.com/gabrielmittag/NISQA",
)
LONGEST_S = 52.0  # the network was trained on 1,300 windows at most, one every 40 ms
ORDER = ("noisiness", "discontinuity", "coloration", "loudness")  # after the overall quality


@dataclass(frozen=True)
class NisqaParameters(chunks.ChunkRule):
    """The checkpoint: a path, or a name in the folder of models; how long clips are cut."""

    chunk_s: float = 50.0
    model: str = MODEL.name

    def __post_init__(self) -> None:
        super().__post_init__()
        check_bounds(self, "chunk_s", 1, LONGEST_S)


class Nisqa(chunks.ChunkedMetric):
    """A predicted MOS of transmitted speech, and why it is what it is."""

    key = "nisqa"
    version = "1"
    cpu_s_per_s = 0.014
    description = "NISQA v2: predicted overall quality"
    title = "NISQA"
    source = "Mittag et al. (2021), NISQA; its checkpoint nisqa.tar"
    unit = "MOS"
    higher_is_better = True
    sample_rate_hz = 48_000
    more_outputs = tuple(
        Output(
            f"nisqa_{name}",
            f"NISQA: {name} (5: best)",
            "MOS",
            higher_is_better=True,
            title=f"NISQA {name}",
        )
        for name in ORDER
    )
    sharing = Sharing(Input.WINDOWS, why="in its convolutions; nothing is filled up")
    precisions = Precisions(0.005, 0.05, None, "small random weights", ANY_LENGTH)
    at_once_s = {"cpu": 20.0, "cuda": 240.0}
    similar = {"cpu": 1.0, "cuda": math.inf}  # on a processor large batches gain nothing
    published_model = MODEL
    parameters_type = NisqaParameters
    parameters: NisqaParameters

    def load(self, device: str = "cpu") -> None:
        """Read the checkpoint of the folder of models onto `device`."""
        super().load(device)
        path = weights.locate(*self.models())
        self.network = NisqaNetwork(path, self.sample_rate_hz, device)
        self.weights = weights.hashes([path])

    def predict(self, batch: Sequence[torch.Tensor]) -> torch.Tensor:
        return self.network.predict(batch)

    def by_output(self, score: Score) -> dict[str, Score]:
        """A clip's score by output; a checkpoint of one value has no dimensions."""
        named = super().by_output(score)
        if score.value is not None and not score.also:
            reason = f"{self.parameters.model} gives the overall quality only"
            named |= {output.key: Score(None, reason) for output in self.more_outputs}
        return named


LAYERS = 6  # of convolution
LEAST_AMPLITUDE, RANGE_DB = 1e-4, 80.0
EPS = 1e-5  # of normalisations
KINDS = {"NISQA": 1, "NISQA_DIM": 5}  # checkpoints' models, and how many values they give
BUILT = {  # what a checkpoint may say of its network; absent: as in the published one
    "cnn_model": ("adapt", "standard"),
    "td": ("self_att", "lstm", "skip", None),
    "td_2": ("skip", None),
    "td_sa_pos_enc": (False, None),
    "pool": ("att", "avg", "max", "last_step", "last_step_bi"),
}


class NisqaNetwork:
    """A checkpoint on a device; `predict` takes waves at `rate_hz`."""

    def __init__(self, path: Path, rate_hz: int, device: str) -> None:
        try:
            stored = torch.load(path, map_location=device, weights_only=True)
            self.args, self.state = stored["args"], stored["model_state_dict"]
        except Exception as error:
            raise Unavailable(f"{path} is no checkpoint of NISQA: {error}") from error
        self.values = output_count(self.args, path)
        settings = self.args
        self.input_rate_hz, rate_hz = rate_hz, settings.get("ms_sr") or rate_hz
        self.rate_hz = rate_hz
        self.hop, self.window = (
            int(rate_hz * settings[name]) for name in ("ms_hop_length", "ms_win_length")
        )
        self.hann = torch.hann_window(self.window, device=device)
        mel = mel_filters(rate_hz, settings["ms_n_fft"], settings["ms_n_mels"], settings["ms_fmax"])
        self.mel = torch.from_numpy(mel).to(device)

    def predict(self, waves: Sequence[torch.Tensor]) -> torch.Tensor:
        """The values, (waves, 1 or 5), of waves, (samples,) each.

        Windows of all waves share the convolutions; what joins a wave's windows takes its own.
        """
        with spectra():
            windows = [self.windows(self.decibels(self.resample(wave[None])))[0] for wave in waves]
        frames = torch.split(self.framewise(torch.cat(windows)), [len(own) for own in windows])
        return torch.cat([self.join_windows(own[None]) for own in frames])

    def join_windows(self, frames: torch.Tensor) -> torch.Tensor:
        """The values, (waves, 1 or 5), of what is known of equally many windows of each wave."""
        kind = self.args.get("td", "self_att")
        if kind == "self_att":
            frames = self.attend(frames)
        elif kind == "lstm":
            frames = self.run_lstm(frames)
        one = self.values == 1
        names = ["pool.model"] if one else [f"pool_layers.{n}.model" for n in range(self.values)]
        return torch.cat([self.pooled(frames, name) for name in names], dim=1)

    def resample(self, waves: torch.Tensor) -> torch.Tensor:
        """The waves at the rate that the network was trained at."""
        import soxr

        if self.rate_hz == self.input_rate_hz:
            return waves
        arrays = [soxr.resample(w, self.input_rate_hz, self.rate_hz) for w in waves.cpu().numpy()]
        return torch.stack([torch.from_numpy(array) for array in arrays]).to(waves.device)

    def decibels(self, waves: torch.Tensor) -> torch.Tensor:
        """Mel spectra of magnitudes in dB, (waves, bands, frames), 80 dB below the peak at most."""
        size = self.args["ms_n_fft"]
        spectrum = torch.stft(
            waves, size, self.hop, self.window, self.hann, pad_mode="reflect", return_complex=True
        )
        levels = 20 * (self.mel @ spectrum.abs()).clamp_min(LEAST_AMPLITUDE).log10()
        return torch.maximum(levels, levels.amax(dim=(1, 2), keepdim=True) - RANGE_DB)

    def windows(self, spectra: torch.Tensor) -> torch.Tensor:
        """Windows of some frames at every so many: (waves, windows, bands, frames)."""
        length, hop = self.args["ms_seg_length"], self.args["ms_seg_hop_length"]
        return spectra.unfold(2, length, hop).transpose(1, 2)

    def framewise(self, windows: torch.Tensor) -> torch.Tensor:
        """What the convolutions make of windows, (windows, bands, frames): (windows, features)."""
        adapts = self.args.get("cnn_model", "adapt") == "adapt"
        pools = {1: "cnn_pool_1", 2: "cnn_pool_2", 4: "cnn_pool_3"}  # after these layers
        x = windows[:, None]
        for layer in range(1, LAYERS + 1):
            kernel = self.state[f"cnn.model.conv{layer}.weight"]
            sideways = 1 if kernel.shape[3] > 1 and not (adapts and layer == LAYERS) else 0
            bias = self.state[f"cnn.model.conv{layer}.bias"]
            x = functional.conv2d(x, kernel, bias, padding=(1, sideways))
            x = batch_norm(x, self.state, f"cnn.model.bn{layer}").relu()
            if layer in pools and adapts:
                x = functional.adaptive_max_pool2d(x, tuple(self.args[pools[layer]]))
            elif layer in pools:
                x = functional.max_pool2d(x, 2, padding=(0, 1 if layer == 1 else 0))
        x = x.flatten(1)
        for name in ("cnn.model.fc", "cnn.model.fc_out"):
            x = self._linear(x, name) if f"{name}.weight" in self.state else x
        return x

    def run_lstm(self, frames: torch.Tensor) -> torch.Tensor:
        """What a recurrent network makes of the windows of a wave, (waves, windows, size)."""
        start = "time_dependency.model.lstm."
        own = {k.removeprefix(start): v for k, v in self.state.items() if k.startswith(start)}
        layers = sum(k.startswith("weight_ih_l") and "reverse" not in k for k in own)
        network = torch.nn.LSTM(
            frames.shape[2],
            own["weight_hh_l0"].shape[1],
            layers,
            batch_first=True,
            bidirectional="weight_ih_l0_reverse" in own,
            device=frames.device,
        )
        network.load_state_dict(own)
        heard: torch.Tensor = network(frames)[0]
        return heard

    def attend(self, frames: torch.Tensor) -> torch.Tensor:
        """Self-attention over the windows of a wave, (waves, windows, size)."""
        start = "time_dependency.model"
        x = self._normal(self._linear(frames, f"{start}.linear"), f"{start}.norm1")
        for layer in range(self.args["td_sa_num_layers"]):
            own = f"{start}.layers.{layer}"
            x = self._normal(x + self._attention(x, f"{own}.self_attn"), f"{own}.norm1")
            inner = self._linear(x, f"{own}.linear1").relu()
            x = self._normal(x + self._linear(inner, f"{own}.linear2"), f"{own}.norm2")
        return x

    def pooled(self, frames: torch.Tensor, name: str) -> torch.Tensor:
        """One value per wave, (waves, 1): a mean over windows, their largest, or their last."""
        kind = self.args.get("pool", "att")
        if kind == "att":
            return self._weigh(frames, name)
        if kind == "last_step_bi":  # each direction's own last window
            ahead, back = frames.chunk(2, dim=2)
            taken = torch.cat([ahead[:, -1], back[:, 0]], dim=1)
        else:
            taken = {
                "avg": frames.mean(dim=1), "max": frames.amax(dim=1), "last_step": frames[:, -1]
            }[kind]  # fmt: skip
        return self._linear(taken, f"{name}.linear")

    def _weigh(self, frames: torch.Tensor, name: str) -> torch.Tensor:
        """One value per wave, (waves, 1): the mean over windows by learnt weights."""
        if f"{name}.linear3.weight" not in self.state:
            weights = self._linear(frames, f"{name}.linear1").softmax(dim=1)
            return self._linear((weights * frames).sum(dim=1), f"{name}.linear2")
        inner = self._linear(frames, f"{name}.linear1").relu()
        weights = self._linear(inner, f"{name}.linear2").softmax(dim=1)
        return self._linear((weights * frames).sum(dim=1), f"{name}.linear3")

    def _attention(self, x: torch.Tensor, name: str) -> torch.Tensor:
        both = functional.linear(
            x, self.state[f"{name}.in_proj_weight"], self.state[f"{name}.in_proj_bias"]
        )
        heads = self.args["td_sa_nhead"]
        query, key, value = (
            part.reshape(*part.shape[:2], heads, -1).transpose(1, 2)
            for part in both.chunk(3, dim=2)
        )
        scores = query @ key.transpose(2, 3) / math.sqrt(query.shape[3])
        heard = (scores.softmax(dim=3) @ value).transpose(1, 2).flatten(2)
        return self._linear(heard, f"{name}.out_proj")

    def _linear(self, x: torch.Tensor, name: str) -> torch.Tensor:
        return functional.linear(x, self.state[f"{name}.weight"], self.state[f"{name}.bias"])

    def _normal(self, x: torch.Tensor, name: str) -> torch.Tensor:
        scale, shift = self.state[f"{name}.weight"], self.state[f"{name}.bias"]
        return functional.layer_norm(x, x.shape[-1:], scale, shift, EPS)


def output_count(args: dict[str, Any], path: Path) -> int:
    """How many values a checkpoint's network gives; Unavailable when it is of another kind."""
    wrong = [name for name, values in BUILT.items() if args.get(name, values[0]) not in values]
    if args.get("model", "NISQA_DIM") not in KINDS:
        wrong.append("model")
    if wrong:
        differences = ", ".join(f"{name} = {args.get(name)!r}" for name in wrong)
        raise Unavailable(f"{path} is a network of NISQA that is not built here: {differences}")
    return KINDS[args.get("model", "NISQA_DIM")]
