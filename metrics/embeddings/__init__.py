"""Speaker embeddings, one file each; this package imports its own files."""

import importlib
import pkgutil

from metrics.embeddings.speaker_embedding import SpeakerEmbedding, embedding_type

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

__all__ = ["SpeakerEmbedding", "embedding_type"]
