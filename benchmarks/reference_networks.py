"""What the authors' own networks say of waves, with small weights that a test makes again.

Writes tests/data/metrics/networks.json: names and shapes of the weights of some networks, and
their outputs. Run it in an environment of its own, in this repository's folder:

    pip install torch torchmetrics librosa requests speechbrain audiobox_aesthetics nisqa funasr
    python -m benchmarks.reference_networks --unispeech ecapa_tdnn.py
    python -m benchmarks.reference_networks --only emotion2vec   # the others stay as they are

`ecapa_tdnn.py`: downstreams/speaker_verification/models/ecapa_tdnn.py of microsoft/UniSpeech.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import warnings
from pathlib import Path
from unittest import mock

import torch  # noqa: TID253 a script of its own
from torch.nn import functional  # noqa: TID253

from tests.metrics import filled

OUT = Path(__file__).parent.parent / "tests" / "data" / "metrics" / "networks.json"
SMALL = {  # of WavLM
    "encoder_layers": 2,
    "encoder_embed_dim": 16,
    "encoder_ffn_embed_dim": 24,
    "encoder_attention_heads": 2,
    "conv_feature_layers": "[(8,10,5)] + [(8,3,2)] * 4 + [(8,2,2)] * 2",
    "conv_pos": 8,
    "conv_pos_groups": 2,
    "num_buckets": 32,
}
NISQA = (  # kinds of network that torchmetrics does not have: the first as for synthesis
    {"cnn_model": "standard", "td": "lstm", "pool": "last_step_bi", "cnn_fc_out_h": 12},
    {"cnn_model": "adapt", "td": "lstm", "pool": "max", "td_lstm_bidirectional": False},
    {"cnn_model": "standard", "td": "self_att", "pool": "att", "pool_att_h": None},
)
EMOTION2VEC = (  # as published with fewer channels; with norms before the layers, a scale for each
    {},
    {"layer_norm_first": True, "learned_alibi_scale_per_layer": True, "conv_pos_width": 8},
)
LENGTHS = (160_000, 48_001)  # a whole window of Audiobox, and a part of one


def main() -> None:
    """Make the networks, ask them, write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--unispeech", type=Path)
    parser.add_argument("--only", help="networks, with commas; the file keeps the others")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    made = {
        "ecapa": ecapa,
        "audiobox": audiobox,
        "wavlm_large": lambda: wavlm_large(given.unispeech),
        "nisqa": lambda: [nisqa(**told) for told in NISQA],
        "nisqa_dim": nisqa_dim,
        "emotion2vec": lambda: [emotion2vec(**told) for told in EMOTION2VEC],
    }
    wanted = given.only.split(",") if given.only else list(made)
    if "wavlm_large" in wanted and not given.unispeech:
        parser.error("wavlm_large needs --unispeech")
    found = json.loads(OUT.read_text(encoding="utf-8")) if given.only else {}
    found |= {name: made[name]() for name in wanted}
    OUT.write_text(json.dumps(found, indent=None), encoding="utf-8")
    print(OUT)


def filled_up(module: torch.nn.Module) -> dict[str, list[int]]:
    """Give a module the test's weights; the shapes of them."""
    state = module.state_dict()
    shapes = {name: list(v.shape) for name, v in state.items() if v.is_floating_point()}
    module.load_state_dict({**state, **filled.tensors(shapes)})
    module.eval()
    return shapes


def ecapa() -> dict[str, object]:
    """SpeechBrain's features and network."""
    from speechbrain.lobes.features import Fbank
    from speechbrain.lobes.models.ECAPA_TDNN import ECAPA_TDNN
    from speechbrain.processing.features import InputNormalization

    network = ECAPA_TDNN(
        80, channels=[16, 16, 16, 16, 24], attention_channels=8, lin_neurons=12,
        res2net_scale=4, se_channels=8,
    )  # fmt: skip
    shapes = filled_up(network)
    waves = torch.from_numpy(filled.waves(24_000))
    normal = InputNormalization(norm_type="sentence", std_norm=False)
    with torch.no_grad():
        vectors = network(normal(Fbank(n_mels=80)(waves), torch.ones(len(waves))))[:, 0]
    return {"shapes": shapes, "outputs": vectors.tolist()}


def audiobox() -> dict[str, object]:
    """The package's network on its own batches."""
    from audiobox_aesthetics.infer import make_inference_batch
    from audiobox_aesthetics.model import aes
    from audiobox_aesthetics.model.wavlm import WavLMConfig

    config = WavLMConfig({**vars(aes.DEFAULT_AUDIO_CFG), **SMALL})
    scales = {name: {"mean": 5.0 + i, "std": 1.5} for i, name in enumerate(aes.AXES_NAME)}
    with mock.patch.object(aes, "DEFAULT_AUDIO_CFG", config):
        network = aes.AesMultiOutput(
            proj_num_layer=3, proj_ln=True, nth_layer=3, target_transform=scales
        )
    shapes = filled_up(network)
    outputs = []
    for samples in LENGTHS:
        waves, masks, _, _ = make_inference_batch(
            [torch.from_numpy(wave)[None] for wave in filled.waves(samples)]
        )
        with torch.no_grad():
            said = network({"wav": torch.stack(waves), "mask": torch.stack(masks)})
        outputs.append(
            [(said[a] * scales[a]["std"] + scales[a]["mean"]).tolist() for a in aes.AXES_NAME]
        )
    config_json = {"target_transform": scales, "normalize_embed": True}
    return {"shapes": shapes, "config": config_json, "lengths": LENGTHS, "outputs": outputs}


def nisqa(**told: object) -> dict[str, object]:
    """A network of the package on windows of spectra that are noise."""
    from nisqa.NISQA_lib import NISQA as Network

    args = {
        "ms_seg_length": 15, "ms_n_mels": 48, "cnn_c_out_1": 3, "cnn_c_out_2": 4,
        "cnn_c_out_3": 5, "cnn_kernel_size": (3, 3), "cnn_dropout": 0.2, "cnn_pool_1": [24, 7],
        "cnn_pool_2": [12, 5], "cnn_pool_3": [6, 3], "cnn_fc_out_h": None, "td_sa_d_model": 8,
        "td_sa_nhead": 2, "td_sa_pos_enc": None, "td_sa_num_layers": 2, "td_sa_h": 8,
        "td_sa_dropout": 0.1, "td_lstm_h": 6, "td_lstm_num_layers": 1, "td_lstm_dropout": 0,
        "td_lstm_bidirectional": True, "td_2": "skip", "pool_att_h": 6, "pool_att_dropout": 0,
        **told,
    }  # fmt: skip
    network = Network(**args)
    shapes = filled_up(network)
    levels = torch.from_numpy(filled.waves(48 * 75).reshape(2, 48, 75)) * 100 - 30
    windows = levels.unfold(2, 15, 4).transpose(1, 2)
    with torch.no_grad():
        values = network(windows[:, :, None], torch.tensor([windows.shape[1]] * 2))
    args["cnn_kernel_size"] = [3, 3]
    return {"args": {**args, "model": "NISQA"}, "shapes": shapes, "outputs": values[:, 0].tolist()}


def nisqa_dim() -> dict[str, object]:
    """The five values of the published kind of network, by torchmetrics, from waves."""
    from torchmetrics.functional.audio import nisqa as published

    from tests.metrics.tiny_predictors import NISQA as args

    network = published._NISQADIM(args)
    shapes = filled_up(network)
    with mock.patch.object(published, "_load_nisqa_model", return_value=(network, args)):
        values = published.non_intrusive_speech_quality_assessment(
            torch.from_numpy(filled.waves(96_000)), 48_000
        )
    return {"shapes": shapes, "outputs": values.tolist()}


def emotion2vec(**told: object) -> dict[str, object]:
    """FunASR's network on waves; configured as emotion2vec+ is, with fewer channels."""
    from funasr.models.emotion2vec.model import Emotion2vec

    audio = {
        "prenet_depth": 2, "prenet_layerdrop": 0.0, "prenet_dropout": 0.1,
        "start_drop_path_rate": 0.0, "end_drop_path_rate": 0.0, "num_extra_tokens": 3,
        "init_extra_token_zero": True, "local_grad_mult": 1.0, "use_alibi_encoder": True,
        "alibi_scale": 1.0, "learned_alibi": False, "learned_alibi_scale": True,
        "learned_alibi_scale_per_head": True, "learned_alibi_scale_per_layer": False,
        "num_alibi_heads": 3, "model_depth": 2, "decoder": None, "extractor_mode": "layer_norm",
        "feature_encoder_spec": "[(8, 10, 5)] + [(8, 3, 2)] * 4 + [(8, 2, 2)] * 2",
        "conv_pos_width": 15, "conv_pos_groups": 4, "conv_pos_depth": 2, "conv_pos_pre_ln": False,
    }  # fmt: skip
    conf = {
        "depth": 2, "num_heads": 3, "embed_dim": 12, "mlp_ratio": 2.0, "norm_eps": 1e-5,
        "norm_affine": True, "encoder_dropout": 0.1, "post_mlp_drop": 0.1,
        "attention_dropout": 0.1, "activation_dropout": 0.0, "dropout_input": 0.0,
        "layerdrop": 0.05, "layer_norm_first": False, "end_of_block_targets": False,
        "start_drop_path_rate": 0.0, "end_drop_path_rate": 0.0, "average_top_k_layers": 2,
        "loss_beta": 0.0, "loss_scale": None, "normalize": True, "modalities": {"audio": audio},
    }  # fmt: skip
    for name, value in told.items():
        (conf if name in conf else audio)[name] = value
    network = Emotion2vec(model_conf=conf, vocab_size=9)
    shapes = filled_up(network)
    waves = torch.from_numpy(filled.waves(24_000))
    with torch.no_grad():
        normal = torch.stack([functional.layer_norm(wave, wave.shape) for wave in waves])
        means = network.extract_features(normal)["x"].mean(dim=1)
        scores = network.proj(means).softmax(dim=-1)
    told = {"shapes": shapes, "config": {"model_conf": conf}}
    return {**told, "vectors": means.tolist(), "outputs": scores.tolist()}


def wavlm_large(source: Path) -> dict[str, object]:
    """UniSpeech's network over WavLM (the code of it in Audiobox's package) as s3prl calls it."""
    from audiobox_aesthetics.model import aes
    from audiobox_aesthetics.model.wavlm import WavLM, WavLMConfig

    large = {"extractor_mode": "layer_norm", "layer_norm_first": True, "normalize": True}
    config = WavLMConfig({**vars(aes.DEFAULT_AUDIO_CFG), **SMALL, **large})

    class Upstream(torch.nn.Module):
        """What goes into each layer, and what leaves the encoder."""

        def __init__(self) -> None:
            super().__init__()
            self.model = WavLM(config)

        def forward(self, waves: list[torch.Tensor]) -> dict[str, list[torch.Tensor]]:
            seen: list[torch.Tensor] = []
            encoder = self.model.encoder
            hooks = [
                layer.register_forward_hook(lambda _, put, __: seen.append(put[0].transpose(0, 1)))
                for layer in encoder.layers
            ]
            hooks.append(encoder.register_forward_hook(lambda _, __, got: seen.append(got[0])))
            normal = torch.stack([functional.layer_norm(wave, wave.shape) for wave in waves])
            self.model.extract_features(normal)
            for hook in hooks:
                hook.remove()
            return {"hidden_states": seen}

    spec = importlib.util.spec_from_file_location("unispeech", source)
    assert spec
    assert spec.loader
    unispeech = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(unispeech)
    with mock.patch("torch.hub.load", return_value=Upstream().eval()):
        network = unispeech.ECAPA_TDNN(feat_dim=16, channels=16, emb_dim=12)
    shapes = filled_up(network)
    with torch.no_grad():
        vectors = network(torch.from_numpy(filled.waves(16_000)))
    return {"shapes": shapes, "outputs": vectors.tolist()}


if __name__ == "__main__":
    main()
