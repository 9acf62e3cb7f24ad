"""What a light installation leaves out: which package is missing, what brings it, and the command.

Pages, jobs and commands all say it in these words. `requirements-*.txt` list the packages.
"""

from __future__ import annotations

from collections.abc import Iterator

EXTRAS = {  # the names that code imports, by the extra that brings them
    "analysis": ("matplotlib", "pandas", "pyarrow", "scipy", "threadpoolctl"),
    "bayes": ("arviz", "nutpie", "pymc"),
    "metrics": (
        *("accelerate", "distillmos", "faster_whisper", "google", "jiwer", "librosa"),
        *("onnxruntime", "openai", "peft", "pystoi", "pyworld", "safetensors", "silero_vad"),
        *("speechmos", "torch", "torchaudio", "tqdm", "transformers", "zhconv", "zhon"),
    ),
}
NEEDED_FOR = {
    "analysis": "results, plans and exports",
    "bayes": "models that are fitted by sampling",
    "metrics": "scores of audio",
}


def extra_of(package: str) -> str | None:
    """The extra that brings a package which code imports by this name."""
    top = package.partition(".")[0]
    return next((extra for extra, names in EXTRAS.items() if top in names), None)


def remedy(error: BaseException | None) -> str:
    """One sentence on a package that is not installed here; empty for every other error."""
    for each in _chain(error):
        extra = extra_of(each.name or "") if isinstance(each, ModuleNotFoundError) else None
        if extra is not None:
            return (
                f"The package {each.name} is not installed here. It is needed for "  # type: ignore[attr-defined]
                f"{NEEDED_FOR[extra]}: {command(extra)}"
            )
    return ""


def command(extra: str) -> str:
    return (
        f"pip install 'earnest[{extra}]', or in a clone .venv/bin/pip install -r "
        f"requirements-{extra}.txt; then start Earnest again."
    )


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
