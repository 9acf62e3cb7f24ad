"""Sound files of every kind, opened in one place for import, serving, metrics and checks."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import soundfile

from listening.common.sound_files.layout import fallback_of, is_known, mp3_parts_of, parts_of
from listening.common.sound_files.sound import (
    NO_SOUND,
    AudioError,
    JoinedSound,
    LengthReport,
    LibsndfileSound,
    Part,
    Samples,
    Sound,
)

BLOCK_FRAMES = 65_536
MOST_PARTS = 64  # in one file: each is opened
EXTENSIONS = (  # the first of these is used where one name has several
    *("wav", "rf64", "w64", "flac", "aif", "aiff", "aifc", "caf", "au", "snd", "sph"),
    *("ogg", "oga", "opus", "spx", "m4a", "m4b", "mp4", "webm", "mka", "mp3", "aac"),
)
SYSTEM_FILES = (".ds_store", "thumbs.db", "desktop.ini")  # of macOS and Windows, in small letters
SYSTEM_FOLDER = "__MACOSX"


def open_sound(path: Path | str) -> Sound:
    """Open a sound file of any format that is read; AudioError says why it cannot be.

    Its blocks reach to the end of the sound, whatever the header says; `length_report` compares
    both lengths afterwards.
    """
    with _opened(path) as file:
        parts = parts_of(file)
        head = _head(file)
    if len(parts) > MOST_PARTS:
        raise AudioError(
            f"The file holds more than {MOST_PARTS} sounds, or is damaged at so many places.",
            "Save it again from its source, as FLAC or WAV.",
        )
    opened: list[Sound] = []
    try:
        for part in parts:
            opened += _open_part(path, part, head)
        if len(opened) == 1:
            return opened[0]
        return JoinedSound(opened, sum(sound.continues for sound in opened))
    except BaseException:
        for sound in opened:
            sound.close()
        raise


def duration_s(path: Path | str) -> float:
    """Seconds of sound in a file, by its header or by counting; after decoding where need be."""
    with open_sound(path) as sound:
        frames = sound.frames
        if frames is None:
            frames = sum(len(block) for block in sound.blocks(BLOCK_FRAMES, "float32"))
        return frames / sound.rate_hz


def is_system_file(path: str) -> bool:
    """Whether macOS or Windows put this file beside others; its path has forward slashes.

    ``._clip.wav`` beside ``clip.wav`` holds what macOS knows of it, and no sound.
    """
    *folders, name = path.rstrip("/").split("/")
    return (
        name.startswith("._")
        or name.casefold() in SYSTEM_FILES
        or SYSTEM_FOLDER in (*folders, name)
    )


def _open_part(path: Path | str, part: Part, head: bytes) -> list[Sound]:
    if part.demuxer:
        return [_by_ffmpeg(path, part)]
    file = _opened(path)
    try:
        sound = LibsndfileSound(file, part)
    except (soundfile.LibsndfileError, TypeError, ValueError, OSError) as error:
        file.close()
        if isinstance(error, AudioError):
            raise
        return _otherwise(path, part, head, str(error))
    except BaseException:
        file.close()
        raise
    if sound.format != "MP3":
        return [sound]
    frames = _mp3_parts(path)  # libsndfile trusts the first header, or the first bit rate
    if not frames:
        return [sound]
    sound.close()
    return [_by_ffmpeg(path, each) for each in frames]


def _mp3_parts(path: Path | str) -> list[Part]:
    with _opened(path) as file:  # of its own: libsndfile reads on where the other one stands
        return mp3_parts_of(file)


def _otherwise(path: Path | str, part: Part, head: bytes, why: str) -> list[Sound]:
    """By FFmpeg what libsndfile refuses: MP3 after rubbish, FLAC in Ogg, AAC in CAF."""
    if demuxer := fallback_of(head):
        return [_by_ffmpeg(path, replace(part, demuxer=demuxer, patches=()))]
    if frames := _mp3_parts(path):
        return [_by_ffmpeg(path, each) for each in frames]
    if is_known(head):
        words = why.rpartition(": ")[2].strip(" .")
        raise AudioError(
            f"The file holds no sound that can be read ({words}).",
            "Copy it again from its source, or save it as FLAC or WAV.",
        )
    raise AudioError(*NO_SOUND)


def _by_ffmpeg(path: Path | str, part: Part) -> Sound:
    from listening.common.sound_files.ffmpeg import FFmpegSound  # most studies never need it

    return FFmpegSound(_opened(path), part)


def _opened(path: Path | str) -> BinaryIO:
    try:
        return open(path, "rb")
    except OSError as error:
        raise AudioError(
            f"The file cannot be read ({error.strerror}).", "Check it and its permissions."
        ) from None


def _head(file: BinaryIO) -> bytes:
    with suppress(OSError):
        file.seek(0)
        return file.read(12)
    return b""
