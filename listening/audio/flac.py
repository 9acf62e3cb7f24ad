"""FLAC at one constant rate (RFC 9639): a file's size follows from its length, not from its sound.

All residuals are coded with one Rice parameter as far as they fit; where loud passages take more,
others get a parameter less. So there is no padding, and no field says how well a clip compresses.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt
from fastcrc import crc8, crc16

BLOCK = 4096  # samples of each channel in a frame, the last one's aside
PARTITIONS = 16  # of a frame, each with a Rice parameter of its own
BITS = 16  # of a sample
MARK = b"fLaC"  # begins a file
MOST_RICE = 14  # 15 is an escape code
LONGEST_UNARY = 4  # bits of the count that a code's unary part holds
ORDER = 1  # of the fixed predictor: a higher one takes more bits where noise is loud
RATES = {  # Hz: how a frame names them
    **{88_200: 1, 176_400: 2, 192_000: 3, 8_000: 4, 16_000: 5, 22_050: 6},
    **{24_000: 7, 32_000: 8, 44_100: 9, 48_000: 10, 96_000: 11},
}
Whole = npt.NDArray[np.int32]


def head(rate_hz: int, channels: int, samples: int) -> bytes:
    """What stands before the frames, for so many samples of each channel."""
    sizes = 2 * BLOCK.to_bytes(2, "big") + bytes(6)  # of blocks; of frames: not known
    field = rate_hz << 44 | (channels - 1) << 41 | (BITS - 1) << 36 | samples
    info = sizes + field.to_bytes(8, "big") + bytes(16)  # no hash of the samples
    return MARK + bytes([0x80]) + len(info).to_bytes(3, "big") + info


def encoded(
    samples: npt.NDArray[np.int16], rate_hz: int, first: int, bits_per_sample: float
) -> bytes:
    """Samples × channels as frames, numbered from the first one on.

    They take about so many bits per sample: more only where the sound cannot be coded in them. A
    last frame of fewer than `BLOCK` samples is as near if they are a multiple of `PARTITIONS`.
    """
    count, channels = len(samples) // BLOCK, samples.shape[1]
    parts = []
    if count:
        rows = samples[: count * BLOCK].reshape(count, BLOCK, channels).transpose(0, 2, 1)
        parts.append(_frames(rows, rate_hz, first, bits_per_sample))
    if len(rest := samples[count * BLOCK :]):
        parts.append(_frames(rest.T[None], rate_hz, first + count, bits_per_sample))
    return b"".join(parts)


def _frames(rows: npt.NDArray[np.int16], rate_hz: int, first: int, bits_per_sample: float) -> bytes:
    """Frames × channels × samples."""
    count, channels, size = rows.shape
    order = min(ORDER, size - 1)
    is_even = size % PARTITIONS == 0 and size // PARTITIONS > ORDER
    partitions = PARTITIONS if is_even else 1
    residuals = np.zeros(rows.shape, np.int32)
    residuals[..., order:] = np.diff(rows.astype(np.int32), order, axis=2)
    folded = residuals << 1 ^ residuals >> 31  # 0, -1, 1, -2 … as 0, 1, 2, 3 …
    folded = folded.reshape(count, channels, partitions, -1)
    rice = _rice_parameters(folded, bits_per_sample * rows.size)

    slots = 1 + partitions + size
    values = np.zeros((count, channels, slots + slots % 2), np.uint64)
    lengths = np.zeros(values.shape, np.int32)
    values[..., 0], lengths[..., 0] = _subframe_head(rows, order, partitions)
    shape = (count, channels, partitions, -1)
    codes, widths = (each[..., 1:slots].reshape(shape) for each in (values, lengths))  # views
    codes[..., 0], widths[..., 0] = rice, 4
    each = rice[..., None]
    codes[..., 1:] = folded & (1 << each) - 1 | 1 << each
    np.add(folded >> each, each + 1, out=widths[..., 1:])
    codes[:, :, 0, 1 : 1 + order] = widths[:, :, 0, 1 : 1 + order] = 0  # they stand in the head
    bodies = _packed(values.reshape(count, -1), lengths.reshape(count, -1))
    return b"".join(
        _frame(body, rate_hz, channels, size, first + place) for place, body in enumerate(bodies)
    )


def _rice_parameters(folded: Whole, most_bits: float) -> Whole:
    """For each partition: at least what its greatest value needs; all together fill the bits."""
    needed = np.frexp(folded.max(axis=-1).astype(np.float64))[1] - LONGEST_UNARY
    needed = needed.clip(0, MOST_RICE).astype(np.int32)
    above = None
    for base in range(MOST_RICE, -1, -1):
        if base > most_bits / folded.size:  # that many bits would not do for even the quietest
            continue
        rice = np.maximum(needed, base)
        taken = (folded >> rice[..., None]).sum(axis=-1) + (rice + 1) * folded.shape[-1]
        room = most_bits - taken.sum()
        if room >= 0 and above is not None:
            more = np.cumsum(above[1] - taken)
            fitting = np.flatnonzero(more <= room)
            upgraded = int(fitting[-1]) + 1 if len(fitting) else 0
            mixed = np.concatenate([above[0].flat[:upgraded], rice.flat[upgraded:]])
            return np.asarray(mixed.reshape(rice.shape))
        above = rice, taken
    return np.asarray(needed)


def _subframe_head(
    rows: npt.NDArray[np.int16], order: int, partitions: int
) -> tuple[npt.NDArray[np.uint64], int]:
    """Kind of prediction, the samples before it, and how many partitions there are."""
    head = np.full(rows.shape[:2], (0b001000 | order) << 1, np.uint64)
    for place in range(order):
        head = head << np.uint64(BITS) | rows[..., place].astype(np.uint16).astype(np.uint64)
    head = head << np.uint64(6) | np.uint64(partitions.bit_length() - 1)
    return head, 8 + order * BITS + 6


def _packed(values: npt.NDArray[np.uint64], lengths: Whole) -> list[bytes]:
    """Rows of codes as bits one after the other; each row begins with a whole byte.

    Of two neighbours neither has more than 34 bits, and both together have 60 at most.
    """
    values = values[:, ::2] << lengths[:, 1::2].astype(np.uint64) | values[:, 1::2]
    lengths = lengths[:, ::2] + lengths[:, 1::2]
    ends = np.cumsum(lengths, axis=1)
    sizes = (ends[:, -1] + 7) // 8
    begins = np.cumsum(sizes) - sizes
    at = (ends - lengths + 8 * begins[:, None]).ravel()
    values, lengths = values.ravel(), lengths.ravel()
    word = at >> 6
    left = 64 - (at & 63) - lengths
    (over,) = np.nonzero(left < 0)  # the end of these belongs to the next word
    rests = values[over] << (64 + left[over]).astype(np.uint64)
    values[over] >>= (-left[over]).astype(np.uint64)
    starts = np.flatnonzero(np.diff(word, prepend=-1))
    words = np.zeros(int(word[-1]) + 2, np.uint64)
    shifts = left.clip(0, 63).astype(np.uint64)
    words[word[starts]] = np.add.reduceat(values << shifts, starts)
    words[word[over] + 1] |= rests
    data = words.byteswap().tobytes()
    return [data[a : a + n] for a, n in zip(begins.tolist(), sizes.tolist(), strict=True)]


def _frame(body: bytes, rate_hz: int, channels: int, size: int, number: int) -> bytes:
    block, block_bytes = (12, b"") if size == BLOCK else (7, (size - 1).to_bytes(2, "big"))
    rate, rate_bytes = _rate_code(rate_hz)
    begin = bytes([0xFF, 0xF8, block << 4 | rate, (channels - 1) << 4 | 0b1000])
    header = begin + chr(number).encode() + block_bytes + rate_bytes
    whole = header + bytes([crc8.smbus(header)]) + body
    return whole + crc16.umts(whole).to_bytes(2, "big")


@cache
def _rate_code(rate_hz: int) -> tuple[int, bytes]:
    if code := RATES.get(rate_hz):
        return code, b""
    if rate_hz % 1000 == 0 and rate_hz < 256_000:
        return 12, bytes([rate_hz // 1000])
    if rate_hz < 1 << 16:
        return 13, rate_hz.to_bytes(2, "big")
    if rate_hz % 10 == 0 and rate_hz < 10 << 16:
        return 14, (rate_hz // 10).to_bytes(2, "big")
    return 0, b""  # as the head says
