"""Networks of transformers that hear waves, also of unequal length: masked, as if each was alone.

Attention, pooling and the convolution of positions leave out what is masked. The feature extractor
does not know the mask. Where its layers are normalised frame by frame ("layer") nothing has to be
done: no frame sees beyond its clip. Where the first layer is normalised over time ("group": base
models of wav2vec 2.0, HuBERT and WavLM) filled-up zeros would change every frame: transformers
leaves that so and advises against masks. Here that layer takes each clip's own mean and variance.
The head of x-vectors pools over too many frames of a masked clip (transformers counts its
convolutions as if they had no dilation): here over those that are the clip's.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from metrics.core import weights
from metrics.core.devices import kind
from metrics.core.lazy_torch import functional, torch
from metrics.core.metric import SIMILAR
from metrics.core.published_models import HUB, PublishedModel

WEIGHTS = ("model.safetensors", "pytorch_model.bin")  # the first is taken where both are there


@dataclass(frozen=True)
class Pretrained:
    """A network on a device, its preprocessor, and its weights (file name -> SHA-256)."""

    network: Any
    features: Any
    weights: dict[str, str]
    device: str
    masked: MaskedNetwork

    @property
    def similar(self) -> float:
        """How much longer than the shortest the waves of a batch may be."""
        return similar(self.network.config, self.device)

    def network_outputs(self, waves: Sequence[Any], rate_hz: int, **more: Any) -> Any:
        """What the network gives of waves, (samples,) each, as long as `similar` allows."""
        return self.masked([self.ready(wave, rate_hz) for wave in waves], **more)

    def ready(self, wave: Any, rate_hz: int) -> torch.Tensor:
        """What the network gets of a wave: normalised by itself, so that company is no matter."""
        samples = np.asarray(wave, np.float32)
        ready = self.features([samples], sampling_rate=rate_hz, return_tensors="pt")
        values: torch.Tensor = ready["input_values"][0]
        return values.to(self.device)


def pretrained_model(name: str, licence: str = "", **terms: Any) -> PublishedModel:
    """A hub's model in the format of transformers."""
    files = ("config.json", "|".join((*WEIGHTS, "*.safetensors")))
    return PublishedModel(name, files, ("preprocessor_config.json",), HUB, licence, **terms)


def load_pretrained(
    model: PublishedModel, kind: str, device: str, features: str = "AutoFeatureExtractor"
) -> Pretrained:
    """A network of the class ``kind`` and its preprocessor, from a model's folder.

    Raises `weights.Unavailable` when a file is missing, with the place to put it.
    """
    weights.need_package("transformers", "transformers")
    import transformers

    place = weights.locate(model)
    library: Any = transformers  # its classes are typed for other uses
    with weights.silent_transformers():
        try:
            hearing = getattr(library, features).from_pretrained(place)
            network = getattr(library, kind).from_pretrained(place)
        except OSError as error:
            raise weights.Unavailable(f"no weights: {place} is incomplete ({error})") from error
    weight_files = [place / name for name in WEIGHTS if (place / name).is_file()][:1]
    network = network.to(device).eval()
    return Pretrained(
        network, hearing, weights.hashes(weight_files), device, MaskedNetwork(network)
    )


def for_inference(network: Any) -> Any:
    """Return the network without what only training needs; its numbers stay within rounding.

    Normalised weights are computed now, and not in every call. WavLM's attention gives no mean of
    its weights over heads, for which transformers would hold and pass through all pairs of frames.
    """
    from torch.nn import LayerNorm
    from torch.nn.utils import parametrize

    for part in list(network.modules()):
        if parametrize.is_parametrized(part):
            for name in list(part.parametrizations):
                parametrize.remove_parametrizations(part, name)
        if hasattr(part, "torch_multi_head_self_attention"):
            part.torch_multi_head_self_attention = functools.partial(attend, part)
        normed = hasattr(part, "conv") and isinstance(getattr(part, "layer_norm", None), LayerNorm)
        if normed and part.conv.weight.device.type == "cpu":
            part.forward = FramewiseConvolution(part)
    return network


class FramewiseConvolution:
    """A convolution whose values are normalised frame by frame, as products of frames.

    transformers turns (channels, frames) over before and after each norm, which took an eighth of
    the time of WavLM-large on a processor. Here frames stay together.
    """

    def __init__(self, part: Any) -> None:
        self.part, self.conv = part, part.conv
        self.matrix = self.conv.weight.detach().transpose(1, 2).flatten(1).contiguous()

    def __call__(self, hidden: torch.Tensor) -> torch.Tensor:
        """What the layer makes of (waves, channels, frames), in the same order."""
        waves = [self.convolve(wave.contiguous()) for wave in hidden.transpose(1, 2)]
        return torch.stack(waves).transpose(1, 2)

    def convolve(self, wave: torch.Tensor) -> torch.Tensor:
        """What comes of a wave, (frames, channels): some frames at a time, which stay in cache."""
        kernel, step, channels = self.conv.kernel_size[0], self.conv.stride[0], wave.shape[1]
        count = (len(wave) - kernel) // step + 1
        windows = wave.as_strided((count, kernel * channels), (step * channels, 1))
        parts = [
            self.part.activation(
                self.part.layer_norm(functional.linear(own, self.matrix, self.conv.bias))
            )
            for own in windows.split(FRAMES_AT_ONCE)  # type: ignore[no-untyped-call]
        ]
        return torch.cat(parts)


def keep_layers(network: Any, count: int) -> None:
    """Leave out the layers of a base network behind the first so many, of which nothing is wanted.

    What goes into the next layer is then the last of its hidden states.
    """
    config = network.config
    if config.model_type not in MASKING or count >= config.num_hidden_layers:
        return
    network.encoder.layers = network.encoder.layers[: max(count, 1)]
    if config.do_stable_layer_norm:  # of what comes out of the last layer
        network.encoder.layer_norm = torch.nn.Identity()


def attend(
    part: Any, hidden: torch.Tensor, mask: torch.Tensor | None, bias: torch.Tensor
) -> tuple[torch.Tensor, None]:
    """What a `WavLMAttention` makes of (waves, frames, size), with a bias for each pair of frames.

    ``mask``: (waves, frames), not 1 behind a wave's end. ``bias``: (waves * heads, frames, frames).
    """
    waves, frames, size = hidden.shape
    heads = (waves, frames, part.num_heads, size // part.num_heads)
    query, key, value = (
        own(hidden).view(heads).transpose(1, 2) for own in (part.q_proj, part.k_proj, part.v_proj)
    )
    near = bias.view(waves, part.num_heads, frames, frames)
    if mask is not None:
        near = near.masked_fill(mask.ne(1)[:, None, None], -math.inf)
    heard = functional.scaled_dot_product_attention(query, key, value, attn_mask=near)
    return part.out_proj(heard.transpose(1, 2).reshape(waves, frames, size)), None


# Read in transformers 5.23. Not Data2Vec (its stacked convolutions of positions carry what is
# filled up into the clip), SEW (which halves the frames first), nor conformers.
MASKING = frozenset({"wav2vec2", "wavlm", "hubert", "unispeech", "unispeech-sat"})
FRAMES_AT_ONCE = 512
FIXED = frozenset({"audio-spectrogram-transformer"})  # what it hears is filled up to one length


def similar(config: Any, device: str) -> float:
    """How much longer clips may be than the shortest in their batch; 1: equally long ones only."""
    if config.model_type in FIXED:
        return math.inf
    return SIMILAR[kind(device)] if masks(config) else 1.0


def masks(config: Any) -> bool:
    """Whether a network of transformers can be made to hear a filled-up clip as if alone."""
    leaks = getattr(config, "conv_pos_batch_norm", False) or getattr(config, "add_adapter", False)
    return config.model_type in MASKING and not leaks


class MaskedNetwork:
    """A network that hears waves of unequal length side by side."""

    def __init__(self, network: Any) -> None:
        self.network = for_inference(network)
        self.sizes: list[int] = []  # samples of the waves that are heard now, where they differ
        config = network.config
        if masks(config) and config.feat_extract_norm == "group":
            base = getattr(network, network.base_model_prefix, network)
            first = base.feature_extractor.conv_layers[0]
            kernel, step = config.conv_kernel[0], config.conv_stride[0]
            norm = first.layer_norm
            plain = norm.forward

            def forward(hidden: torch.Tensor) -> torch.Tensor:
                if not self.sizes:
                    unmasked: torch.Tensor = plain(hidden)
                    return unmasked
                frames = [(size - kernel) // step + 1 for size in self.sizes]
                return normalise_frames(hidden, frames, norm)

            norm.forward = forward
        if hasattr(network, "_get_tdnn_output_lengths"):
            network._get_tdnn_output_lengths = self._tdnn_lengths

    def __call__(self, values: Sequence[torch.Tensor], **more: Any) -> Any:
        """What the network gives of values, (samples,) each, ready to be heard."""
        sizes = [len(each) for each in values]
        if len(set(sizes)) == 1:
            return self.network(torch.stack(list(values)), **more)
        filled = torch.nn.utils.rnn.pad_sequence(list(values), batch_first=True)
        places = torch.arange(max(sizes), device=filled.device)
        mask = places < torch.tensor(sizes, device=filled.device)[:, None]
        self.sizes = sizes
        try:
            return self.network(filled, attention_mask=mask.long(), **more)
        finally:
            self.sizes = []

    def _tdnn_lengths(self, frames: torch.Tensor) -> torch.Tensor:
        """How many frames the dilated convolutions of an x-vector head leave of so many."""
        config = self.network.config
        dilated = zip(config.tdnn_kernel, config.tdnn_dilation, strict=True)
        seen: int = sum(dilation * (kernel - 1) for kernel, dilation in dilated)
        return frames - seen

    def frames(self, samples: int) -> int:
        """How many frames come of a wave."""
        config = self.network.config
        for kernel, step in zip(config.conv_kernel, config.conv_stride, strict=True):
            samples = (samples - kernel) // step + 1
        return samples


def normalise_frames(hidden: torch.Tensor, frames: Sequence[int], norm: Any) -> torch.Tensor:
    """(clips, channels, time), each channel over each clip's own frames; 0 behind them.

    One clip at a time, by the layer's own arithmetic, so that a clip's numbers are those of alone.
    """
    whole = torch.zeros_like(hidden)
    for row, (clip, count) in enumerate(zip(hidden, frames, strict=True)):
        own = clip[None, :, :count]
        whole[row, :, :count] = torch.nn.functional.group_norm(
            own, norm.num_groups, norm.weight, norm.bias, norm.eps
        )[0]
    return whole
