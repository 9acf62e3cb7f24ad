"""Clips read from the disk for a batch: sized, decoded, and read ahead by several threads."""

from __future__ import annotations

import contextlib
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

from metrics.core import decoding
from metrics.core.clips import Work, failure
from metrics.core.decoding import Decoded
from metrics.core.metric import Score

Read = Decoded | Score  # a clip's waves with its facts, or why there are none
MOST_READERS = 12  # threads that decode for a GPU, and let go of Python's lock meanwhile
GROUPS_AHEAD = 2


def by_length(work: Iterable[Work]) -> tuple[list[tuple[float, Work]], list[tuple[Work, Score]]]:
    """The work with durations in seconds, short to long; and what cannot be read, with why."""
    sized, unread = [], []
    for each in work:
        try:
            sized.append((decoding.duration_s(each[0].path), each))
        except decoding.AudioError as error:
            unread.append((each, failure(error)))
    return sorted(sized, key=lambda pair: (pair[0], pair[1][0].sha256)), unread


def batches(sized: Iterable[tuple[float, Work]], batch_s: float) -> Iterator[list[Work]]:
    """Neighbours together while their number times the longest is `batch_s` at most."""
    batch: list[Work] = []
    for clip_s, work in sized:  # from short to long
        if batch and (len(batch) + 1) * clip_s > batch_s:
            yield batch
            batch = []
        batch.append(work)
    if batch:
        yield batch


def read_clip(work: Work) -> Read:
    """A clip's waves at the rates that its metrics want, or the failed score of its file."""
    clip, metrics = work
    try:
        if not clip.fresh:
            decoding.check_unchanged(clip.path, clip.sha256)
        loudness = any(metric.accepts.whole_file for metric in metrics)
        return decoding.decoded(clip.path, {m.sample_rate_hz for m in metrics}, loudness)
    except (decoding.AudioError, MemoryError) as error:
        return failure(error)


def readers() -> int:
    """Return how many threads decode: most of this process' processors, two at least."""
    there = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(2, min(MOST_READERS, (there or 2) - 2))


@contextlib.contextmanager
def reading(
    groups: Iterable[list[Work]], ahead: bool
) -> Iterator[Iterator[tuple[list[Work], list[Read]]]]:
    """Each batch with its audio; with `ahead`, threads read the next batches meanwhile."""
    if not ahead:
        yield ((group, [read_clip(work) for work in group]) for group in groups)
        return
    with ThreadPoolExecutor(readers(), "read-ahead") as pool:
        try:
            yield _ahead(groups, lambda work: pool.submit(read_clip, work))
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _ahead(
    groups: Iterable[list[Work]], submit: Callable[[Work], Future[Read]]
) -> Iterator[tuple[list[Work], list[Read]]]:
    coming: deque[tuple[list[Work], list[Future[Read]]]] = deque()
    for group in groups:
        coming.append((group, [submit(work) for work in group]))
        if len(coming) >= GROUPS_AHEAD:
            yield _next(coming)
    while coming:
        yield _next(coming)


def _next(
    coming: deque[tuple[list[Work], list[Future[Read]]]],
) -> tuple[list[Work], list[Read]]:
    group, futures = coming.popleft()
    return group, [future.result() for future in futures]
