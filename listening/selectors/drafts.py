"""A draft for pages of other apps: its folder, and a mark of its clips and texts."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, TypedDict

from listening.access.rights import LOOK, draft_for
from listening.design.studyfile import CSV
from listening.drafts.folder import folder_of
from listening.models import Draft


class DraftHead(TypedDict):
    """What pages of other apps show of a draft."""

    code: str
    called: str
    may: frozenset[str]  # look, analyse, edit, own


def draft_head_or_404(code: str, user: Any, wants: str = LOOK) -> DraftHead:
    """The draft, where this user may do with it what they want: see `listening.access.rights`."""
    draft = draft_for(user, code, wants)
    return DraftHead(code=draft.code, called=draft.title, may=draft.may)


def draft_folder(code: str) -> Path:
    """The study folder of a draft. Raises Draft.DoesNotExist."""
    return folder_of(Draft.objects.get(code=code))


def draft_mark(code: str) -> str:
    """A mark that changes with the draft's clips, texts and tags; empty where it has no clips."""
    draft = Draft.objects.get(code=code)
    try:
        table = (folder_of(draft) / CSV).read_bytes()
    except OSError:
        return ""
    return hashlib.sha256(f"{draft.revision} ".encode() + table).hexdigest()
