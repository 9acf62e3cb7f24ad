"""UTMOSv2 by its own package, made repeatable."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator

import numpy as np

from metrics.core import weights
from metrics.core.lazy_torch import torch
from metrics.core.published_models import PublishedModel
from metrics.networks.predictors.predictor import Predictor

PACKAGE = "git+https://github.com/sarulab-speech/UTMOSv2.git"
REPETITIONS = 5  # random stretches of a clip, as in the paper
SEED = 20240909
FILE = "fold0_s42_best_model.pth"


class Utmosv2(Predictor):
    """UTMOSv2 (fusion of stage 3, fold 0): the mean over five stretches drawn with a fixed seed."""

    key = "utmosv2"
    source = "Baba et al. (2024), UTMOSv2; package utmosv2, fusion_stage3, fold 0"
    published_model = PublishedModel(
        f"fusion_stage3/{FILE}",
        source=f"https://github.com/sarulab-speech/UTMOSv2/raw/main/models/fusion_stage3/{FILE}",
        licence="MIT",
        size=818_531_314,
        sha256={FILE: "c8149d988e4bbf3f347e6966b5d769de347a5f8c59ffca1dc4bd4bf5b8585e57"},
        cached=f"~/.cache/utmosv2/models/fusion_stage3/{FILE}",
    )
    packages = ("torch", "utmosv2")

    def load(self, device: str = "cpu") -> None:
        """Build the package's model from a file of weights."""
        super().load(device)
        weights.need_package("utmosv2", PACKAGE)
        import utmosv2

        path = weights.locate(self.file)
        self.weights = weights.hashes([path])
        with contextlib.redirect_stdout(io.StringIO()):
            self.model = utmosv2.create_model(checkpoint_path=path)

    def predict(self, waves: torch.Tensor) -> torch.Tensor:
        """One score per wave, (waves,); each alone, so that the draw does not depend on others."""
        with torch.inference_mode(False), torch.no_grad():
            return torch.stack([self.predict_one(wave.cpu().numpy()) for wave in waves])

    def predict_one(self, wave: np.ndarray[tuple[int], np.dtype[np.float32]]) -> torch.Tensor:
        """The score of one wave, (samples,)."""
        with fixed_seed():
            prediction = self.model.predict(
                data=wave[None],
                device=self.device,
                num_workers=0,
                batch_size=1,
                num_repetitions=REPETITIONS,
                verbose=False,
            )
        return torch.tensor(float(np.asarray(prediction).reshape(-1)[0]))


@contextlib.contextmanager
def fixed_seed() -> Iterator[None]:
    """NumPy's and torch's global generators from a fixed seed, restored afterwards."""
    before = np.random.get_state()  # noqa: NPY002 the package draws from the global generator
    with torch.random.fork_rng(devices=[]):
        np.random.seed(SEED)  # noqa: NPY002
        torch.manual_seed(SEED)
        try:
            yield
        finally:
            np.random.set_state(before)  # noqa: NPY002
