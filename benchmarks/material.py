"""Studies of any size for the benchmarks, with clips of noise where raters shall hear some."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

CLIP_RATE_HZ = 22_050


def write_clips(media: Path, count: int, seed: int = 1) -> list[tuple[str, float]]:
    """(storage name, seconds) of FLAC clips of noise, 2.5 to 6.5 s: about 100 to 280 KB each."""
    import numpy as np
    import soundfile

    rng = np.random.default_rng(seed)
    clips = []
    for k in range(count):
        seconds = 2.5 + 4.0 * k / max(count - 1, 1)
        noise = rng.normal(0, 0.1, int(seconds * CLIP_RATE_HZ)).clip(-1, 1)
        code = secrets.token_hex(16)
        path = media / "served" / code[:2] / f"{code}.flac"
        path.parent.mkdir(parents=True, exist_ok=True)
        soundfile.write(path, noise, CLIP_RATE_HZ, subtype="PCM_16", format="FLAC")
        clips.append((f"served/{code[:2]}/{code}.flac", seconds))
    return clips


def make_study(
    key: str,
    *,
    conditions: int,
    items: int,
    clips: list[tuple[str, float]] | None = None,
    traps: int = 0,
    **fields: Any,
) -> Any:
    """An open study with its material and no task yet."""
    from django.contrib.auth.models import User

    from listening.models import Condition, Item, Stimulus, Study

    owner, _ = User.objects.get_or_create(username="researcher")
    study = Study.objects.create(
        owner=owner, key=key, title=key, state=Study.State.OPEN, seed=1, **fields
    )
    made = Condition.objects.bulk_create(
        [Condition(study=study, key=f"cond-{c}") for c in range(conditions)]
    )
    text = "The north wind and the sun were arguing about which of them was the stronger. "
    texts = Item.objects.bulk_create(
        [Item(study=study, key=f"item-{i}", text=text) for i in range(items)]
    )
    cells = [(condition, item, "") for condition in made for item in texts]
    if traps:
        trap = Condition.objects.create(study=study, key="trap", role=Condition.Role.TRAP)
        for kind in ("flawed", "human"):
            extra = [Item(study=study, key=f"{kind}-{k}") for k in range(traps)]
            cells += [(trap, item, kind) for item in Item.objects.bulk_create(extra)]
    served = clips or [("", 5.0)]
    Stimulus.objects.bulk_create(
        [_stimulus(study, *cell, *served[k % len(served)]) for k, cell in enumerate(cells)],
        batch_size=5000,
    )
    return study


def _stimulus(study: Any, condition: Any, item: Any, trap: str, served: str, s: float) -> Any:
    from listening.models import Stimulus

    return Stimulus(
        study=study,
        key=f"{condition.key}_{item.key}",
        condition=condition,
        item=item,
        trap=trap,
        file=f"audio/{condition.key}_{item.key}.wav",
        original=served,
        served=served,
        sha256="0" * 64,
        served_sha256="0" * 64,
        duration_s=s,
        sample_rate_hz=CLIP_RATE_HZ,
        channels=1,
    )


ATT_TRAPS = {
    "placement": "outside",
    "per": 10,
    "kinds": [
        {"kind": "flawed", "count": 1, "expected": ["Machine"], "pass_at_least": 1},
        {"kind": "human", "count": 2, "expected": ["Human"], "pass_at_least": 1},
    ],
}
REASON = {
    "required": True,
    "min_chars": 10,
    "prompt": "Why do you think so? Name what you heard.",
    "good": ["The pause before the name is too even, and no breath is taken."],
    "poor": ["Sounds fake."],
}


def add_task(study: Any, method: str, **fields: Any) -> Any:
    """A task as a researcher would set it up: instructions, one criterion, its method's scale."""
    from listening.methods import method_named
    from listening.models import Criterion, Task

    task = Task.objects.create(
        study=study,
        key=f"{method}-{study.tasks.count()}",
        order=study.tasks.count(),
        method=method,
        title=method.upper(),
        instructions="Listen to each clip to its end, then answer what you are asked. " * 3,
        **{"block_size": 10, "ratings_per_stimulus": 10, **fields},
    )
    known = method_named(method)
    Criterion.objects.create(
        task=task,
        key="naturalness",
        order=0,
        question=known.default_question,
        scale=known.scale(task.options).as_dict(),
    )
    return task


def demo_like_study(clips: list[tuple[str, float]], sessions: int) -> Any:
    """An Audio Turing Test with reasons and traps, then a MOS task, like the demo's.

    A session has 10 + 3 trials of the first task and 10 of the second.
    """
    from listening.sessions import allocation

    conditions, items = 6, 100
    needed = sessions * 10 // (conditions * items) + 1
    study = make_study("bench", conditions=conditions, items=items, clips=clips, traps=10)
    shared = {"ratings_per_stimulus": needed}
    add_task(study, "att", traps=ATT_TRAPS, justification=REASON, **shared)
    add_task(study, "mos", show_text=True, **shared)
    allocation.plan_study(study)
    return study
