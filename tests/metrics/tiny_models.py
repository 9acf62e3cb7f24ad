"""Random models of a few thousand weights, saved as the real ones are, to be loaded as they are."""

from metrics.core.lazy_torch import torch
from tests.metrics import filled


def clap(place):
    """A ClapModel of one block per stage, its feature extractor, a tokenizer of bytes."""
    import transformers as hf
    from tokenizers import pre_tokenizers

    symbols = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    symbols += sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {symbol: number for number, symbol in enumerate(symbols)}
    hf.RobertaTokenizer(vocab=vocabulary, merges=[]).save_pretrained(place)
    hf.ClapFeatureExtractor(truncation="rand_trunc").save_pretrained(place)
    config = hf.ClapConfig(
        text_config={
            "vocab_size": len(symbols), "hidden_size": 16, "num_hidden_layers": 1,
            "num_attention_heads": 2, "intermediate_size": 16, "max_position_embeddings": 66,
        },
        audio_config={
            "patch_embeds_hidden_size": 8, "hidden_size": 64, "depths": [1, 1, 1, 1],
            "num_attention_heads": [1, 1, 1, 1], "num_hidden_layers": 4,
        },
        projection_dim=16,
    )  # fmt: skip
    torch.manual_seed(0)
    hf.ClapModel(config).save_pretrained(place)
    return place


def wavlm(place, kind="WavLMModel", **more):
    """A WavLM of two layers under a head of transformers, and its preprocessor."""
    import transformers as hf

    config = hf.WavLMConfig(
        hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=16,
        conv_dim=(8,) * 7, num_conv_pos_embeddings=8, num_conv_pos_embedding_groups=2,
        tdnn_dim=(16,) * 5, xvector_output_dim=12, use_weighted_layer_sum=True, **more,
    )  # fmt: skip
    torch.manual_seed(7)
    getattr(hf, kind)(config).save_pretrained(place)
    hf.Wav2Vec2FeatureExtractor(do_normalize=True).save_pretrained(place)
    return place


def dimensions(place):
    """A wav2vec 2.0 under the two layers that tell arousal, dominance and valence."""
    import transformers as hf
    from safetensors.torch import save_file

    config = hf.Wav2Vec2Config(
        hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        conv_dim=(8,) * 7, num_conv_pos_embeddings=8, num_conv_pos_embedding_groups=2,
        id2label={0: "arousal", 1: "dominance", 2: "valence"},
    )  # fmt: skip
    torch.manual_seed(8)
    state = {f"wav2vec2.{k}": v for k, v in hf.Wav2Vec2Model(config).state_dict().items()}
    state |= filled.tensors({
        "classifier.dense.weight": (16, 16), "classifier.dense.bias": (16,),
        "classifier.out_proj.weight": (3, 16), "classifier.out_proj.bias": (3,),
    })  # fmt: skip
    config.save_pretrained(place)
    save_file(state, place / "model.safetensors", {"format": "pt"})
    hf.Wav2Vec2FeatureExtractor(do_normalize=True).save_pretrained(place)
    return place


def listener(place, **more):
    """A classifier with three labels, of emotions and of a detector."""
    labels = {0: "neu", 1: "Fake", 2: "ang"}
    return wavlm(place, "WavLMForSequenceClassification", id2label=labels, **more)
