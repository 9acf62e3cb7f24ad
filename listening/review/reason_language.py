"""Whether a reason is surely written in another language than its session's."""

from __future__ import annotations

from functools import cache, lru_cache

from py3langid.langid import MODEL_FILE, LanguageIdentifier

SURE = 0.8  # probability of another language, from which it is told; few words rarely reach it
RULED_OUT = 0.05  # and the session's own is at most as probable as this


def is_in_another(text: str, language: str) -> bool:
    """False where nobody can say: of few words, of mixed ones, of a language that is not known."""
    own = language.replace("_", "-").split("-")[0].lower()
    if own not in _model().labels:
        return False
    likely = _likely(" ".join(text.split()))
    best = next(iter(likely))
    return best != own and likely[best] >= SURE and likely[own] <= RULED_OUT


@lru_cache(maxsize=20_000)
def _likely(text: str) -> dict[str, float]:
    """Languages with their probabilities, the most probable first."""
    return dict(_model().rank(text))


@cache
def _model() -> LanguageIdentifier:
    """py3langid's: 140 languages, weights in the package."""
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
