"""Speaker embeddings, one file each; their base's registry finds them."""

from metrics.networks.embeddings.speaker_embedding import SpeakerEmbedding, embedding_type

__all__ = ["SpeakerEmbedding", "embedding_type"]
