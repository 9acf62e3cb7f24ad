"""Tiny networks with random weights in files, for predictors whose weights no package carries."""

import contextlib
import json
import warnings
from unittest import mock

from metrics.core.lazy_torch import torch
from tests.metrics import filled, reference


def small_squim():
    """SQUIM's network with few channels."""
    from torchaudio.models.squim.objective import squim_objective_model

    return squim_objective_model(
        feat_dim=16, win_len=64, d_model=16, nhead=2, hidden_dim=16, num_blocks=1,
        rnn_type="LSTM", chunk_size=71,
    )  # fmt: skip


def small_squim_mos():
    """SQUIM's subjective network with few channels."""
    from torchaudio.models import wav2vec2_model
    from torchaudio.models.squim.subjective import Predictor, SquimSubjective

    heard = wav2vec2_model(
        extractor_mode="group_norm", extractor_conv_layer_config=[(16, 10, 5), (16, 8, 64)],
        extractor_conv_bias=False, encoder_embed_dim=16, encoder_projection_dropout=0.0,
        encoder_pos_conv_kernel=8, encoder_pos_conv_groups=2, encoder_num_layers=1,
        encoder_num_heads=2, encoder_attention_dropout=0.0, encoder_ff_interm_features=16,
        encoder_ff_interm_dropout=0.0, encoder_dropout=0.0, encoder_layer_norm_first=False,
        encoder_layer_drop=0.0, aux_num_out=None,
    )  # fmt: skip
    return SquimSubjective(heard, torch.nn.Linear(16, 8), Predictor(16, 5))


@contextlib.contextmanager
def squim_is_small():
    """Whoever builds one of SQUIM's networks inside gets the small one."""
    with (
        mock.patch("torchaudio.models.squim_objective_base", small_squim),
        mock.patch("torchaudio.models.squim_subjective_base", small_squim_mos),
    ):
        yield


def squim_mos(folder):
    """A file of random weights of the subjective network."""
    return squim(folder, small_squim_mos, "squim_subjective_bvcc_daps.pth")


def squim(folder, build=small_squim, name="squim_objective_dns2020.pth"):
    """A file of random weights."""
    torch.manual_seed(5)
    path = folder / name
    torch.save(build().state_dict(), path)
    return path


def scripted(folder, name="Level"):
    """A TorchScript file of this module of tests/metrics/tiny_modules.py."""
    from tests.metrics import tiny_modules

    path = folder / "predictor.pt"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # torch would rather export
        torch.jit.script(getattr(tiny_modules, name)()).save(str(path))
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


def seven(folder):
    """An ONNX file of SIGMOS' shape, (1, 3, frames, bins): cosh of three means twice, their mean.

    Opinions are 1 or more, and so is the hyperbolic cosine.
    """

    def mean(place, made, axes, keep):
        axes = text(1, "axes") + b"".join(number(8, axis) for axis in axes) + number(20, 7)
        kept = text(1, "keepdims") + number(3, keep) + number(20, 2)
        return (
            text(1, place) + text(2, made) + text(4, "ReduceMean") + field(5, axes) + field(5, kept)
        )

    axis = text(1, "axis") + number(3, 1) + number(20, 2)
    joined = b"".join(text(1, name) for name in "aab") + text(2, "scores") + text(4, "Concat")
    cosh = text(1, "means") + text(2, "a") + text(4, "Cosh")
    graph = field(1, mean("seen", "means", [2, 3], 0)) + field(1, cosh)
    graph += field(1, mean("a", "b", [1], 1))
    graph += field(1, joined + field(5, axis)) + text(2, "seven")
    graph += field(11, value("seen", ["one", "three", "frames", "bins"]))
    graph += field(12, value("scores", ["one", "seven"]))
    path = folder / "seven.onnx"
    path.write_bytes(number(1, 7) + field(7, graph) + field(8, number(2, 12)))
    return path


def opinions(folder):
    """A TorchScript file of DNSMOS Pro's shape."""
    return scripted(folder, "Opinions")


NISQA = {  # how the published checkpoint was trained, with fewer channels
    "model": "NISQA_DIM", "ms_sr": 48_000, "ms_fmax": 20_000, "ms_n_fft": 4096,
    "ms_hop_length": 0.01, "ms_win_length": 0.02, "ms_n_mels": 48, "ms_seg_length": 15,
    "ms_seg_hop_length": 4, "ms_max_segments": 80, "cnn_model": "adapt", "cnn_c_out_1": 3,
    "cnn_c_out_2": 4, "cnn_c_out_3": 5, "cnn_kernel_size": (3, 3), "cnn_dropout": 0.2,
    "cnn_fc_out_h": None, "cnn_pool_1": [24, 7], "cnn_pool_2": [12, 5], "cnn_pool_3": [6, 3],
    "td": "self_att", "td_sa_d_model": 8, "td_sa_nhead": 2, "td_sa_pos_enc": False,
    "td_sa_num_layers": 2, "td_sa_h": 8, "td_sa_dropout": 0.1, "td_2": "skip", "pool": "att",
    "pool_att_h": 6, "pool_att_dropout": 0,
}  # fmt: skip


def nisqa(folder, **args):
    """A checkpoint as NISQA's authors save them."""
    state = filled.tensors(reference.networks()["nisqa_dim"]["shapes"])
    path = folder / "nisqa.tar"
    torch.save({"args": {**NISQA, **args}, "model_state_dict": state}, path)
    return path


def audiobox(folder):
    """A folder as the hub has Audiobox Aesthetics."""
    from safetensors.torch import save_file

    told = reference.networks()["audiobox"]
    save_file(filled.tensors(told["shapes"]), folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(told["config"]), encoding="utf-8")
    return folder


EMOTIONS = (  # tokens.txt of the published checkpoints, a line each
    "生气/angry 厌恶/disgusted 恐惧/fearful 开心/happy 中立/neutral 其他/other 难过/sad "
    "吃惊/surprised <unk>"
)


def emotion2vec(folder, number=0):
    """A folder as the hub has emotion2vec+; its trainer put a name before each weight."""
    told = reference.networks()["emotion2vec"][number]
    state = {f"d2v_model.{k}": v for k, v in filled.tensors(told["shapes"]).items()}
    torch.save({"model": state}, folder / "model.pt")
    (folder / "config.yaml").write_text(json.dumps(told["config"]), encoding="utf-8")
    (folder / "tokens.txt").write_text("\n".join(EMOTIONS.split()), encoding="utf-8")
    return folder


class TellsLanguages:
    """What faster-whisper says of the language of any wave."""

    def detect_language(self, wave):
        return "en", 0.75, [("en", 0.75), ("zh", 0.2), ("de", 0.05)]


@contextlib.contextmanager
def languages_are_told():
    """Who loads the network that tells languages inside gets `TellsLanguages`."""
    from metrics.suite.language_match import LanguageMatch

    def load(metric, device="cpu"):
        metric.network = TellsLanguages()

    with mock.patch.object(LanguageMatch, "load", load):
        yield


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
