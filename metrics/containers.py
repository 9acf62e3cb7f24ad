"""M4A, MP4, WebM and raw AAC, decoded by FFmpeg (PyAV) as blocks of samples."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Frames = NDArray[np.float32]  # (frames, channels)

# The first bytes choose one of these: FFmpeg's own guess could open playlists and further files.
MP4_BOXES = (b"ftyp", b"moov", b"mdat", b"free", b"wide", b"skip")
OPTIONS = {"protocol_whitelist": "none"}


class ContainerError(ValueError):
    """A container that cannot be decoded; the message says why, without the file's name."""


def demuxer_of(path: Path | str) -> str:
    """FFmpeg's name of the container, by the file's first bytes; empty when it is none of these."""
    with open(path, "rb") as file:
        head = file.read(12)
        if head[:3] == b"ID3" and len(head) == 12:  # a tag before raw AAC; 7 bits a byte
            size = 0
            for byte in head[6:10]:
                size = size << 7 | byte & 0x7F
            file.seek(10 + size)
            head = file.read(12)
    if head[4:8] in MP4_BOXES:
        return "mp4"
    if head[:4] == b"\x1a\x45\xdf\xa3":
        return "matroska"
    return "aac" if len(head) > 7 and head[0] == 0xFF and head[1] & 0xF6 == 0xF0 else ""


class Container:
    """An open container: its rate, its length where it is known, and its samples in blocks."""

    def __init__(self, path: Path | str, demuxer: str) -> None:
        import av
        from av.error import FFmpegError

        self._broken = FFmpegError
        self.demuxer = demuxer
        try:
            self._file = open(path, "rb")  # noqa: SIM115  (closed by close)
            self._container: Any = av.open(
                self._file, "r", demuxer, options=OPTIONS, metadata_errors="ignore"
            )
        except FFmpegError as error:
            self._file.close()
            raise ContainerError(_words(error)) from None
        try:
            tracks = self._container.streams.audio
            if len(tracks) != 1:
                raise ContainerError(f"{len(tracks) or 'no'} sound tracks, expected one")
            self._stream = tracks[0]
            self._decoded = self._container.decode(self._stream)
            self._first = next(self._decoded, None)
        except (FFmpegError, ContainerError) as error:
            self.close()
            raise ContainerError(_words(error)) from None
        self.samplerate = int(self._first.sample_rate if self._first else self._stream.rate)
        units = self._stream.duration if demuxer == "mp4" else None
        step = float(self._stream.time_base or 0) * self.samplerate
        self._step, self._promised = step, round(units * step) if units else None
        self.stated_s = self._stated_s()
        self.codec = str(self._stream.codec_context.name)

    def _stated_s(self) -> float | None:
        """The duration that the file states of its sound; None: of nothing, or of a film."""
        if self._promised is not None:
            return self._promised / self.samplerate
        whole = self._container.duration  # in microseconds; Matroska's is in its head
        if self.demuxer != "matroska" or not whole or len(self._container.streams) != 1:
            return None
        return float(whole / 1_000_000)

    @property
    def frames(self) -> int:
        """Samples per channel: as promised, else counted by decoding the file to its end."""
        if self._promised is None:
            self._promised = sum(len(block) for block in self.blocks(1))
        return self._promised

    def blocks(self, frames: int) -> Iterator[Frames]:
        """The sound in blocks of at least ``frames`` samples, (samples, channels) float32.

        An MP4's edit list says where its sound begins and ends; the rest is padding.
        """
        held: list[Frames] = []
        heard = waiting = 0
        try:
            for part in self._parts():
                keep = part if self._promised is None else part[: self._promised - heard]
                heard, waiting = heard + len(keep), waiting + len(keep)
                held.append(keep)
                if waiting >= frames:
                    yield np.concatenate(held)
                    held, waiting = [], 0
        except self._broken as error:
            raise ContainerError(_words(error)) from None
        if waiting:
            yield np.concatenate(held)

    def _parts(self) -> Iterator[Frames]:
        frame = self._first
        begins = round(float(frame.pts or 0) * self._step) if frame is not None else 0
        while frame is not None:
            samples: Any = frame.to_ndarray()
            channels = frame.layout.nb_channels
            part = samples.T if frame.format.is_planar else samples.reshape(-1, channels)
            if part.dtype.kind != "f":
                unsigned = part.dtype.kind == "u"
                full = 2.0 ** (8 * part.dtype.itemsize - 1)
                part = part.astype(np.float64) / full - (1.0 if unsigned else 0.0)
            yield part[max(0, -begins) :].astype(np.float32)
            begins = 0
            frame = next(self._decoded, None)

    def close(self) -> None:
        """Close the file."""
        self._container.close()
        self._file.close()


def _words(error: Exception) -> str:
    return str(getattr(error, "strerror", "") or error)
