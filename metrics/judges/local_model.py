"""An audio language model of this machine, by transformers, that answers a chat with sounds."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metrics.auto_att.model import FILES
from metrics.core import weights
from metrics.judges.form_filling import fill
from metrics.judges.hearing import AudioOnly

TEXT_TOKENS = 400  # after which a text of a form is closed


class ChatError(ValueError):
    """A chat that this model cannot answer; the message says why."""


class Full(Exception):
    """No more tokens may be written."""


@dataclass(frozen=True)
class Written:
    """What the model wrote, and how many tokens it took; ``audio`` are among those read."""

    content: str
    finish: str  # "stop", or "length" where it was cut off
    tokens_in: int
    tokens_out: int
    audio: int


class LocalModel:
    """A loaded audio language model; one answer at a time."""

    def __init__(self, name: str, model: Any, processor: Any, device: str) -> None:
        self.name, self.model, self.processor, self.device = name, model, processor, device
        self.rate_hz = int(processor.feature_extractor.sampling_rate)
        self.longest = int(processor.feature_extractor.n_samples)

    def answer(
        self,
        messages: Sequence[Mapping[str, Any]],
        sounds: Sequence[NDArray[np.float32]],
        schema: Mapping[str, Any] | None = None,
        temperature: float = 0.0,
        seed: int = 0,
        max_tokens: int = 4000,
    ) -> Written:
        """The answer to a chat whose parts are texts and, in order, sounds.

        ``messages`` as a chat template takes them; ``sounds``: (samples,) each, mono at
        ``rate_hz``. With a ``schema`` the answer is JSON of it, else what the model writes. At
        temperature 0 each token is the likeliest. Raises ChatError for a sound that the model
        would hear only in part, or a chat that its template refuses.
        """
        import torch

        for sound in sounds:
            if len(sound) > self.longest:
                raise ChatError(
                    f"a sound of {len(sound) / self.rate_hz:.1f} s; {self.name} hears "
                    f"{self.longest / self.rate_hz:g} s"
                )
        inputs = self._inputs(messages, sounds)
        with torch.inference_mode():
            pen = Pen(self, inputs, temperature, seed, max_tokens)
            content, finish = "", "stop"
            try:
                if schema is None:
                    pen.write_on(max_tokens)
                else:
                    content = json.dumps(fill(schema, pen), ensure_ascii=False)
            except Full:
                finish = "length"
        content = content or pen.text()
        audio = int((inputs["input_ids"] == self._audio_token()).sum())
        return Written(content, finish, inputs["input_ids"].shape[1], len(pen.tokens), audio)

    def _inputs(
        self, messages: Sequence[Mapping[str, Any]], sounds: Sequence[NDArray[np.float32]]
    ) -> dict[str, Any]:
        try:
            text = self.processor.apply_chat_template(
                messages, tokenize=False, add_generation_prompt=True
            )
            text = text[0] if isinstance(text, list) else text
            heard = {"audio": list(sounds), "sampling_rate": self.rate_hz} if sounds else {}
            inputs = self.processor(text=[text], return_tensors="pt", padding=True, **heard)
        except (AttributeError, ValueError, TypeError) as error:
            raise ChatError(f"{self.name} takes no such chat ({error})") from error
        return {name: value.to(self.device) for name, value in inputs.items()}

    def _audio_token(self) -> int:
        return int(self.processor.tokenizer.convert_tokens_to_ids(self.processor.audio_token))


class Pen:
    """The model in the middle of an answer: a `form_filling.Writer` over its key-value cache."""

    def __init__(
        self, local: LocalModel, inputs: dict[str, Any], temperature: float, seed: int, most: int
    ) -> None:
        import torch

        self.local, self.temperature, self.most = local, temperature, most
        self.tokenizer = local.processor.tokenizer
        self.generator = torch.Generator().manual_seed(seed)
        self.tokens: list[int] = []  # of the answer
        self.ends = ends_of(local.model, self.tokenizer)
        out = local.model(**inputs, use_cache=True)
        self.cache, self.logits = out.past_key_values, out.logits[0, -1].float().cpu()

    def text(self) -> str:
        """The answer until now."""
        return str(self.tokenizer.decode(self.tokens, skip_special_tokens=True))

    def give(self, text: str) -> None:
        """Have the model read a text as a part of its answer."""
        self._read(self._spelt(text))

    def choose(self, options: Sequence[str], after: str) -> int:
        """The place of the option that the model writes, token by token."""
        end = self._spelt(after)[0]
        left = {place: self._spelt(option) for place, option in enumerate(options)}
        at = 0
        while len(left) > 1:
            ended = [place for place, tokens in left.items() if len(tokens) == at]
            going_on = {tokens[at] for tokens in left.values() if len(tokens) > at}
            token = self._sampled(sorted({*going_on, *([end] if ended else [])}))
            if ended and token == end:
                return ended[0]
            self._read([token])
            left = {p: tokens for p, tokens in left.items() if tokens[at : at + 1] == [token]}
            at += 1
        ((place, tokens),) = left.items()
        self._read(tokens[at:])
        return place

    def write(self) -> str:
        """What the model writes up to a quotation mark, or until it ends."""
        return self.write_on(TEXT_TOKENS, quoted=True)

    def write_on(self, most: int, quoted: bool = False) -> str:
        """What the model writes until it ends; ``quoted``: up to a quotation mark, or so long."""
        start = len(self.tokens)
        while len(self.tokens) - start < most:
            token = self._sampled(None)
            if token in self.ends:
                break
            written = str(self.tokenizer.decode([*self.tokens[start:], token]))
            if quoted and (quote := unescaped_quote(written)) is not None:
                return written[:quote]
            self._read([token])
        else:
            if not quoted:
                raise Full
        return str(self.tokenizer.decode(self.tokens[start:]))

    def _spelt(self, text: str) -> list[int]:
        tokens: list[int] = self.tokenizer.encode(text, add_special_tokens=False)
        return tokens

    def _sampled(self, allowed: Sequence[int] | None) -> int:
        import torch

        logits = self.logits.clone()
        if allowed is None:
            banned = set(self.tokenizer.all_special_ids) - self.ends
            logits[[token for token in banned if token < len(logits)]] = -torch.inf
        else:
            kept = torch.full_like(logits, -torch.inf)
            kept[list(allowed)] = logits[list(allowed)]
            logits = kept
        if self.temperature == 0:
            return int(logits.argmax())
        shares = torch.softmax(logits / self.temperature, dim=-1)
        return int(torch.multinomial(shares, 1, generator=self.generator))

    def _read(self, tokens: Sequence[int]) -> None:
        import torch

        if not tokens:
            return
        if len(self.tokens) + len(tokens) > self.most:
            raise Full
        out = self.local.model(  # all that was read is seen, so there is no mask
            input_ids=torch.tensor([list(tokens)], device=self.local.device),
            past_key_values=self.cache,
            use_cache=True,
        )
        self.cache, self.logits = out.past_key_values, out.logits[0, -1].float().cpu()
        self.tokens += tokens


def ends_of(model: Any, tokenizer: Any) -> set[int]:
    """The tokens that end an answer."""
    said = getattr(getattr(model, "generation_config", None), "eos_token_id", None)
    several = said if isinstance(said, list) else [said]
    return {int(end) for end in (*several, tokenizer.eos_token_id) if end is not None}


def unescaped_quote(text: str) -> int | None:
    """The place of the first quotation mark that no backslash escapes."""
    escaped = False
    for place, character in enumerate(text):
        if character == '"' and not escaped:
            return place
        escaped = character == "\\" and not escaped
    return None


def load(name: str, device: str) -> LocalModel:
    """A model by its name or folder; weights.Unavailable when it is not here.

    bfloat16 on a GPU, float32 on the CPU. Of a model that can speak, only what listens and writes.
    """
    import torch
    import transformers

    folder = weights.model_files(name, FILES)
    dtype = torch.bfloat16 if device.startswith("cuda") else torch.float32
    with weights.silent_transformers():
        kind = transformers.AutoConfig.from_pretrained(folder).model_type
        if kind == "qwen2_5_omni":
            thinker = transformers.Qwen2_5OmniThinkerForConditionalGeneration
            processor: Any = AudioOnly.from_folder(folder)
            model = thinker.from_pretrained(folder, dtype=dtype)
        else:
            processor = transformers.AutoProcessor.from_pretrained(folder)
            listening = transformers.AutoModelForMultimodalLM
            model = listening.from_pretrained(folder, dtype=dtype)
    return LocalModel(name, model.to(device).eval(), processor, device)
