"""M4A, MP4, WebM and raw AAC, decoded by FFmpeg with the priming and padding samples left out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from av.audio.frame import AudioFrame
from av.audio.stream import AudioStream
from av.container import InputContainer
from av.error import FFmpegError

from listening.audio.sources import NO_SOUND, AudioError, Samples, Source, as_type, damaged

# FFmpeg guesses formats from content, and some of them (playlists) open further files: so the first
# bytes choose one of these three, and nothing but the sound codecs below is ever opened.
MP4, WEBM, AAC = "MP4", "WEBM", "AAC"
DEMUXERS = {MP4: "mp4", WEBM: "matroska", AAC: "aac"}
MP4_BOXES = (b"ftyp", b"moov", b"mdat", b"free", b"wide", b"skip")
CODECS = {
    **{name: name.upper() for name in ("aac", "alac", "opus", "vorbis", "flac", "mp3")},
    **{"mp3float": "MP3", "amrnb": "AMR", "amrwb": "AMR"},
    **{f"pcm_{name}": "PCM" for name in ("u8", "s16le", "s16be", "s24le", "s24be", "s32le")},
    **{f"pcm_{name}": "FLOAT" for name in ("f32le", "f32be", "f64le")},
}
OPTIONS = {"codec_whitelist": ",".join(CODECS), "protocol_whitelist": "none"}
PROTECTED = ("The sound is encrypted (copy protection).", "Save it without protection.")


class ContainerSource(Source):
    """A file whose format is told by its first bytes and whose only sound track is decoded."""

    def __init__(self, path: Path) -> None:
        try:
            self.format = kind_of(path)
            self._file = path.open("rb")
        except OSError as error:
            raise AudioError(
                f"The file cannot be read ({error.strerror}).", "Check it and its permissions."
            ) from None
        self._container: InputContainer | None = None
        try:
            self._open()
        except FFmpegError as error:
            self.close()
            raise AudioError(
                f"The file is damaged, or its end is missing ({_words(error)}).",
                "Copy it again from its source, or save it as FLAC or WAV.",
            ) from None
        except BaseException:
            self.close()
            raise

    def blocks(self, frames: int, dtype: str = "float64") -> Iterator[Samples]:
        held: list[Samples] = []
        size = 0
        for part in self._parts():
            held.append(part)
            size += len(part)
            if size >= frames:
                whole = np.concatenate(held)
                for start in range(0, size - frames + 1, frames):
                    yield as_type(whole[start : start + frames], dtype)
                held, size = [whole[size - size % frames :]], size % frames
        if size:
            yield as_type(np.concatenate(held), dtype)

    def close(self) -> None:
        if self._container is not None:
            self._container.close()
        self._file.close()

    def _open(self) -> None:
        self._container = container = av.open(
            self._file, "r", DEMUXERS[self.format], options=OPTIONS, metadata_errors="ignore"
        )
        self._stream = stream = _only_track(container)
        self._decoded = _frames(container, stream)
        self._first = first = next(self._decoded, None)
        if first is None:
            raise AudioError(
                "The file holds no sound (0 samples).", "Export it again, or remove its row."
            )
        # The header of some AAC files states half of the rate and one of two channels: trust sound.
        self.rate_hz, self.channels = first.sample_rate, first.layout.nb_channels
        self._step = Fraction(stream.time_base or 0) * self.rate_hz  # samples per unit of time
        self.frames = self._promised_frames()
        number = first.format.name.rstrip("p")
        self.bits = {"u8": 16, "s16": 16, "s32": 24}.get(number)
        codec = CODECS[stream.codec_context.name]
        self.subtype = f"{codec}_{self.bits}" if self.bits else codec

    def _promised_frames(self) -> int | None:
        """The length that the container promises; raw AAC and live recordings do not say."""
        if self.format == MP4 and (units := self._stream.duration or 0) > 0:
            return round(units * self._step)
        if self.format == WEBM:
            with suppress(KeyError, ValueError, OverflowError):
                hours, minutes, seconds = self._stream.metadata["DURATION"].split(":")
                seconds_all = (int(hours) * 60 + int(minutes)) * 60 + float(seconds)
                return round(seconds_all * self.rate_hz)
        return None

    def _parts(self) -> Iterator[Samples]:
        """The samples of frame after frame; MP4 says where sound begins and how long it lasts.

        FFmpeg leaves out the priming samples that the edit list or the codec delay names, and the
        padding at the end of WebM, but not the padding after an edit list's end.
        """
        heard = 0
        frame = self._first
        try:
            while frame is not None:
                part = self._samples(frame)
                if self.format == MP4:
                    begins = 0 if heard else round((frame.pts or 0) * self._step)
                    stop = len(part) if self.frames is None else self.frames - heard
                    part = part[max(0, -begins) :][:stop]
                heard += len(part)
                if len(part):
                    yield part
                frame = next(self._decoded, None)
        except FFmpegError as error:
            raise damaged(heard / self.rate_hz, _words(error)) from None

    def _samples(self, frame: AudioFrame) -> Samples:
        shape = frame.sample_rate, frame.layout.nb_channels
        if shape != (self.rate_hz, self.channels):
            raise AudioError(
                "The sampling rate or the number of channels changes within the sound.",
                "Save it again as FLAC or WAV.",
            )
        samples: Samples = frame.to_ndarray()
        return samples.T if frame.format.is_planar else samples.reshape(-1, self.channels)


def kind_of(path: Path) -> str:
    """Which of the containers this is, by its first bytes; AudioError for any other file."""
    with path.open("rb") as file:
        head = file.read(12)
        if head[:3] == b"ID3" and len(head) == 12:  # a tag before raw AAC; its size: 7 bits a byte
            size = 0
            for byte in head[6:10]:
                size = size << 7 | byte & 0x7F
            file.seek(10 + size)
            head = file.read(12)
    if head[4:8] in MP4_BOXES:
        return MP4
    if head[:4] == b"\x1a\x45\xdf\xa3":
        return WEBM
    if len(head) > 7 and head[0] == 0xFF and head[1] & 0xF6 == 0xF0:
        return AAC
    raise AudioError(*NO_SOUND)


def _only_track(container: InputContainer) -> AudioStream:
    tracks = container.streams.audio
    if not tracks:
        what = "only pictures" if container.streams.video else "no sound track"
        raise AudioError(f"The file holds {what}.", "Save its sound as FLAC or WAV.")
    if len(tracks) > 1:
        raise AudioError(
            f"The file holds {len(tracks)} sound tracks.",
            "Save the one that counts as FLAC or WAV.",
        )
    codec = tracks[0].codec_context
    if "enc_key_id" in tracks[0].metadata or (codec and codec.codec_tag == "drms"):
        raise AudioError(*PROTECTED)
    if codec is None or codec.name not in CODECS:
        name = codec.name if codec else "of an unknown or protected kind"
        raise AudioError(f"The sound is {name}, which is not read.", "Save it as FLAC or WAV.")
    return tracks[0]


def _frames(container: InputContainer, stream: AudioStream) -> Iterator[AudioFrame]:
    for packet in container.demux(stream):
        if packet.has_sidedata("encryption_info"):
            raise AudioError(*PROTECTED)
        yield from packet.decode()


def _words(error: FFmpegError) -> str:
    return str(error.strerror or error)
