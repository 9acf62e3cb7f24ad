"""The audio of a corpus read once: lengths, files that cannot be read, duplicate recordings."""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import soxr

from analysis.corpus.clips import Corpus, CorpusClip, Finding
from analysis.corpus.duplicate_groups import connected_groups
from analysis.corpus.fingerprint import (
    RATE_HZ,
    Fingerprint,
    fingerprint,
    same_recordings,
)
from listening.common.sound_files import AudioError, open_sound

BLOCK_FRAMES = 1 << 18
LONGEST_S = 3600.0  # the rest of a longer file is not read
READERS = 4
AS_MEANT = (
    "This is as it should be for anchors, codecs and enhancement; else one system returns the "
    "recording of another one."
)
SHIFTED_S = 0.05  # a delay that is told
NO_FILE = ("There is no such file.", "Correct the path, or copy the file there.")
Progress = Callable[[int, int], object]
Fetch = Callable[[list[str]], object]
AT_ONCE = 200  # files that are fetched, then read


@dataclass(frozen=True)
class ReadAudio:
    """A decoded file: seconds, a hash of its samples, its fingerprint; or why it is not read."""

    duration_s: float | None = None
    samples_sha256: str = ""
    print: Fingerprint | None = None
    reason: str = ""
    remedy: str = ""


def read_audio(path: str) -> ReadAudio:
    """Decode a file for its length, the hash of its samples and its fingerprint.

    The hash is of the samples at the file's rate and in 16 bits, one channel as often as it is
    there: WAV and FLAC of the same samples have the same one.
    """
    if not os.path.isfile(path):
        return ReadAudio(reason=NO_FILE[0], remedy=NO_FILE[1])
    digest, parts, frames = hashlib.sha256(), [], 0
    try:
        sound = open_sound(path)
        try:
            rate = sound.rate_hz
            digest.update(str(rate).encode())
            resampler = soxr.ResampleStream(rate, RATE_HZ, 1, "float32", "MQ")
            for block in sound.blocks(BLOCK_FRAMES, "float32"):
                same = block.shape[1] == 2 and np.array_equal(block[:, 0], block[:, 1])
                heard = block[:, :1] if same else block
                finite = np.clip(np.nan_to_num(heard), -1, 1)
                digest.update(np.round(finite * 32767).astype("<i2").tobytes())
                mono = np.ascontiguousarray(finite.mean(axis=1), np.float32)
                parts.append(resampler.resample_chunk(mono))
                frames += len(block)
                if frames > LONGEST_S * rate:
                    break
            parts.append(resampler.resample_chunk(np.zeros(0, np.float32), last=True))
        finally:
            sound.close()
    except AudioError as error:
        return ReadAudio(reason=error.reason, remedy=error.remedy)
    except OSError as error:
        return ReadAudio(
            reason=f"The file cannot be read ({error.strerror or error}).",
            remedy="Copy it again from its source.",
        )
    if not frames:
        return ReadAudio(reason="The file holds no samples.", remedy="Make it again.")
    wave = np.concatenate(parts).astype(np.float32)
    return ReadAudio(frames / rate, digest.hexdigest(), fingerprint(wave))


def read_all(
    corpus: Corpus, progress: Progress | None = None, fetch: Fetch | None = None
) -> list[ReadAudio | None]:
    """Read every file once, several at a time; None for clips whose file is not named."""
    paths = list(dict.fromkeys(clip.path for clip in corpus.clips if clip.path))
    read: dict[str, ReadAudio] = {}
    with ThreadPoolExecutor(min(READERS, os.cpu_count() or 1), "corpus") as pool:
        for start in range(0, len(paths), AT_ONCE):
            some = paths[start : start + AT_ONCE]
            if fetch:
                fetch(some)
            for path, each in zip(some, pool.map(read_audio, some), strict=True):
                read[path] = each
                if progress:
                    progress(len(read), len(paths))
    return [read.get(clip.path) for clip in corpus.clips]


def check_audio(corpus: Corpus, read: Sequence[ReadAudio | None]) -> Iterator[Finding]:
    """Files that cannot be read, files with the same samples, and the same recording twice."""
    for clip, audio in zip(corpus.clips, read, strict=True):
        if audio and audio.reason:
            yield Finding("unread", clip, audio.reason, audio.remedy)
    owners: dict[str, list[CorpusClip]] = defaultdict(list)
    prints: dict[str, Fingerprint] = {}
    for clip, audio in zip(corpus.clips, read, strict=True):
        if audio and audio.print is not None:
            owners[audio.samples_sha256].append(clip)
            prints.setdefault(audio.samples_sha256, audio.print)
    for every in owners.values():
        clips = sorted(every, key=lambda clip: clip.is_auxiliary)
        if len(clips) > 1 and not clips[1].is_auxiliary:
            one_file = len({clip.path for clip in clips}) == 1
            named = "rows name the same file" if one_file else "clips have the same samples"
            yield Finding(
                "same_audio",
                clips[0],
                f"{len(clips):,} {named}.",
                "Check that none was copied by mistake, and keep one of them.",
                1.0,
                tuple(clips[1:]),
            )
    yield from _near_findings([owners[mark] for mark in prints], list(prints.values()))


def _near_findings(
    owners: Sequence[Sequence[CorpusClip]], prints: Sequence[Fingerprint]
) -> Iterator[Finding]:
    """A finding for each group of clips that are one recording, however it is stored."""
    clips = [next((c for c in every if not c.is_auxiliary), every[0]) for every in owners]
    matches = [
        match
        for match in same_recordings(prints)
        if not clips[match.first].is_auxiliary and not clips[match.second].is_auxiliary
    ]
    ends = [(match.first, match.second) for match in matches]
    for members, inside in connected_groups(ends, matches):
        of_one_item = len({clips[n].item for n in members}) == 1 and clips[members[0]].item != ""
        conditions = {clips[n].condition for n in members}
        versions = of_one_item and len(conditions) == len(members)
        worst = max(match.bit_error_rate for match in inside)
        others = tuple(clips[n] for n in members[1:])
        moved = max(inside, key=lambda match: abs(match.offset_s)).offset_s
        apart = f", and are up to {abs(moved):.2f} s apart" if abs(moved) >= SHIFTED_S else ""
        yield Finding(
            "version" if versions else "near_audio",
            clips[members[0]],
            f"{len(members):,} clips hold one recording in several forms: fingerprints of matched "
            f"pairs differ in at most {worst:.0%} of their bits{apart}.",
            AS_MEANT if versions else "Keep one of them, or give versions of one clip one item.",
            worst,
            others,
        )
