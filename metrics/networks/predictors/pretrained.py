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

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from metrics.core import weights
from metrics.core.devices import kind
from metrics.core.metric import SIMILAR
from metrics.core.published_models import HUB, PublishedModel

if TYPE_CHECKING:
    import torch

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


# Read in transformers 5.23. Not Data2Vec (its stacked convolutions of positions carry what is
# filled up into the clip), SEW (which halves the frames first), nor conformers.
MASKING = frozenset({"wav2vec2", "wavlm", "hubert", "unispeech", "unispeech-sat"})
WAVLM_MASKS = "Support for mismatched key_padding_mask"  # torch, of WavLM's attention
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
        self.network = network
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
        import torch

        sizes = [len(each) for each in values]
        if len(set(sizes)) == 1:
            return self.network(torch.stack(list(values)), **more)
        filled = torch.nn.utils.rnn.pad_sequence(list(values), batch_first=True)
        places = torch.arange(max(sizes), device=filled.device)
        mask = places < torch.tensor(sizes, device=filled.device)[:, None]
        self.sizes = sizes
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", WAVLM_MASKS)
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
    import torch

    whole = torch.zeros_like(hidden)
    for row, (clip, count) in enumerate(zip(hidden, frames, strict=True)):
        own = clip[None, :, :count]
        whole[row, :, :count] = torch.nn.functional.group_norm(
            own, norm.num_groups, norm.weight, norm.bias, norm.eps
        )[0]
    return whole
