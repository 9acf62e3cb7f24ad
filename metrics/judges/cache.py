"""Answers kept as files, so that nothing is asked and paid for twice; failures are never kept."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any


class Cache:
    """One file per answer: FOLDER/ab/abcd….json, named by `Question.key`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, key: str) -> Path:
        """Where the answer lies, or would lie."""
        return self.folder / key[:2] / f"{key}.json"

    def get(self, key: str) -> dict[str, Any] | None:
        """What was kept; None when there is nothing, or a broken file that is to be rewritten."""
        try:
            entry = json.loads(self.path(key).read_bytes())
        except (OSError, ValueError):
            return None
        whole = (
            isinstance(entry, dict)
            and entry.get("key") == key
            and isinstance(entry.get("content"), str)
            and isinstance(entry.get("usage"), dict)
        )
        return entry if whole else None

    def put(self, key: str, entry: Mapping[str, Any]) -> None:
        """Keep an answer; a reader sees the old file or the new one, never a half."""
        path = self.path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
        try:
            text = json.dumps({**entry, "key": key}, ensure_ascii=False, indent=1)
            draft.write_bytes(text.encode("utf-8", errors="surrogatepass"))  # models write anything
            os.replace(draft, path)
        finally:
            with contextlib.suppress(FileNotFoundError):
                draft.unlink()
