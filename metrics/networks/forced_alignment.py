"""Turn times found from the turns' texts: CTC forced alignment with torchaudio's MMS_FA model."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import itertools
import re
import unicodedata
from collections.abc import Sequence
from typing import Any

from metrics.core import weights
from metrics.core.lazy_torch import torch
from metrics.core.metric import Turn
from metrics.core.published_models import PublishedModel
from metrics.signal.turns import have_times

RATE_HZ = 16_000
FRAME = 320  # samples from one frame of the network to the next
CHUNK = 1_000 * FRAME  # 20 s go through the network at once
CONTEXT = 100 * FRAME  # and 2 s on either side, of which the frames are thrown away
LONGEST_S = 900.0  # the table of paths grows with frames times letters
MARGIN_S = 0.1  # the network peaks inside letters, so a turn gets this much more at either side
MODEL = PublishedModel(
    "torchaudio/mms_fa.pt",
    source="https://dl.fbaipublicfiles.com/mms/torchaudio/ctc_alignment_mling_uroman/model.pt",
    licence="CC BY-NC 4.0",
    commercial=False,
    size=1_262_047_414,
    sha256={"mms_fa.pt": "20ef12963ab4924bef49ac4fc7f58ad5da2ee43b2c11bc8c853c9b90ecdbc680"},
)


class AlignmentError(ValueError):
    """These texts cannot be laid on this audio; the message is a short reason."""


class TurnAligner:
    """Finds when each turn's text is spoken. Load it once; it keeps no state between clips."""

    packages = ("torchaudio",)

    def __init__(self) -> None:
        self.weights: dict[str, str] = {}  # file name -> SHA-256, filled by load()

    def load(self, device: str = "cpu") -> None:
        """Load MMS_FA onto `device`; `weights.Unavailable` names the file's place."""
        import torchaudio

        bundle: Any = torchaudio.pipelines.MMS_FA
        path = weights.locate(MODEL)
        here = {"model_dir": str(path.parent), "file_name": path.name}
        network = bundle.get_model(with_star=False, dl_kwargs=here)
        self.network = network.to(device).eval()
        self.letters = {label: i for i, label in enumerate(bundle.get_labels(star=None))}
        self.weights = weights.hashes([path])

    def timed_turns(self, wave: torch.Tensor, turns: Sequence[Turn]) -> tuple[Turn, ...]:
        """The turns with their times; as they are when they have them.

        ``wave``: (samples,) at 16 kHz. Raises AlignmentError when the texts do not fit.
        """
        if have_times(turns):
            return tuple(turns)
        if len(wave) > LONGEST_S * RATE_HZ:
            raise AlignmentError(f"longer than {LONGEST_S:g} s, too long to align")
        tokens = [tokens_of(turn.text, self.letters) for turn in turns]
        spans = aligned_spans(emissions(wave, self.network), tokens)
        times = widen_spans(
            [(a * FRAME / RATE_HZ, b * FRAME / RATE_HZ) for a, b in spans], len(wave)
        )
        return tuple(
            dataclasses.replace(turn, start_s=start_s, end_s=end_s)
            for turn, (start_s, end_s) in zip(turns, times, strict=True)
        )


def emissions(wave: torch.Tensor, network: Any) -> torch.Tensor:
    """Log-probabilities [frames, letters] of a wave (samples,); one frame per 20 ms.

    Attention costs grow with the square of the length, so the wave goes through in parts of 20 s
    with 2 s of context on either side.
    """
    parts = []
    with torch.inference_mode():
        for start in range(0, len(wave), CHUNK):
            first, last = max(0, start - CONTEXT), start + CHUNK + CONTEXT
            chunk = wave[first:last].float()
            if len(chunk) <= (start - first) + 400:  # no whole frame is left: 25 ms
                break
            logits = network(chunk[None])[0][0]
            skipped = (start - first) // FRAME
            parts.append(logits[skipped : skipped + CHUNK // FRAME])
    if not parts:
        raise AlignmentError("too short to align")
    return torch.cat(parts).log_softmax(dim=-1)


def aligned_spans(log_probs: torch.Tensor, turns: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    """First frame and the one after the last of each turn, on the likeliest CTC path of them all.

    ``log_probs``: [frames, letters], blank is letter 0; ``turns``: each turn's letters, in order,
    none empty. Raises AlignmentError when there are more letters than frames.
    """
    from torchaudio.functional import forced_align, merge_tokens

    flat = [letter for turn in turns for letter in turn]
    repeats = sum(a == b for a, b in itertools.pairwise(flat))
    if len(flat) + repeats > len(log_probs):
        raise AlignmentError("the texts have more letters than the audio has frames")
    targets = torch.tensor([flat], dtype=torch.int32, device=log_probs.device)
    path, scores = forced_align(log_probs[None], targets, blank=0)
    spans = merge_tokens(path[0], scores[0])
    turn_spans, place = [], 0
    for turn in turns:
        own = spans[place : place + len(turn)]
        turn_spans.append((int(own[0].start), int(own[-1].end)))
        place += len(turn)
    return turn_spans


def widen_spans(spans: Sequence[tuple[float, float]], n_samples: int) -> list[tuple[float, float]]:
    """The spans in seconds, each a little longer, without meeting neighbours or leaving the wave.

    Between two turns at most half of the pause goes to either.
    """
    ends = [0.0, *(end for _, end in spans)]
    starts = [*(start for start, _ in spans), n_samples / RATE_HZ]
    pauses = [max(0.0, start - end) for end, start in zip(ends, starts, strict=True)]
    inner = [min(MARGIN_S, pause / 2) for pause in pauses[1:-1]]
    before = [min(MARGIN_S, pauses[0]), *inner]
    after = [*inner, min(MARGIN_S, pauses[-1])]
    return [
        (start - left, end + right)
        for (start, end), left, right in zip(spans, before, after, strict=True)
    ]


def tokens_of(text: str, letters: dict[str, int]) -> list[int]:
    """The letters of a text as the network knows them: small, Latin, without accents.

    Other scripts are romanised by the package uroman, as in the training of the model. What has
    no letter (digits, marks) is left out. Raises AlignmentError when nothing is left.
    """
    plain = "".join(
        sign
        for sign in unicodedata.normalize("NFKD", text).lower().replace("’", "'")
        if not unicodedata.combining(sign)
    )
    if re.search(r"[^\W\d_a-z]", plain):
        plain = romanise(plain)
    tokens = [letters[sign] for sign in plain if sign in letters and sign != "-"]
    if not tokens:
        raise AlignmentError(f"a turn without letters to align: {text[:40]!r}")
    return tokens


def romanise(text: str) -> str:
    """The text in Latin letters (uroman); AlignmentError when the package is not installed."""
    try:
        return str(_uroman().romanize_string(text)).lower()
    except ImportError:
        raise AlignmentError("this script needs the package uroman to be aligned") from None


@functools.cache
def _uroman() -> Any:
    return importlib.import_module("uroman").Uroman()
