"""Whisper by faster-whisper (CTranslate2)."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metrics.core import weights
from metrics.core.devices import index, kind
from metrics.core.precision import in_float32
from metrics.networks.recognisers import side_by_side
from metrics.networks.recognisers.recogniser import Recogniser, whisper_code

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

log = logging.getLogger(__name__)

TOKENIZER = "tokenizer.json"
WANTED = ("config.json", "model.bin", TOKENIZER, "vocabulary.*", "preprocessor_config.json")
AT_ONCE = {"cpu": 4, "cuda": 16}  # windows of 30 s
HUB = {  # names whose repository is not Systran/faster-whisper-NAME
    "large-v3-turbo": "mobiuslabsgmbh/faster-whisper-large-v3-turbo",
    "turbo": "mobiuslabsgmbh/faster-whisper-large-v3-turbo",
}


class FasterWhisper(Recogniser):
    """A Whisper model in CTranslate2's format, by name ("large-v3"), hub name or folder."""

    key = "faster_whisper"
    default_model = "large-v3"
    packages = ("faster-whisper", "ctranslate2")
    network: Any = None

    def load(self) -> None:
        """Load the network; threads as torch has them when this is called."""
        weights.need_package("faster_whisper", "faster-whisper")
        import faster_whisper
        import torch

        logging.getLogger("faster_whisper").setLevel(logging.WARNING)  # else a line per clip
        folder = model_folder(self.model)
        self.weights = weights.model_hashes(folder, ["model.bin"])
        if not (folder / TOKENIZER).is_file():  # else the package would fetch another model's
            raise weights.Unavailable(f"no weights: {folder / TOKENIZER} is missing; put it there")
        try:
            compute_type = self.compute_type()
            self.network = faster_whisper.WhisperModel(
                str(folder),
                device=kind(self.device),
                device_index=index(self.device),
                compute_type=compute_type,
                cpu_threads=torch.get_num_threads(),
            )
        except (RuntimeError, ValueError) as error:  # broken files
            raise weights.Unavailable(f"{self.model} does not load: {error}") from error

    def compute_type(self) -> str:
        """Return the precision asked for, or float32 where CTranslate2 lacks it on the device."""
        import ctranslate2  # type: ignore[import-untyped]

        asked = self.options.precision
        known = ctranslate2.get_supported_compute_types(kind(self.device), index(self.device))
        if asked in known:
            return asked
        why = f"CTranslate2 does not compute in {asked} on this device"
        log.warning("%s runs in float32: %s", self.model, why)
        self.device_notes = in_float32(asked, why)
        return "float32"

    def refusal(self, language: str) -> str:
        """A reason for languages that the model was not trained on."""
        if not self.network or whisper_code(language) in self.network.supported_languages:
            return ""
        only = "English only" if not self.network.model.is_multilingual else "not among its own"
        return f"language {language}: {self.model} cannot hear it ({only})"

    def transcribe(self, wave: npt.NDArray[np.float32], language: str) -> str:
        """Beam search at temperature 0, windows of 30 s, each on its own."""
        segments, _ = self.network.transcribe(
            wave,
            language=whisper_code(language),
            beam_size=self.options.beam,
            temperature=0.0,
            condition_on_previous_text=False,
            vad_filter=False,
        )
        return "".join(segment.text for segment in segments)

    def transcribe_all(self, waves: Sequence[npt.NDArray[np.float32]], language: str) -> list[str]:
        """The same of several waves, whose windows are heard side by side."""
        if len(waves) == 1:
            return [self.transcribe(waves[0], language)]
        at_once, code = AT_ONCE[kind(self.device)], whisper_code(language)
        return side_by_side.transcribe(self.network, waves, code, self.options.beam, at_once)


def model_folder(name: str) -> Path:
    """The folder of a model: one that is there, or the hub's."""
    for place in (Path(name), weights.folder() / name):
        if place.is_dir():
            return place
    hub = name if "/" in name else HUB.get(name, f"Systran/faster-whisper-{name}")
    return weights.model_files(hub, WANTED)
