"""A study created, checked, opened, closed, named, copied, put away, deleted: its only writer."""

from listening.design.studyfile import StudyProblems
from listening.studies.copying import copy_study, free_key
from listening.studies.correcting import CorrectableText, correct_wording, correctable_texts
from listening.studies.creating import create_study, look_at
from listening.studies.deleting import Contents, contents_of, delete_study, why_not
from listening.studies.deriving import what_was_derived
from listening.studies.exporting import export_study, study_as_file
from listening.studies.findings import Finding, ProblemsFound, StudyError
from listening.studies.naming import archive_study, rename_study, tag_study, tags_in
from listening.studies.pilots import (
    Pilot,
    count_pilots,
    delete_pilots,
    entry_seconds,
    pilots_of,
    promised_s,
)
from listening.studies.prelaunch import check_study, kept_findings
from listening.studies.states import change_state, close_study, open_study, pause_study
