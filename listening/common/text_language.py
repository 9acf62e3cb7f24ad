"""Whether a text is in another language than its tag says, by py3langid."""

from __future__ import annotations

from functools import cache, lru_cache

from py3langid.langid import MODEL_FILE, LanguageIdentifier

SURE = 0.8  # probability of another language, from which it is told; few words rarely reach it
RULED_OUT = 0.05  # and the tag's own is at most as probable as this


def is_in_another(text: str, language: str) -> bool:
    """False where nobody can say: of few words, of mixed ones, of a language that is not known."""
    return bool(other_language(text, language))


def other_language(text: str, language: str) -> str:
    """Return the language that a text is in where it is not that of its tag; empty if unsure."""
    own = language.replace("_", "-").split("-")[0].lower()
    if own not in _model().labels:
        return ""
    likely = _likely(" ".join(text.split()))
    best = next(iter(likely))
    return best if best != own and likely[best] >= SURE and likely[own] <= RULED_OUT else ""


@lru_cache(maxsize=20_000)
def _likely(text: str) -> dict[str, float]:
    """Languages with their probabilities, the most probable first."""
    return dict(_model().rank(text))


@cache
def _model() -> LanguageIdentifier:
    """py3langid's: 140 languages, weights in the package."""
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
