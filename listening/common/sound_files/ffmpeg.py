"""MP3, M4A, MP4, WebM, raw AAC and FLAC of unknown length, decoded by FFmpeg to the end.

Priming and padding samples are left out as the file says.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from typing import BinaryIO, cast

import av
import numpy as np
from av.audio.frame import AudioFrame
from av.audio.stream import AudioStream
from av.container import InputContainer
from av.error import FFmpegError

from listening.common.sound_files.sound import (
    AudioError,
    LengthReport,
    Part,
    Samples,
    Sound,
    View,
    as_type,
    check_same_shape,
    damaged,
    states_more,
    streamed,
)

# FFmpeg guesses formats from content, and some of them (playlists) open further files: so the first
# bytes choose a demuxer, and nothing but the sound codecs below is ever opened.
FORMATS = {"mp4": "MP4", "matroska": "WEBM", "aac": "AAC", "mp3": "MP3", "flac": "FLAC"}
FORMATS |= {"ogg": "OGG", "caf": "CAF", "w64": "W64"}
CODECS = {
    **{name: name.upper() for name in ("aac", "alac", "opus", "vorbis", "flac", "mp3", "speex")},
    **{"mp3float": "MP3", "amrnb": "AMR", "amrwb": "AMR", "mp2": "MP2", "mp2float": "MP2"},
    **{f"pcm_{name}": "PCM" for name in ("u8", "s16le", "s16be", "s24le", "s24be", "s32le")},
    **{"pcm_s32be": "PCM", "pcm_alaw": "ALAW", "pcm_mulaw": "ULAW"},
    **{f"pcm_{name}": "FLOAT" for name in ("f32le", "f32be", "f64le")},
}
LAYERS = {"MP3": "MPEG_LAYER_III", "MP2": "MPEG_LAYER_II"}  # of files that are MP3 themselves
OPTIONS = {"codec_whitelist": ",".join(CODECS), "protocol_whitelist": "none"}
PROTECTED = ("The sound is encrypted (copy protection).", "Save it without protection.")
TOLERANCE_S = 0.1  # what lossy formats may state too much
BLOCK_TOLERANCE_S = 0.25  # of headers that count blocks, with what fills them up
GUESSED = 0.02  # of a length: what bit rates that hardly vary come to


class FFmpegSound(Sound):
    """One part of a file, or all of it, whose only sound track is decoded."""

    def __init__(self, file: BinaryIO, part: Part) -> None:
        self._file, self._part = file, part
        self.continues = part.continues
        self._container: InputContainer | None = None
        self._broken_off = False
        self._tolerance_s = TOLERANCE_S
        try:
            self._open()
        except FFmpegError as error:
            self.close()
            raise _unreadable(_words(error)) from None
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        part = self._part
        source = cast(BinaryIO, View(self._file, part))  # goes to any place without an error
        self._container = container = av.open(
            source, "r", part.demuxer, options=OPTIONS, metadata_errors="ignore"
        )
        self._stream = stream = _only_track(container, part.demuxer)
        self._decoded = self._frames_of(container, stream)
        self._first = first = next(self._decoded, None)
        if first is None and self._broken_off:
            raise _unreadable("no complete frame")
        if first is None:
            raise AudioError(
                "The file holds no sound (0 samples).", "Export it again, or remove its row."
            )
        self.format = FORMATS[part.demuxer]
        # The header of some AAC files states half of the rate and one of two channels: trust sound.
        self.rate_hz, self.channels = first.sample_rate, first.layout.nb_channels
        self._step = Fraction(stream.time_base or 0) * self.rate_hz  # samples per unit of time
        self._stated = self._stated_frames()
        self.frames = self._stated if part.frames is None else part.frames
        number = first.format.name.rstrip("p")
        self.bits = {"u8": 16, "s16": 16, "s32": 24}.get(number)
        codec = CODECS[stream.codec_context.name]
        self.subtype = f"{codec}_{self.bits}" if self.bits else codec
        if self.format == "MP3":
            self.subtype = LAYERS[codec]
        elif self.format == "FLAC":
            self.subtype = f"PCM_{self.bits}"

    def _stated_frames(self) -> int | None:
        """The length that the file states; raw AAC, FLAC from a pipe and live recordings do not."""
        if self._part.frames_stated is not None:
            return self._part.frames_stated
        is_counted = self._part.demuxer in ("mp4", "w64") and not self._part.is_streamed
        if is_counted and (units := self._stream.duration or 0) > 0:
            return round(units * self._step)
        if self._part.demuxer == "matroska":
            with suppress(KeyError, ValueError, OverflowError):
                hours, minutes, seconds = self._stream.metadata["DURATION"].split(":")
                seconds_all = (int(hours) * 60 + int(minutes)) * 60 + float(seconds)
                return round(seconds_all * self.rate_hz)
            whole = self._container.duration if self._container else None
            if whole and self._container and len(self._container.streams) == 1:  # no film
                self._tolerance_s = BLOCK_TOLERANCE_S
                return round(whole * self.rate_hz / 1_000_000)
        return None

    def _blocks(self, frames: int, dtype: str) -> Iterator[Samples]:
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
                if self.format == "FLAC" and round((frame.pts or 0) * self._step) != heard:
                    raise damaged(heard / self.rate_hz, "a frame is missing")
                if self.format == "MP4":
                    begins = 0 if heard else round((frame.pts or 0) * self._step)
                    stop = len(part) if self._stated is None else self._stated - heard
                    part = part[max(0, -begins) :][:stop]
                heard += len(part)
                if len(part):
                    yield part
                frame = next(self._decoded, None)
        except FFmpegError as error:
            raise damaged(heard / self.rate_hz, _words(error)) from None

    def _samples(self, frame: AudioFrame) -> Samples:
        check_same_shape(frame.sample_rate, frame.layout.nb_channels, self)
        samples: Samples = frame.to_ndarray()
        return samples.T if frame.format.is_planar else samples.reshape(-1, self.channels)

    def _frames_of(self, container: InputContainer, stream: AudioStream) -> Iterator[AudioFrame]:
        """Decoded frames; a packet that cannot be decoded is no damage where it is the last one."""
        failed: FFmpegError | None = None
        for packet in container.demux(stream):
            if packet.has_sidedata("encryption_info"):
                raise AudioError(*PROTECTED)
            if failed is not None and packet.size:
                raise failed
            try:
                decoded = packet.decode()
            except FFmpegError as error:
                failed = error
                continue
            yield from decoded
        self._broken_off = failed is not None

    def length_report(self) -> LengthReport:
        part, decoded_s = self._part, self.decoded / self.rate_hz
        stated_s = None if self._stated is None else self._stated / self.rate_hz
        if part.bytes_stated > part.bytes_there > 0:
            stated_s = decoded_s * part.bytes_stated / part.bytes_there
        missing = part.missing
        if stated_s is not None and stated_s - decoded_s > self._tolerance_s:
            missing = states_more(stated_s, decoded_s)
        elif self._broken_off and not missing:
            missing = f"The sound breaks off after {decoded_s:.2f} s, within a packet."
        return LengthReport(decoded_s, stated_s, missing, note=self._note(decoded_s, stated_s))

    def _note(self, decoded_s: float, stated_s: float | None) -> str:
        if self._part.is_streamed:
            return streamed(decoded_s)
        if stated_s is not None and decoded_s - stated_s > self._tolerance_s:
            return f"The header states {stated_s:.2f} s; all {decoded_s:.2f} s are used."
        guessed = self._part.frames_guessed
        if guessed is None:
            return ""
        guessed_s = guessed / self.rate_hz
        if abs(guessed_s - decoded_s) <= max(TOLERANCE_S, GUESSED * decoded_s):
            return ""
        return (
            "The bit rate varies and no header states the length: programs that trust the first "
            f"frame take it for {guessed_s:.2f} s. All {decoded_s:.2f} s are used."
        )

    def close(self) -> None:
        if self._container is not None:
            self._container.close()
        self._file.close()


def _only_track(container: InputContainer, demuxer: str) -> AudioStream:
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
    is_locked = False
    with suppress(UnicodeDecodeError):  # a damaged tag is no text
        is_locked = demuxer == "mp4" and codec is not None and codec.codec_tag == "drms"
    if "enc_key_id" in tracks[0].metadata or is_locked:
        raise AudioError(*PROTECTED)
    if codec is None or codec.name not in CODECS:
        name = codec.name if codec else "of an unknown or protected kind"
        raise AudioError(f"The sound is {name}, which is not read.", "Save it as FLAC or WAV.")
    return tracks[0]


def _unreadable(why: str) -> AudioError:
    return AudioError(
        f"The file is damaged, or its end is missing ({why}).",
        "Copy it again from its source, or save it as FLAC or WAV.",
    )


def _words(error: FFmpegError) -> str:
    return str(error.strerror or error)
