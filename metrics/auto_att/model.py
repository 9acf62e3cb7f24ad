"""An audio language model that answers with one of three labels, read as a score in [0, 1]."""

from __future__ import annotations

import functools
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from listening.methods.att import SCORES
from metrics.core import weights
from metrics.core.lazy_torch import torch
from metrics.core.published_models import HUB, PublishedModel


def label_logits(model: Any, token_ids: Sequence[int]) -> Any:
    """A network that calls the model and gives some tokens' logits at the last position.

    (clips, tokens) float32; other positions' are not computed: over a real vocabulary they would
    take gigabytes. One network from inputs to logits is what can be sharded: a call that went past
    its root would find parts of parameters where whole ones are needed.
    """
    return _network_type()(model, list(token_ids))


def core_of(model: Any) -> Any:
    """The model itself, whether an adapter is on it or not; adapted layers are inside it."""
    return model.get_base_model() if hasattr(model, "peft_config") else model


@functools.cache
def _network_type() -> Any:
    class LabelLogits(torch.nn.Module):
        """Has what accelerate asks a model of transformers for."""

        def __init__(self, model: Any, token_ids: list[int]) -> None:
            super().__init__()
            self.model, self.token_ids = model, token_ids

        def get_input_embeddings(self) -> Any:
            return core_of(self.model).get_input_embeddings()

        def get_output_embeddings(self) -> Any:
            return core_of(self.model).get_output_embeddings()

        def tie_weights(self) -> None:
            core_of(self.model).tie_weights()

        def forward(self, **inputs: Any) -> torch.Tensor:
            core = core_of(self.model)
            backbone = getattr(core, core.base_model_prefix)
            hidden = backbone(**inputs, use_cache=False).last_hidden_state[:, -1]
            logits: torch.Tensor = core.get_output_embeddings()(hidden)[:, self.token_ids]
            return logits.float()

    return LabelLogits


LABELS = tuple(SCORES)


def mean_score(counts: Mapping[str, int]) -> float:
    """The clip's human-likeness score in [0, 1]: the mean of 1, 0.5 and 0 over its labels.

    ``counts``: label -> number of ratings, at least one in all.
    """
    total = sum(counts.values())
    return sum(SCORES[label] * count for label, count in counts.items()) / total


def final_label(counts: Mapping[str, int]) -> tuple[str, bool]:
    """The label given most often, and whether several shared that place.

    The paper leaves ties open. Here a tie goes to the label whose score is nearest to the mean
    score, and to Unclear where two are equally near: one Human, one Unclear and one Machine make
    Unclear, and so do two Human and two Unclear.
    """
    most = max(counts.values())
    leading = [label for label in LABELS if counts.get(label, 0) == most]
    if len(leading) == 1:
        return leading[0], False
    mean = mean_score(counts)
    near = min(LABELS, key=lambda label: (abs(SCORES[label] - mean), label != "Unclear"))
    return near, True


MODEL = "Qwen/Qwen2-Audio-7B-Instruct"  # the paper's
BASE = PublishedModel(
    MODEL,
    ("config.json", "*.safetensors"),
    ("*.json", "*.txt", "*.model", "*.jinja"),
    source=HUB,
    licence="Apache 2.0",
    size=16_800_000_000,
)
AUDIO = "<|audio_bos|><|AUDIO|><|audio_eos|>"
PROMPT = (
    f"{AUDIO}You hear one recording of speech. Listen to pronunciation, "
    "rhythm and melody, expression, and the sound itself. Decide whether a person is speaking or "
    "a machine, and answer with one word: Human, Unclear or Machine. The voice is:"
)
SHORTEST_S = 0.1  # of audio that still gives the model something to hear


class ModelError(ValueError):
    """A model, prompt or labels that cannot be used together; the message names the remedy."""


@dataclass(frozen=True)
class ModelPlan:
    """Which model is asked what, and how its adapter looks; kept with every checkpoint."""

    name: str = MODEL  # a folder, or a name as model hubs spell it
    prompt: str = PROMPT  # ends with ":", where the labels' logits are read
    template: str = "plain"  # "chat": as a user's turn, its last sentence begins the answer
    label_texts: tuple[str, ...] = LABELS  # for Human, Unclear, Machine, in this order
    label_tokens: str = "first"  # "whole": every label must be a single token
    rank: int = 32  # of LoRA, as alpha and dropout: Wang et al. (2025), section 3.5
    alpha: int = 32
    dropout: float = 0.05

    def __post_init__(self) -> None:
        if not self.prompt.endswith(":"):
            raise ModelError('the prompt must end with ":"; there the labels\' logits are read')
        if len(self.label_texts) != len(LABELS):
            raise ModelError(f"three label texts are needed, for {', '.join(LABELS)}")
        if self.template not in ("plain", "chat"):
            raise ModelError(f"template must be plain or chat, not {self.template!r}")
        if self.label_tokens not in ("first", "whole"):
            raise ModelError(f"label_tokens must be first or whole, not {self.label_tokens!r}")


class Listener:
    """A loaded model with its processor: waves in, probabilities of the three labels out."""

    def __init__(self, model: Any, processor: Any, plan: ModelPlan, device: str) -> None:
        self.model, self.processor, self.plan, self.device = model, processor, plan, device
        self.rate_hz = int(processor.feature_extractor.sampling_rate)
        processor.tokenizer.padding_side = "left"  # so that every prompt ends at the last place
        self.label_ids = label_ids(processor.tokenizer, plan)
        self.prompt = prompt_text(processor, plan)
        self.prior: torch.Tensor | None = None  # see `zero_shot.calibrate`
        self.network: Any = None  # the model as it is called, where it is sharded
        check_prompt_end(processor.tokenizer, self.prompt)

    @property
    def core(self) -> Any:
        """The model itself, whether an adapter is on it or not; adapted layers are inside it."""
        return core_of(self.model)

    @property
    def longest(self) -> int:
        """Samples of a clip that are heard (30 s for Qwen2-Audio); what comes later is not."""
        return int(self.processor.feature_extractor.n_samples)

    def probabilities(self, waves: Sequence[torch.Tensor]) -> torch.Tensor:
        """P(Human), P(Unclear), P(Machine): (clips, 3) float32, rows sum to 1, differentiable.

        Each wave: (samples,) at ``rate_hz``. The softmax over the three labels' logits at the
        prompt's last position (Wang et al. 2025, section 3.5).
        """
        shares = torch.softmax(self.logits(waves), dim=-1)
        return shares if self.prior is None else divide_by_prior(shares, self.prior)

    def logits(self, waves: Sequence[torch.Tensor]) -> torch.Tensor:
        """The three labels' logits at the last position: (clips, 3) float32."""
        network = self.network
        if network is None:
            network = label_logits(self.model, self.label_ids)
        logits: torch.Tensor = network(**self.inputs(waves))
        return logits

    def scores(self, waves: Sequence[torch.Tensor]) -> torch.Tensor:
        """Predicted human-likeness, P(Human) + 0.5 P(Unclear): (clips,) float32 in [0, 1]."""
        return expected_scores(self.probabilities(waves))

    def inputs(self, waves: Sequence[torch.Tensor]) -> dict[str, Any]:
        """What the model gets: the prompt once per clip, padded on the left, and the audio."""
        heard = [wave[: self.longest].detach().cpu().numpy() for wave in waves]
        features = self.processor(
            text=[self.prompt] * len(heard),
            audio=heard,
            sampling_rate=self.rate_hz,
            return_tensors="pt",
            padding=True,
        )
        tensors = {name: value.to(self.device) for name, value in features.items()}
        mask = tensors["attention_mask"]  # positions count from a clip's own first token
        tensors["position_ids"] = (mask.cumsum(-1) - 1).clamp_min(0)
        return tensors


def prompt_text(processor: Any, plan: ModelPlan) -> str:
    """What a model reads beside a clip: the plan's prompt, or the same as its chat template has it.

    With the template, all but the last sentence is the user's turn, after the audio, and the last
    sentence begins the answer, so that the ":" is still the last token (Wang et al. 2025, 3.5).
    ModelError where the model has no template, or one without a place for audio.
    """
    if plan.template == "plain":
        return plan.prompt
    question, _, opening = plan.prompt.rpartition(". ")
    content = [
        {"type": "audio", "audio_url": "clip"},
        {"type": "text", "text": f"{question.removeprefix(AUDIO)}."},
    ]
    if not question:
        raise ModelError(
            "the prompt must have two sentences for template chat: the last begins the answer"
        )
    try:
        turn = processor.apply_chat_template(
            [{"role": "user", "content": content}], tokenize=False, add_generation_prompt=True
        )
    except (AttributeError, ValueError) as error:
        raise ModelError(
            f"{plan.name} has no chat template ({error}); use template plain"
        ) from error
    if str(processor.audio_token) not in turn:
        raise ModelError(f"the chat template of {plan.name} has no place for audio; use plain")
    return f"{turn}{opening}"


def divide_by_prior(probabilities: torch.Tensor, prior: torch.Tensor) -> torch.Tensor:
    """Probabilities (clips, labels) over the prior (labels,), each row scaled to a sum of 1."""
    weighed = probabilities / prior.clamp_min(1e-6)
    return weighed / weighed.sum(-1, keepdim=True)


def expected_scores(probabilities: torch.Tensor) -> torch.Tensor:
    """The expected score, in [0, 1], of probabilities (..., 3) of Human, Unclear and Machine."""
    return probabilities @ probabilities.new_tensor([SCORES[label] for label in LABELS])


def load(plan: ModelPlan, device: str = "cpu", adapter: Path | None = None) -> Listener:
    """The model of a plan on a device, with a trained adapter if one is given; for prediction.

    bfloat16 on a GPU, float32 on the CPU. Raises weights.Unavailable when the model is not here.
    """
    listener = load_base(plan, device)
    if adapter is not None:
        from peft import PeftModel

        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "`is_gradient_checkpointing`", FutureWarning)
            listener.model = PeftModel.from_pretrained(listener.model, str(adapter))
    listener.model.eval()
    return listener


def load_base(plan: ModelPlan, device: str, on_cpu: bool = False) -> Listener:
    """The model of a plan as it was published.

    ``on_cpu``: the weights stay in the CPU's memory, from where they are dealt out to GPUs.
    """
    from transformers import AutoModelForMultimodalLM, AutoProcessor

    if not plan.name:
        raise weights.Unavailable(f"no model named; name one, such as {MODEL}, or its folder")
    folder = weights.locate(BASE.renamed(plan.name))
    dtype = torch.bfloat16 if device.startswith("cuda") else torch.float32
    with weights.silent_transformers():
        processor = AutoProcessor.from_pretrained(folder)
        model = AutoModelForMultimodalLM.from_pretrained(folder, dtype=dtype)
        if not on_cpu:
            model = model.to(device)
    return Listener(model, processor, plan, device)


def add_adapter(listener: Listener, seed: int) -> None:
    """Put a fresh LoRA adapter on all linear layers of the language model, and on nothing else.

    Audio encoder, projector, embeddings and output layer stay as they are. The new adapter changes
    no output before it is trained. ``seed`` fixes its random half.
    """
    from peft import LoraConfig, get_peft_model

    plan = listener.plan
    config = LoraConfig(
        r=plan.rank,
        lora_alpha=plan.alpha,
        lora_dropout=plan.dropout,
        target_modules=language_layers(listener.model),
        bias="none",
    )
    torch.manual_seed(seed)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "`is_gradient_checkpointing`", FutureWarning)
        listener.model = get_peft_model(listener.model, config)


def language_layers(model: Any) -> str:
    """A pattern that matches the full names of the language model's linear layers, and no other."""
    names = dict(model.named_modules())
    inside = [name for name in names if name.rpartition(".")[2] == "language_model"]
    if not inside:
        raise ModelError(
            f"{type(model).__name__} has no part called language_model; use an audio language "
            "model with the interface of Qwen2-Audio"
        )
    head = model.get_output_embeddings()
    linear = [
        name.removeprefix(f"{inside[0]}.")
        for name, layer in names.items()
        if name.startswith(f"{inside[0]}.")
        and isinstance(layer, torch.nn.Linear)
        and layer is not head
    ]
    leaves = sorted({name.rpartition(".")[2] for name in linear})
    return rf"{re.escape(inside[0])}\.(?:.*\.)?(?:{'|'.join(leaves)})"


def label_ids(tokenizer: Any, plan: ModelPlan) -> list[int]:
    """The token of each label, in the order of LABELS; raises ModelError with the remedy.

    A label of several tokens is read by its first one, which must differ from those of the other
    labels; with label_tokens "whole" it is refused.
    """
    spelt = [tokenizer.encode(text, add_special_tokens=False) for text in plan.label_texts]
    for text, tokens in zip(plan.label_texts, spelt, strict=True):
        if not tokens:
            raise ModelError(f"the label {text!r} has no token in this model; spell it otherwise")
        if len(tokens) > 1 and plan.label_tokens == "whole":
            parts = ", ".join(repr(tokenizer.decode([token])) for token in tokens)
            raise ModelError(
                f"the label {text!r} is {len(tokens)} tokens ({parts}), not one; use its first "
                "distinguishing token (label_tokens first), or a text that is one token"
            )
    first = [tokens[0] for tokens in spelt]
    if len(set(first)) < len(first):
        raise ModelError(
            f"the labels {', '.join(map(repr, plan.label_texts))} do not differ in their first "
            "token; choose label texts that do"
        )
    return first


def check_prompt_end(tokenizer: Any, prompt: str) -> None:
    """A ModelError unless the prompt's last token is its ":"."""
    last = tokenizer.decode(tokenizer.encode(prompt)[-1:])
    if not last.rstrip().endswith(":"):
        raise ModelError(
            f'the prompt\'s last token is {last!r}, not ":": this model adds tokens to a prompt'
        )


SECONDS = (1.0, 4.0, 10.0)  # of sounds in which there is nothing to judge
LEVEL = 10 ** (-50 / 20)  # of full scale


def calibrate(listener: Listener) -> dict[str, float]:
    """Have the listener's probabilities divided by those it gives to sounds without content.

    A model that was never trained for this prefers some label whatever it hears; in a ranking by
    P(Human) + 0.5 P(Unclear) that leaning counts. Contextual calibration (Zhao et al. 2021,
    "Calibrate before use"): p / prior, scaled to a sum of 1; the prior is the mean over quiet
    white noise of 1, 4 and 10 s, which is the same each time. Returns the prior by label.
    """
    seeded = torch.Generator().manual_seed(0)
    noises = [
        LEVEL * torch.randn(int(seconds * listener.rate_hz), generator=seeded)
        for seconds in SECONDS
    ]
    listener.prior = None
    with torch.inference_mode():
        prior = torch.stack([listener.probabilities([noise])[0] for noise in noises]).mean(0)
    listener.prior = prior
    return dict(zip(LABELS, prior.tolist(), strict=True))
