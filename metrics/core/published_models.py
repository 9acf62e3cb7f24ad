"""Published models that metrics read: their files, where they are published, their licences."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

HUB = "https://huggingface.co"
HUB_NAME = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*")
UNISPEECH_LICENCE = "that of Microsoft's UniSpeech repository"
FUNASR_LICENCE = "FunASR model licence: name source and authors"


@dataclass(frozen=True)
class PublishedModel:
    """One model: a folder with ``files``, or, without them, the file ``name``.

    ``name`` is its place in the folder of models; of a hub's model OWNER/NAME, of a hub's file
    OWNER/NAME/FILE. ``files`` and ``optional_files`` are patterns; of "a|b" the first that is
    published is fetched, and either is enough. Without a ``source`` people put the model there.
    """

    name: str
    files: tuple[str, ...] = ()
    optional_files: tuple[str, ...] = ()
    source: str = ""  # HUB, or the URL of the file
    licence: str = ""  # as the publisher states it; empty: see its page
    commercial: bool = True  # whether the licence allows commercial use
    size: int = 0  # about, in bytes; 0: unknown
    sha256: Mapping[str, str] = field(default_factory=dict)  # hex, by the file's last name
    page: str = ""  # where people read of it; empty: the source
    cached: str = ""  # where another package keeps the same file

    def renamed(self, name: str) -> PublishedModel:
        """Return this model, or, by another name, one with the same files and unknown terms."""
        if name in ("", self.name):
            return self
        hub = HUB if self.source == HUB else ""
        return PublishedModel(name, self.files, self.optional_files, hub)

    @property
    def hub_name(self) -> str:
        """OWNER/NAME of a hub's model; empty for all others."""
        owner_and_name = self.name if self.files else "/".join(self.name.split("/")[:2])
        is_hub = self.source == HUB and HUB_NAME.fullmatch(owner_and_name)
        return owner_and_name if is_hub and (self.files or self.inside) else ""

    @property
    def inside(self) -> str:
        """The path of a hub's single file in its repository; empty for a folder."""
        return "" if self.files else "/".join(self.name.split("/")[2:])

    @property
    def origin(self) -> str:
        """Where people read of the model; empty when nobody said."""
        return self.page or (f"{HUB}/{self.hub_name}" if self.hub_name else self.source)

    @property
    def is_fetched(self) -> bool:
        """Whether it can be fetched without a mirror."""
        return bool(self.hub_name) or self.source not in ("", HUB)

    @property
    def terms(self) -> str:
        """The licence as one phrase."""
        licence = f"licence: {self.licence or f'see {self.origin}'}"
        return licence if self.commercial else f"{licence}, not for commercial use"

    def wanted(self, published: Iterable[str]) -> list[str]:
        """The files of a publisher's list that are fetched, in order."""
        names, chosen = [name for name in published if ".." not in name.split("/")], set[str]()
        for pattern in (*self.files, *self.optional_files):
            for each in pattern.split("|"):
                fits = [n for n in fnmatch.filter(names, each) if n.count("/") == each.count("/")]
                if fits:
                    chosen.update(fits)
                    break
        return sorted(chosen)

    def lacking(self, place: Path) -> list[str]:
        """The patterns of ``files`` that no file of a folder fits; of a file, itself."""
        if not self.files:
            return [] if place.is_file() else [place.name]
        return [
            pattern
            for pattern in self.files
            if not any(next(place.glob(each), None) for each in pattern.split("|"))
        ]


def problems(model: PublishedModel) -> list[str]:
    """What is wrong with a declaration, in words; empty when all is well."""
    wrong = []
    if not (model.licence or model.origin):
        wrong.append(f"{model.name}: name its licence, or the page that states it")
    if model.source not in ("", HUB) and not model.source.startswith(("https://", "http://")):
        wrong.append(f"{model.name}: source is {model.source!r}; use HUB or the file's URL")
    if bad := [
        name for name, sha256 in model.sha256.items() if not re.fullmatch("[0-9a-f]{64}", sha256)
    ]:
        wrong.append(f"{model.name}: {', '.join(bad)}: a SHA-256 has 64 digits of 0-9 and a-f")
    return wrong


def recorded_sums(place: Path) -> Path:
    """The file beside or in a fetched model that holds the SHA-256 of its files."""
    return place / "SHA256SUMS" if place.is_dir() else place.with_name(f"{place.name}.sha256")


def read_sums(text: str) -> dict[str, str]:
    """File name -> SHA-256 (hex) of lines as `sha256sum` writes them."""
    lines = (line.split(maxsplit=1) for line in text.splitlines())
    return {parts[1].lstrip("*"): parts[0].lower() for parts in lines if len(parts) == 2}
