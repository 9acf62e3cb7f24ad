"""A study created, checked before launch, opened, paused, closed: its only writer."""

from listening.design.studyfile import StudyProblems
from listening.studies.creating import create_study
from listening.studies.deriving import what_was_derived
from listening.studies.errors import StudyError
from listening.studies.exporting import export_study, study_as_file
from listening.studies.prelaunch import Finding, check_study
from listening.studies.states import close_study, open_study, pause_study

__all__ = [
    "Finding",
    "StudyError",
    "StudyProblems",
    "check_study",
    "close_study",
    "create_study",
    "export_study",
    "open_study",
    "pause_study",
    "study_as_file",
    "what_was_derived",
]
