"""What a command says when the database or the cache goes away under it: no traceback.

A sentence has the reason, what was done by then, and what to do.
"""

from __future__ import annotations

from config.missing_packages import chain_of

WHOLE = "It was done as a whole or not at all. Look with `{look}`, then run it again if it is due."
READS = (
    "Nothing in the database was changed. Files that it began may be incomplete: run it again with "
    "another name, or delete them first."
)
STEPS = "What it had stored by then is kept. Run it again: it goes on with what is left."
SESSIONS = (
    "Answers that were acknowledged are kept, and sessions that were under way stay unfinished. "
    "Run it again for the rest."
)
TAKEN = "Nothing was kept of the file that it wrote. Run it again."
MOVED = "The database here is as it was, and the other one was not changed. Run it again."
RESTORED = (
    "If the files of EARNEST_VAR were replaced by then, it said so above. Run it again with "
    "--replace before you start Earnest."
)
OTHER = "Look at what it was to change before you run it again."
READING = (
    *("export_study", "export_study_folder", "export_dataset", "export_scores", "analyse"),
    *("new_study", "import_p808", "import_webmushra", "export_label_studio", "auto_att"),
    *("list_studies", "study_status", "score_progress", "schema"),
)
IN_STEPS = ("score_study", "judge_study", "judge_stability", "suggest_codes", "judge_batch")
AT_ONCE = {
    "import_study": "list_studies",
    "copy_study": "list_studies",
    "delete_study": "list_studies",
    "archive_study": "list_studies",
    "ensure_demo": "list_studies",
    **dict.fromkeys(("open_study", "close_study", "pause_study"), "study_status KEY"),
    "import_scores": "score_progress KEY",
    "import_label_studio": "study_status KEY",
    "erase_personal_data": "study_status KEY",
    "make_account": "password_link NAME",
    "password_link": "password_link NAME",
    "forget_second_factor": "forget_second_factor NAME",
}
DONE = {
    **dict.fromkeys(READING, READS),
    **dict.fromkeys(IN_STEPS, STEPS),
    **{name: WHOLE.format(look=look) for name, look in AT_ONCE.items()},
    "simulate_raters": SESSIONS,
    "backup": TAKEN,
    "move_database": MOVED,
    "restore": RESTORED,
}


def problem(error: BaseException, command: str) -> str:
    """The sentence for a command that lost a server; empty for every other error."""
    from psycopg import InterfaceError, OperationalError

    from config.operations.unavailable import AWAY

    kinds = (*AWAY, InterfaceError, OperationalError)
    lost = next((each for each in chain_of(error) if isinstance(each, kinds)), None)
    if lost is None:
        return ""
    lines = str(lost).strip().splitlines() or [type(lost).__name__]
    reason = lines[0].removeprefix("FATAL:").strip().rstrip(".")
    which = "The queue" if type(lost).__module__.startswith(("redis", "kombu")) else "The database"
    return f"{which} failed meanwhile ({reason}). {DONE.get(command, OTHER)}"
