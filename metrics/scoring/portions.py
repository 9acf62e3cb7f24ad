"""Work cut into portions whose audio is fetched just before it is scored, one ahead."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from metrics.scoring.runner import Work

CLIPS = 200  # of a portion; at most twice as many are fetched and not scored yet

Bring = Callable[[Iterable[str]], int]  # has paths hold their files


def portions(work: Sequence[Work], bring: Bring, remote: bool) -> Iterator[Sequence[Work]]:
    """All of the work at once where audio is at hand; else portions, each when it was fetched.

    While one is scored the next is fetched, and no more: a worker neither fills its disk nor
    waits for its clips.
    """
    if not remote:
        yield work
        return
    parts = [work[start : start + CLIPS] for start in range(0, len(work), CLIPS)]
    with ThreadPoolExecutor(1, "portions") as pool:
        coming = [pool.submit(bring, places(part)) for part in parts[:1]]
        for place, part in enumerate(parts):
            coming.pop().result()
            if place + 1 < len(parts):
                coming.append(pool.submit(bring, places(parts[place + 1])))
            yield part


def places(work: Iterable[Work]) -> list[str]:
    """The files that the work reads: clips, reference voices, recordings of the same words."""
    clips = [clip for clip, _ in work]
    known = [clip.material for clip in clips]
    others = [path for m in known for path in (m.reference_path, m.reference_audio_path) if path]
    return [*(clip.path for clip in clips), *others]
