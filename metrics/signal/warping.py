"""Dynamic time warping of two series of vectors, exact, in little memory."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
BOTH, FIRST, SECOND = 0, 1, 2  # which series goes on to reach a pair


def warping_path(first: Array, second: Array) -> NDArray[np.intp]:
    """The pairs, (steps, 2), from (0, 0) to the last frames, whose distances add up to the least.

    ``first``: (n, dimensions), ``second``: (m, dimensions); a step moves one series or both by a
    frame. Distances are Euclidean. Computed diagonal by diagonal: n m bytes are kept. Source:
    Sakoe and Chiba (1978), symmetric form without weights or slope limits.
    """
    n, m = len(first), len(second)
    moves = np.zeros((n, m), np.uint8)
    before_last, last = np.full(n, np.inf), np.full(n, np.inf)  # costs by frame of the first
    for diagonal in range(n + m - 1):
        i = np.arange(max(0, diagonal - m + 1), min(n, diagonal + 1))
        cost = np.full(n, np.inf)
        step = np.linalg.norm(first[i] - second[diagonal - i], axis=1)
        if diagonal == 0:
            cost[0] = step[0]
        else:
            up = np.where(i > 0, i - 1, 0)
            options = np.stack(
                [
                    np.where(i > 0, before_last[up], np.inf),
                    np.where(i > 0, last[up], np.inf),
                    last[i],
                ]
            )
            best = options.argmin(axis=0)
            moves[i, diagonal - i] = best
            cost[i] = step + options[best, np.arange(len(i))]
        before_last, last = last, cost
    return _traced(moves)


def _traced(moves: NDArray[np.uint8]) -> NDArray[np.intp]:
    i, j = moves.shape[0] - 1, moves.shape[1] - 1
    pairs = [(i, j)]
    while i or j:
        move = moves[i, j]
        i, j = i - (move != SECOND), j - (move != FIRST)
        pairs.append((i, j))
    return np.array(pairs[::-1], np.intp)
