"""A draft made into a study, by the same import as every folder, and moved with it."""

from __future__ import annotations

from django.contrib.auth.models import AbstractUser
from django.db import transaction

from listening.access.projects import move_study
from listening.access.rights import EDIT, rights_in
from listening.drafts.folder import delete, whole_folder_of
from listening.models import Draft, Project, Study
from listening.studies import Finding, StudyError, create_study, kept_findings, open_study


def is_made(draft: Draft) -> bool:
    """Whether its study is that of the newest revision, and not opened yet."""
    study = draft.study
    return study is not None and draft.made_revision == draft.revision


def make(draft: Draft, owner: AbstractUser) -> Study:
    """Imports the folder; what was made of it before is replaced, as nobody was let in yet.

    StudyProblems lists what is wrong, StudyError says why it cannot be.
    """
    old = draft.study
    if old is not None and old.state != Study.State.DRAFT:
        raise StudyError(f"The study “{old.key}” was opened already. Copy it to change it.")
    if old is not None and EDIT not in rights_in(old, owner):
        raise StudyError(f"The study “{old.key}” is in a project in which you are not an editor.")
    if old is not None and old.version_of_id and not _is_own(draft, old):
        raise StudyError(
            f"This is version {old.version} of a study, under the key “{old.key}”: write that key."
        )
    seen = draft.revision
    replace = _is_own(draft, old)
    study = create_study(
        whole_folder_of(draft), owner, replace=replace, by=owner.get_username(), sent=True
    )
    draft.study, draft.made_revision = study, seen
    draft.save(update_fields=["study", "made_revision"])
    keep_together(draft)
    return study


def _is_own(draft: Draft, old: Study | None) -> bool:
    """Only the draft's own study may be replaced: another one of that key is refused."""
    from listening.drafts.folder import table_of

    key = table_of(draft).get("study", {}).get("key")
    return old is not None and old.key == key


def findings_of(draft: Draft) -> list[Finding]:
    """Of the study that was made of it; every clip is listened to once for each revision."""
    if draft.study is None:
        return []
    name = f"findings/draft/{draft.pk}/{draft.made_revision}"
    return kept_findings(draft.study, name) or []


def open_study_of_draft(draft: Draft, *, anyway: bool, by: str) -> Study:
    """Lets raters in; the draft has served and goes, its folder can be exported from the study."""
    study = draft.study
    if study is None or not is_made(draft):
        raise StudyError("The draft has changed since it was checked. Check it again.")
    open_study(study, anyway=anyway, by=by)
    delete(draft)
    return study


def move_to_project(draft: Draft, project: Project | None) -> None:
    """Its owner stays; a study that it was made into and that nobody was let into goes along."""
    with transaction.atomic():
        Draft.objects.filter(pk=draft.pk).update(project=project)
        draft.project = project
        keep_together(draft)


def keep_together(draft: Draft) -> None:
    """The study of a draft is where the draft is, until it is opened."""
    if draft.study is not None and draft.study.state == Study.State.DRAFT:
        move_study(draft.study, draft.project, by=draft.by)
