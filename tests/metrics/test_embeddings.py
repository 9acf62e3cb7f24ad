"""Speaker embeddings: the numbers of the packages, whatever the batch."""

import numpy as np
import pytest

from metrics.core import weights
from metrics.core.lazy_torch import torch
from metrics.core.metric import ParameterError
from metrics.networks.embeddings import embedding_type
from metrics.networks.embeddings.resemblyzer import partial_starts
from tests.metrics import reference, tiny_models

# Float32 networks: sums in another order, on another processor, move a vector by 3e-7. A window
# that starts one sample late moves it by 8e-4.
ROUNDING = 1e-5


@pytest.fixture(scope="module")
def resemblyzer():
    made = embedding_type("resemblyzer")()
    made.load()
    return made


@pytest.fixture(scope="module")
def known():
    """Vectors of `VoiceEncoder.embed_utterance`, by clip."""
    return np.load(reference.DATA / "embeddings.npz")


@pytest.mark.slow
@pytest.mark.parametrize("clip", ["long_same-human", "long_dialog-human-flite_slt"])
def test_windows_have_the_vectors_of_the_package(resemblyzer, known, clip):
    rows = [row for row in reference.rows("windows.csv") if row["clip"] == clip]
    found = resemblyzer.embed(torch.stack([reference.cut(row) for row in rows])).numpy()
    wanted = known[clip][: len(rows)]
    assert np.abs(found - wanted).max() < ROUNDING
    assert (found * wanted).sum(1) == pytest.approx(1, abs=ROUNDING)
    assert np.linalg.norm(found, axis=1) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("clip", ["human-0880-clean", "flite_rms-0920-clean"])
def test_whole_clips_have_the_vectors_of_the_package(resemblyzer, known, clip):
    found = resemblyzer.embed(reference.wave(clip)[None])[0].numpy()
    assert np.abs(found - known[f"{clip}/full"]).max() < ROUNDING


@pytest.mark.medium
def test_a_window_does_not_depend_on_its_batch(resemblyzer, monkeypatch):
    windows = reference.wave("long_same-human")[: 5 * 48_000].reshape(5, -1)
    together = resemblyzer.embed(windows)
    monkeypatch.setattr(type(resemblyzer), "at_once_s", 3.0)
    assert torch.allclose(resemblyzer.embed(windows), together, atol=ROUNDING)


@pytest.mark.gpu
def test_the_gpu_gives_what_the_cpu_gives(resemblyzer):
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    windows = reference.wave("long_same-human")[: 10 * 48_000].reshape(10, -1)
    on_gpu = embedding_type("resemblyzer")()
    on_gpu.load("cuda")
    found = on_gpu.embed(windows.cuda()).cpu()
    assert torch.allclose(found, resemblyzer.embed(windows), atol=1e-4)


def test_partial_utterances_by_hand():
    assert partial_starts(48_000) == [0, 77, 154]
    assert partial_starts(16_000) == [0]  # shorter than one: padded
    assert partial_starts(154 * 160 + 19_199) == [0, 77]  # 74.99 % of the third are there


def test_weights_are_named_by_their_hash(resemblyzer):
    ((name, digest),) = resemblyzer.weights.items()
    assert f"{digest}  {name}\n" in (weights.BUNDLED / "SHA256SUMS").read_text()


def test_weights_that_earnest_carries_are_checked_when_they_are_loaded(tmp_path, monkeypatch):
    listed = (weights.BUNDLED / "SHA256SUMS").read_text()
    names = {line.split()[1] for line in listed.splitlines()}
    kinds = {".onnx", ".safetensors"}
    assert names == {path.name for path in weights.BUNDLED.iterdir() if path.suffix in kinds}
    assert all(name in (weights.BUNDLED / "NOTICE.txt").read_text() for name in names)
    monkeypatch.setattr(weights, "BUNDLED", tmp_path)
    with pytest.raises(weights.Unavailable, match=r"model_v8.onnx is missing; install Earnest aga"):
        weights.bundled_file("model_v8.onnx")
    (tmp_path / "SHA256SUMS").write_text(listed)
    (tmp_path / "model_v8.onnx").write_text("version https://git-lfs.github.com/spec/v1")
    with pytest.raises(weights.Unavailable, match=r"has the SHA-256 [0-9a-f]{64}, not 9246480c5"):
        weights.bundled_file("model_v8.onnx")


def test_silence_has_a_vector_without_nan(resemblyzer):
    assert bool(torch.isfinite(resemblyzer.embed(torch.zeros(2, 48_000))).all())


# --- WavLM: real loading code, random weights ----------------------------------------------------


@pytest.fixture(scope="module")
def tiny_wavlm(tmp_path_factory):
    """A WavLM x-vector model of few random weights, saved as a hub's models are."""
    return tiny_models.wavlm(tmp_path_factory.mktemp("wavlm"), "WavLMForXVector")


@pytest.mark.slow
def test_a_saved_wavlm_is_loaded_and_gives_its_own_embeddings(tiny_wavlm):
    import transformers

    made = embedding_type("wavlm")(str(tiny_wavlm))
    made.load()
    windows = reference.wave("long_same-human")[: 3 * 48_000].reshape(3, -1)
    found = made.embed(windows)
    assert found.shape == (3, 12)
    assert set(made.weights) == {"model.safetensors"}
    network = transformers.WavLMForXVector.from_pretrained(tiny_wavlm).eval()
    ready = (windows[1] - windows[1].mean()) / torch.sqrt(windows[1].var(correction=0) + 1e-7)
    with torch.inference_mode():
        wanted = network(ready[None]).embeddings[0].double()
    assert torch.allclose(found[1], wanted / wanted.norm(), atol=ROUNDING)


@pytest.mark.slow
def test_without_weights_the_model_and_its_place_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(weights._Place, "folder", tmp_path)
    monkeypatch.setattr(weights._Place, "offline", True)
    with pytest.raises(weights.Unavailable, match=r"microsoft/wavlm-base-plus-sv.*offline"):
        embedding_type("wavlm")().load()
    (tmp_path / "empty").mkdir()
    with pytest.raises(weights.Unavailable, match="incomplete"):
        embedding_type("wavlm")("empty").load()


def test_wrong_names_are_refused():
    with pytest.raises(ParameterError, match="ecapa, resemblyzer, wavlm, wavlm_large"):
        embedding_type("dvector")
    with pytest.raises(ParameterError, match="one model only"):
        embedding_type("resemblyzer")("other")
