"""WavLM from weights under its authors' names, as the network of transformers."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from metrics.core.lazy_torch import torch
from metrics.core.weights import Unavailable, rename_weight
from metrics.networks.predictors.pretrained import for_inference

State = Mapping[str, "torch.Tensor"]

POSITIONS = "encoder.pos_conv_embed.conv"
RENAMED = (  # what the authors call a part, and what transformers does
    (r"^mask_emb$", "masked_spec_embed"),
    (r"^layer_norm\.", "feature_projection.layer_norm."),
    (r"^post_extract_proj\.", "feature_projection.projection."),
    (r"^(feature_extractor\.conv_layers\.\d+)\.0\.", r"\1.conv."),
    (r"^(feature_extractor\.conv_layers\.\d+)\.2\.(?:1\.)?", r"\1.layer_norm."),
    (r"^encoder\.pos_conv\.0\.bias$", f"{POSITIONS}.bias"),
    (r"^encoder\.pos_conv\.0\.weight_g$", f"{POSITIONS}.parametrizations.weight.original0"),
    (r"^encoder\.pos_conv\.0\.weight_v$", f"{POSITIONS}.parametrizations.weight.original1"),
    (r"\.self_attn\.grep_linear\.", ".attention.gru_rel_pos_linear."),
    (r"\.self_attn\.grep_a$", ".attention.gru_rel_pos_const"),
    (r"\.self_attn\.relative_attention_bias\.", ".attention.rel_attn_embed."),
    (r"\.self_attn\.", ".attention."),
    (r"\.self_attn_layer_norm\.", ".layer_norm."),
    (r"\.fc1\.", ".feed_forward.intermediate_dense."),
    (r"\.fc2\.", ".feed_forward.output_dense."),
)  # fmt: skip
UNUSED = {"masked_spec_embed"}  # outside training
STRIDES = (5, 2, 2, 2, 2, 2, 2)  # of the convolutions of every published WavLM
MOST_DISTANCE = 800  # frames that the attention tells apart


def wavlm_of(state: State, device: str) -> Any:
    """A `WavLMModel` with these weights, on `device`; Unavailable where names do not fit.

    All sizes follow from the weights; what only training needs is left out. Waves go in as they
    are; where the authors normalise them (WavLM-large), it is the caller's to do.
    """
    import transformers

    named = {rename_weight(name, RENAMED): value for name, value in state.items()}
    try:
        network = transformers.WavLMModel(transformers.WavLMConfig(**sizes(named)))
        missing = network.load_state_dict(named, strict=False).missing_keys
    except (KeyError, RuntimeError) as error:
        raise Unavailable(f"these are no weights of WavLM: {error}") from error
    if needed := sorted(set(missing) - UNUSED):
        raise Unavailable(f"these are no weights of WavLM: {', '.join(needed)} not found")
    return for_inference(network.to(device).eval())


def layers_of(
    network: Any, waves: torch.Tensor, frames: Sequence[int] | None = None
) -> list[torch.Tensor]:
    """What goes into each layer and what comes out of the last, (waves, frames, size) each.

    ``frames``: so many of each wave are heard, what follows is taken for filling; None: all.
    """
    mask = None
    if frames is not None:  # transformers counts samples, and takes as many frames as they hold
        ends = [samples_of(network, count) for count in frames]
        places = torch.arange(waves.shape[1], device=waves.device)
        mask = places < torch.tensor(ends, device=waves.device)[:, None]
    heard = network(waves, attention_mask=mask, output_hidden_states=True)
    return [*heard.hidden_states[:-1], heard.last_hidden_state]


@contextlib.contextmanager
def zeros_behind(network: Any, samples: int) -> Iterator[None]:
    """Have waves heard as if zeros followed up to so many samples, whose frames nobody wants.

    Only the first layer of base models sees them, in each channel's mean and variance over time.
    """
    first = network.feature_extractor.conv_layers[0]
    norm, kernel = first.layer_norm, network.config.conv_kernel[0]
    frames = (samples - kernel) // STRIDES[0] + 1

    def normalise(hidden: torch.Tensor) -> torch.Tensor:
        mean = hidden.sum(dim=2, keepdim=True) / frames
        off = hidden - mean
        zeros = (frames - hidden.shape[2]) * mean.square()
        variance = (off.square().sum(dim=2, keepdim=True) + zeros) / frames
        scale = norm.weight[:, None] * (variance + norm.eps).rsqrt()
        normal: torch.Tensor = off.mul_(scale).add_(norm.bias[:, None])
        return normal

    norm.forward = normalise
    try:
        yield
    finally:
        del norm.forward


def can_be_cut(network: Any) -> bool:
    """Whether `zeros_behind` holds: zeros stay zeros up to a norm over time; not compiled."""
    config = network.config
    plain = not config.conv_bias and not hasattr(network, "_orig_mod")
    return plain and config.feat_extract_norm == "group"


def frames_of(network: Any, samples: int) -> int:
    """Return how many frames come of a wave of so many samples."""
    return 1 + (samples - receptive(network.config.conv_kernel)) // math.prod(STRIDES)


def samples_of(network: Any, frames: int) -> int:
    """Return how many samples so many frames see."""
    return (frames - 1) * math.prod(STRIDES) + receptive(network.config.conv_kernel)


def receptive(kernels: tuple[int, ...]) -> int:
    """How many samples a frame sees."""
    steps = [math.prod(STRIDES[:i]) for i in range(len(STRIDES))]
    return 1 + sum((kernel - 1) * step for kernel, step in zip(kernels, steps, strict=True))


def sizes(state: State) -> dict[str, Any]:
    """The configuration of transformers that these weights belong to."""
    kernels = [state[f"feature_extractor.conv_layers.{i}.conv.weight"] for i in range(len(STRIDES))]
    first = state["encoder.layers.0.feed_forward.intermediate_dense.weight"]
    buckets, heads = state["encoder.layers.0.attention.rel_attn_embed.weight"].shape
    positions = state[f"{POSITIONS}.parametrizations.weight.original1"]
    large = "feature_extractor.conv_layers.1.layer_norm.weight" in state
    return {
        "hidden_size": first.shape[1],
        "intermediate_size": first.shape[0],
        "num_hidden_layers": sum(name.endswith("gru_rel_pos_const") for name in state),
        "num_attention_heads": heads,
        "num_buckets": buckets,
        "max_bucket_distance": MOST_DISTANCE,
        "conv_dim": tuple(kernel.shape[0] for kernel in kernels),
        "conv_kernel": tuple(kernel.shape[2] for kernel in kernels),
        "conv_stride": STRIDES,
        "conv_bias": "feature_extractor.conv_layers.0.conv.bias" in state,
        "feat_extract_norm": "layer" if large else "group",
        "do_stable_layer_norm": large,
        "num_conv_pos_embeddings": positions.shape[2],
        "num_conv_pos_embedding_groups": first.shape[1] // positions.shape[1],
    }
