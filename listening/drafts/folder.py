"""The folder of a draft, and its only writer: one change after another, whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import tomli_w
from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.db import transaction

from listening.common.input_limits import DRAFT_ROWS
from listening.common.plain_toml import TomlError, read_toml
from listening.common.spreadsheets import TableError, read_table
from listening.design.draft_context import choose, form_of, rated_rows
from listening.design.draft_toml import Table, all_kinds, begun, fit_to
from listening.design.presets import presets
from listening.design.studyfile import CSV, TOML
from listening.design.studyfile.writer import rows_text
from listening.drafts.journal import add_to_journal, changed_places
from listening.models import Draft, Project, Study
from listening.studies import StudyError, export_study

Rows = list[dict[str, str]]
CHANGED = "changed"  # in the place of a draft: tables on the way to their place


class ChangedMeanwhile(Exception):
    """Somebody else, or the same person in another tab, has changed the draft since."""


class Unreadable(Exception):
    """A table of the draft is not in the form that these pages can change, or would not be."""


def place_of(draft: Draft) -> Path:
    """All that belongs to the draft: its study folder, what is known of its sounds, uploads."""
    return Path(settings.EARNEST_VAR) / "drafts" / draft.code


def folder_of(draft: Draft) -> Path:
    return place_of(draft) / "study"


def begin(owner: AbstractUser, kind: str, project: Project | None = None) -> Draft:
    """A draft of one of the kinds; its sounds are still to come."""
    chosen = all_kinds()[kind]
    preset = presets(Path(settings.BASE_DIR) / "demo")[chosen.preset]
    draft = Draft(owner_id=owner.pk, project=project, wishes={})
    top = begun(preset.toml, chosen, f"{kind}-{draft.code[:5]}")
    draft.title = top["study"]["title"]
    (folder_of(draft) / "audio").mkdir(parents=True)
    _write(draft, {TOML: tomli_w.dumps(top, multiline_strings=True)})
    draft.save()
    return draft


def begin_empty(owner: AbstractUser, project: Project | None = None) -> Draft:
    """A draft into which a whole study folder is uploaded."""
    draft = Draft(owner_id=owner.pk, project=project, title="A study folder")
    (folder_of(draft) / "audio").mkdir(parents=True)
    draft.save()
    return draft


def begin_copy(owner: AbstractUser, study: Study, project: Project | None = None) -> Draft:
    """A draft with all that a study has, under a key of its own."""
    draft = Draft(owner_id=owner.pk, project=project, title=study.title)
    _export(study, draft)
    draft.save()

    def renamed(top: Table, _: Rows) -> None:
        top["study"]["key"] = f"{study.key[:70]}-{draft.code[:5]}"
        top["study"].pop("completion_codes", None)  # no two studies share them

    change(draft, renamed, draft.revision)
    return draft


def draft_of(owner: AbstractUser, study: Study) -> Draft:
    """The draft in which somebody changes a study that is not open; begun where there is none.

    What is made of it replaces the study, which stays the version that it is.
    """
    known = Draft.objects.filter(owner_id=owner.pk, study=study).first()
    if known is not None:
        return known
    if study.state != Study.State.DRAFT:
        raise StudyError(f"The study “{study.key}” was opened already. Copy it to change it.")
    draft = Draft(owner_id=owner.pk, title=study.title, study=study)
    _export(study, draft)
    draft.made_revision = draft.revision
    draft.save()
    return draft


def _export(study: Study, draft: Draft) -> None:
    """Write a study into the folder of a new draft; nothing stays where that fails."""
    try:
        export_study(study, folder_of(draft))
    except StudyError:
        shutil.rmtree(place_of(draft), ignore_errors=True)
        raise


def delete(draft: Draft) -> None:
    shutil.rmtree(place_of(draft), ignore_errors=True)
    draft.delete()


def table_of(draft: Draft) -> Table:
    """study.toml as it is; empty where there is none yet. Unreadable where it is no TOML."""
    path = whole_folder_of(draft) / TOML
    try:
        return read_toml(path.read_bytes()) if path.exists() else {}
    except TomlError as error:
        raise Unreadable(f"study.toml cannot be changed here: {error}") from None


def rows_of(draft: Draft) -> Rows:
    """stimuli.csv as it is; empty where there is none yet."""
    path = whole_folder_of(draft) / CSV
    if not path.exists():
        return []
    try:
        rows = [row for _, row in read_table(path, most_rows=DRAFT_ROWS).records()]
    except TableError as error:
        raise Unreadable(f"stimuli.csv cannot be changed here: {error}.") from None
    if rows and not {"stimulus", "condition", "item", "file"} <= rows[0].keys():
        raise Unreadable("stimuli.csv cannot be changed here: some rows lack cells or columns.")
    return rows


def change(
    draft: Draft,
    make: Callable[[Table, Rows], object],
    seen: int,
    *,
    anyway: bool = False,
    fields: Iterable[str] = (),
) -> None:
    """Changes both tables together. ChangedMeanwhile unless `seen` is the newest revision.

    `fields` are named in the journal beside the places that differ; `make` may fill them.
    """
    with transaction.atomic():
        row = Draft.objects.select_for_update().get(pk=draft.pk)
        if row.revision != seen and not anyway:
            draft.revision = row.revision
            raise ChangedMeanwhile
        top, rows = table_of(row), rows_of(row)
        before, rows_before = deepcopy(top), deepcopy(rows)
        make(top, rows)
        if row.wishes is not None:
            sizes = _sizes(before)
            new_sizes = {k: n for k, n in _sizes(top).items() if sizes.get(k, n) != n}
            row.wishes |= {key: size for key, size in new_sizes.items() if isinstance(size, int)}
            if form := form_of(top):
                choose(top, rows, form)
            fit_to(top, rows, row.wishes, rated_rows(top, rows))
        changed = {TOML: _readable(top)} if top != before else {}
        if rows != rows_before:
            changed[CSV] = rows_text(rows)
        _write(row, changed)
        places = [*changed_places(before, top), *(["rows"] if rows != rows_before else [])]
        noted(draft, row, top, [*places, *fields] if places else [])


def _readable(top: Table) -> str:
    """study.toml as text; Unreadable where it could not be read again, so nobody could mend it."""
    text = tomli_w.dumps(top, multiline_strings=True)
    try:
        read_toml(text.encode())
    except TomlError as error:
        raise Unreadable(f"This was not saved. {error.what} Shorten or remove it.") from None
    return text


def _sizes(top: Table) -> dict[str, Any]:
    return {str(task.get("key")): task.get("block_size") for task in top.get("tasks", [])}


def noted(draft: Draft, row: Draft, top: Mapping[str, Any], places: Iterable[str]) -> None:
    """Counts a change of the locked row, if it is one, and shows it in the caller's object too."""
    title = str(top.get("study", {}).get("title", ""))[:200]
    places = list(places)
    if places or (row.title, row.pattern) != (title, draft.pattern):
        row.title, row.pattern = title, draft.pattern
        row.revision += 1
        row.changes = add_to_journal(row.changes, places, row.revision, draft.by)
        row.save()
    draft.title, draft.revision, draft.changes = row.title, row.revision, row.changes


def _write(draft: Draft, contents: Mapping[str, str]) -> None:
    """Replace tables of the draft: all of them, or none where the disk is full.

    They come to their place from a folder that is there as a whole: a process that is killed
    between two of them leaves the rest to `whole_folder_of`.
    """
    if not contents:
        return
    new = place_of(draft) / f"{CHANGED}.new"
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir()
    try:
        for name, content in contents.items():
            with (new / name).open("w", encoding="utf-8", newline="") as file:
                file.write(content)
    except OSError:
        shutil.rmtree(new)
        raise
    new.rename(place_of(draft) / CHANGED)
    _apply_change(draft)


def _apply_change(draft: Draft) -> None:
    changed = place_of(draft) / CHANGED
    for path in changed.iterdir():
        os.replace(path, folder_of(draft) / path.name)
    changed.rmdir()


def whole_folder_of(draft: Draft) -> Path:
    """The study folder, after a change that was cut off between its two tables is finished."""
    if (place_of(draft) / CHANGED).exists():
        with transaction.atomic():
            row = Draft.objects.select_for_update().filter(pk=draft.pk).first()
            if row is not None and (place_of(row) / CHANGED).exists():
                _apply_change(row)
    return folder_of(draft)
