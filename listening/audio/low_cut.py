"""What nobody hears taken out of served copies: an offset (DC), and rumble below 20 Hz.

The mean of the samples alone told recordings from synthetic clips. The filter has no phase, and
changes nothing above `HEARD_FROM_HZ`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from listening.common.sound_files import Samples

HEARD_FROM_HZ = 20.0
GONE_BELOW_HZ = 15.0
LONGEST_AT_ONCE = 2**21  # frames: longer clips are filtered in parts
MARGIN_S = 1.0  # on both sides of a part, that the filter looks at


def without_rumble(blocks: Iterable[Samples], rate_hz: int, *, faded: bool) -> Iterator[Samples]:
    """The clip without offset and rumble, as long as before.

    One that is ``faded`` at both ends is filtered as it will be heard, between silences; any other
    as if it went on beyond its ends, so that an offset does not end in a click there.
    """
    margin = round(MARGIN_S * rate_hz)
    held: list[Samples] = []
    before, count = 0, 0  # frames at the start of `held` that were given already, and all of them
    for block in blocks:
        held.append(block)
        count += len(block)
        if count - before >= LONGEST_AT_ONCE + margin:
            wave = np.concatenate(held)
            yield _filtered(wave, rate_hz, margin, faded)[before : count - margin]
            held, before, count = [wave[count - 2 * margin :]], margin, 2 * margin
    if count > before:
        yield _filtered(np.concatenate(held), rate_hz, margin, faded)[before:]


def _filtered(wave: Samples, rate_hz: int, margin: int, faded: bool) -> Samples:
    from scipy.fft import next_fast_len  # pages do not need it

    size = next_fast_len(len(wave) + 2 * margin, real=True)
    weights = _weights(size, rate_hz)
    whole = np.pad(wave, ((margin, margin), (0, 0)), "constant" if faded else "symmetric")
    low = np.fft.rfft(whole, size, axis=0)[: len(weights)] * weights
    return wave - np.fft.irfft(low, size, axis=0)[margin : margin + len(wave)]


def _weights(size: int, rate_hz: int) -> npt.NDArray[np.float64]:
    """How much of each frequency is taken out: all below one edge, nothing above the other."""
    hz = np.arange(0, HEARD_FROM_HZ, rate_hz / size)
    share = (hz - GONE_BELOW_HZ) / (HEARD_FROM_HZ - GONE_BELOW_HZ)
    return np.asarray(0.5 + 0.5 * np.cos(np.pi * share.clip(0, 1)))[:, None]
