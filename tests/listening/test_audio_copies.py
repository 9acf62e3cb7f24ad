"""The original is kept byte for byte; the copy that raters hear holds the samples and no tag."""

from pathlib import Path

import numpy as np
import pytest
import soundfile
from django.core.files.storage import FileSystemStorage

from listening.audio import forget, keep_original, keep_served, local_path
from listening.audio.probe import sha256_of

RATE = 22_050
SECRET = "flite-slt telltale"


@pytest.fixture(autouse=True)
def media(settings, tmp_path: Path) -> None:
    settings.STORAGES = {
        **settings.STORAGES,
        "default": {
            "BACKEND": "django.core.files.storage.FileSystemStorage",
            "OPTIONS": {"location": str(tmp_path / "media")},
        },
    }


def noise(channels: int = 1, seconds: float = 0.5) -> np.ndarray:
    return np.random.default_rng(3).uniform(-0.9, 0.9, (round(RATE * seconds), channels))


def flac_blocks(data: bytes) -> dict[int, bytes]:
    """The metadata blocks of a FLAC file by their type."""
    assert data[:4] == b"fLaC"
    blocks, at, last = {}, 4, False
    while not last:
        last, kind = bool(data[at] & 0x80), data[at] & 0x7F
        size = int.from_bytes(data[at + 1 : at + 4], "big")
        blocks[kind] = data[at + 4 : at + 4 + size]
        at += 4 + size
    return blocks


def tagged(path: Path, **kwargs) -> Path:
    with soundfile.SoundFile(path, "w", RATE, 1, **kwargs) as file:
        file.title = file.comment = file.artist = file.software = SECRET
        file.write(noise()[:, 0])
    assert SECRET.encode() in path.read_bytes()
    return path


@pytest.mark.parametrize("name", ["clip.flac", "clip.wav", "clip.ogg", "clip.aiff"])
def test_served_copies_carry_no_tags(tmp_path: Path, name: str) -> None:
    stored, sha256 = keep_served(tagged(tmp_path / name))
    path = local_path(stored)
    data = path.read_bytes()
    assert b"telltale" not in data
    assert sha256_of(path) == sha256
    comments = flac_blocks(data)[4]  # VORBIS_COMMENT: vendor, then the number of tags
    vendor = int.from_bytes(comments[:4], "little")
    assert comments[4 + vendor :] == bytes(4), "not a single tag"
    assert set(flac_blocks(data)) <= {0, 1, 3, 4}  # streaminfo, padding, seek table


@pytest.mark.parametrize(
    ("subtype", "kept", "dtype"),
    [
        ("PCM_16", "PCM_16", "int16"),
        ("PCM_U8", "PCM_16", "int16"),
        ("ULAW", "PCM_16", "int16"),
        ("PCM_24", "PCM_24", "int32"),
    ],
)
@pytest.mark.parametrize("channels", [1, 2])
def test_whole_number_samples_are_copied_exactly(
    tmp_path: Path, subtype: str, kept: str, dtype: str, channels: int
) -> None:
    source = tmp_path / "clip.wav"
    soundfile.write(source, noise(channels), RATE, subtype=subtype)
    copy = local_path(keep_served(source)[0])
    info = soundfile.info(copy)
    assert (info.samplerate, info.channels, info.subtype) == (RATE, channels, kept)
    before, after = (soundfile.read(p, dtype=dtype)[0] for p in (source, copy))
    assert np.array_equal(before, after)


def test_floats_keep_24_bits_and_values_above_full_scale_are_held_there(tmp_path: Path) -> None:
    samples = np.concatenate([noise()[:, 0], [1.5, -1.5]])
    soundfile.write(tmp_path / "f.wav", samples, RATE, subtype="FLOAT")
    copy = local_path(keep_served(tmp_path / "f.wav")[0])
    after = soundfile.read(copy)[0]
    assert soundfile.info(copy).subtype == "PCM_24"
    assert np.abs(after - np.clip(samples, -1, 1)).max() < 2**-22


def test_originals_are_kept_byte_for_byte(tmp_path: Path) -> None:
    source = tagged(tmp_path / "Flite SLT – 你好.FLAC")
    name = keep_original(source)
    assert local_path(name).read_bytes() == source.read_bytes()
    assert name.endswith(".flac")


def test_stored_names_say_nothing_and_all_look_alike(tmp_path: Path) -> None:
    source = tmp_path / "human_s1.wav"
    soundfile.write(source, noise(), RATE)
    names = [keep_served(source)[0] for _ in range(5)]
    assert len(set(names)) == 5
    assert {len(name) for name in names} == {len(names[0])}
    assert not any("human" in name or "s1" in name for name in names)
    assert len({local_path(name).stat().st_mtime for name in names}) == 1


@pytest.mark.parametrize("name", ["../secret_key", "/etc/passwd", "served/aa/../../x.flac", ""])
def test_only_names_that_we_gave_are_opened(name: str) -> None:
    with pytest.raises(ValueError, match="no name"):
        local_path(name)


def test_forgetting_twice_is_no_error(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", noise(), RATE)
    name = keep_original(tmp_path / "a.wav")
    forget([name])
    assert not local_path(name).exists()
    forget([name])


def test_a_file_that_cannot_be_deleted_stops_nothing_and_is_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    soundfile.write(tmp_path / "a.wav", noise(), RATE)
    kept, gone = keep_original(tmp_path / "a.wav"), keep_original(tmp_path / "a.wav")
    delete = FileSystemStorage.delete

    def refuse(storage: FileSystemStorage, name: str) -> None:
        if name == kept:
            raise RuntimeError("AccessDenied")  # what S3 raises is no OSError
        delete(storage, name)

    monkeypatch.setattr(FileSystemStorage, "delete", refuse)
    forget([kept, gone])
    assert local_path(kept).exists()
    assert not local_path(gone).exists()
    assert f"{kept} could not be deleted and stays: AccessDenied" in caplog.text


class RemoteStorage(FileSystemStorage):
    """Stands for S3: there is no path on this machine; counts how often files are fetched."""

    opens = 0

    def path(self, name: str) -> str:
        raise NotImplementedError

    def open(self, name, mode="rb"):
        type(self).opens += 1
        return Path(self.location, name).open(mode)

    def save(self, name, content, max_length=None):
        target = Path(self.location, name)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.read())
        return name


def test_a_remote_file_is_fetched_once(settings, tmp_path: Path) -> None:
    settings.EARNEST_VAR = tmp_path / "var"
    options = {"location": str(tmp_path / "far")}
    backend = f"{__name__}.RemoteStorage"
    settings.STORAGES = {**settings.STORAGES, "default": {"BACKEND": backend, "OPTIONS": options}}
    soundfile.write(tmp_path / "a.wav", noise(), RATE)
    name = keep_original(tmp_path / "a.wav")
    paths = {local_path(name) for _ in range(3)}
    assert [p.read_bytes() for p in paths] == [(tmp_path / "a.wav").read_bytes()]
    assert RemoteStorage.opens == 1
    assert paths.pop().is_relative_to(tmp_path / "var")
