"""Tiny networks with random weights in files, for predictors whose weights no package carries."""

import contextlib
import warnings
from unittest import mock

import pytest

torch = pytest.importorskip("torch")


def small_squim():
    """SQUIM's network with few channels."""
    from torchaudio.models.squim.objective import squim_objective_model

    return squim_objective_model(
        feat_dim=16, win_len=64, d_model=16, nhead=2, hidden_dim=16, num_blocks=1,
        rnn_type="LSTM", chunk_size=71,
    )  # fmt: skip


@contextlib.contextmanager
def squim_is_small():
    """Whoever builds SQUIM's network inside gets the small one."""
    with mock.patch("torchaudio.models.squim_objective_base", small_squim):
        yield


def squim(folder, build=small_squim):
    """A file of random weights."""
    torch.manual_seed(5)
    path = folder / "squim_objective_dns2020.pth"
    torch.save(build().state_dict(), path)
    return path


class Level(torch.nn.Module):
    """A score that depends on the samples and their number: [batch, channel, time] to [batch]."""

    def forward(self, waves: torch.Tensor) -> torch.Tensor:
        return 3 + waves.square().mean(dim=-1).sqrt()[:, 0] + waves.shape[-1] * 1e-6


class LevelAtRate(torch.nn.Module):
    """The same of [batch, time] and the rate, as SpeechMOS' predictors are called."""

    def forward(self, waves: torch.Tensor, rate: int) -> torch.Tensor:
        return 3 + waves.square().mean(dim=-1).sqrt() + rate * 1e-6


def scripted(folder, module=None):
    """A TorchScript file."""
    path = folder / "predictor.pt"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # torch would rather export
        torch.jit.script(module or Level()).save(str(path))
    return path


def onnx(folder):
    """An ONNX file whose score is the mean of the samples: (batch, time) to (batch,).

    Written field by field in protobuf's wire format: there is no ONNX package here.
    """
    axes = text(1, "axes") + number(8, 1) + number(20, 7)
    keep = text(1, "keepdims") + number(3, 0) + number(20, 2)
    node = text(1, "waves") + text(2, "score") + text(4, "ReduceMean")
    node += field(5, axes) + field(5, keep)
    graph = field(1, node) + text(2, "mean")
    graph += field(11, value("waves", ["batch", "time"])) + field(12, value("score", ["batch"]))
    path = folder / "predictor.onnx"
    path.write_bytes(number(1, 7) + field(7, graph) + field(8, number(2, 12)))
    return path


def value(name, axes):
    """A named float tensor with named axes."""
    shape = b"".join(field(1, text(2, axis)) for axis in axes)
    return text(1, name) + field(2, field(1, number(1, 1) + field(2, shape)))


def text(place, words):
    return field(place, words.encode())


def field(place, content):
    return varint(place << 3 | 2) + varint(len(content)) + content


def number(place, count):
    return varint(place << 3) + varint(count)


def varint(count):
    first, rest = count & 127, count >> 7
    return bytes([first | 128]) + varint(rest) if rest else bytes([first])
