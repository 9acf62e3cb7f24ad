"""How excited, dominant and pleased a voice sounds, as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from metrics.core import weights
from metrics.core.lazy_torch import functional, torch
from metrics.core.metric import Input, Output, Sharing
from metrics.core.precision import ANY_LENGTH, Precisions
from metrics.networks.predictors import chunks
from metrics.networks.predictors.pretrained import WEIGHTS, load_pretrained, pretrained_model

ORDER = ("arousal", "dominance", "valence")
HEAD = "classifier."
MODEL = pretrained_model(
    "audeering/wav2vec2-large-robust-12-ft-emotion-msp-dim",
    "CC BY-NC-SA 4.0",
    commercial=False,
    size=700_000_000,
)


@dataclass(frozen=True)
class ArousalParameters(chunks.ChunkRule):
    """The model, a folder or a hub's name; long clips are cut, and values averaged."""

    model: str = MODEL.name


class Arousal(chunks.ChunkedMetric):
    """Arousal, dominance and valence, about 0 to 1, by a network that learnt from MSP-Podcast."""

    key = "arousal"
    version = "1"
    cpu_s_per_s = 0.24
    description = "Arousal that a network hears: 0 calm, 1 excited"
    title = "Arousal"
    source = "Wagner et al. (2023), Dawn of the transformer era; audeering's wav2vec 2.0"
    more_outputs = (
        Output("dominance", "Dominance that a network hears: 0 weak, 1 strong", title="Dominance"),
        Output("valence", "Valence that a network hears: 0 negative, 1 positive", title="Valence"),
    )
    packages = ("torch", "transformers", "safetensors")
    sharing = Sharing(Input.EQUAL, why="the mean over time would hear what is filled up")
    precisions = Precisions(
        0.005,
        weights="small random weights",
        why=f"{ANY_LENGTH}; in bfloat16 dominance moved by 0.3 on a processor with AMX",
    )
    published_model = MODEL
    parameters_type = ArousalParameters
    parameters: ArousalParameters

    def load(self, device: str = "cpu") -> None:
        """Load the network and what stands on it, of a folder or of a hub, onto `device`."""
        super().load(device)
        (model,) = self.models()
        self.loaded = load_pretrained(model, "Wav2Vec2Model", device, "Wav2Vec2FeatureExtractor")
        self.weights = self.loaded.weights
        named = self.loaded.network.config.id2label
        labels = tuple(str(named[index]).lower() for index in sorted(named))
        if labels != ORDER:
            names = ", ".join(labels)
            raise weights.Unavailable(f"{model.name} tells {names}, not {', '.join(ORDER)}")
        self.head = head_of(weights.locate(model), device)

    def predict(self, batch: Sequence[torch.Tensor]) -> torch.Tensor:
        heard = self.loaded.network_outputs(
            [wave.cpu().numpy() for wave in batch], self.sample_rate_hz
        )
        mean = heard.last_hidden_state.mean(dim=1)
        inner = functional.linear(mean, self.head["dense.weight"], self.head["dense.bias"]).tanh()
        return functional.linear(inner, self.head["out_proj.weight"], self.head["out_proj.bias"])


def head_of(place: Path, device: str) -> dict[str, torch.Tensor]:
    """The two layers above the network, from the file that the network came from."""
    import safetensors.torch

    path = next(place / name for name in WEIGHTS if (place / name).is_file())
    if path.suffix == ".safetensors":
        state = safetensors.torch.load_file(path, device=device)
    else:
        state = torch.load(path, map_location=device, weights_only=True)
    head = {k.removeprefix(HEAD): v for k, v in state.items() if k.startswith(HEAD)}
    wanted = [f"{n}.{p}" for n in ("dense", "out_proj") for p in ("weight", "bias")]
    if missing := [name for name in wanted if name not in head]:
        raise weights.Unavailable(f"{path} has no {HEAD}{missing[0]}")
    return head
