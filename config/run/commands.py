"""Runs commands, with the embedded servers started for as long as the command runs."""

import os
import sys

# These answer without a database, so nothing is started for them.
SERVERLESS = {"", "--help", "--version", "check", "collectstatic", "compilemessages"}
SERVERLESS |= {"analyse", "diffsettings", "findstatic", "help", "makemessages", "plan", "version"}
SERVERLESS |= {"describe_metric", "list_metrics", "list_presets", "scan_audio", "score_files"}
SERVERLESS |= {"check_corpus", "compare_sets", "fetch_audio", "fetch_models", "schema"}
SERVERLESS |= {"score_dataset"}
OF_FILES = {"judge_batch", "judge_stability", "judge_study"}  # as well, unless a study is named
OF_DATASETS = {"baseline", "evaluate", "predict", "train"}  # parts of auto_att, one per GPU even
# These write files for whoever asked, who says with a umask of their own who else may read them.
FOR_PEOPLE = {"analyse", "auto_att", "export_scores", "export_study", "export_study_folder"}
FOR_PEOPLE |= {"judge_stability", "judge_study", "new_study", "plan", "simulate_raters"}
FOR_PEOPLE |= {"export_dataset", "export_label_studio", "export_training"}
FOR_PEOPLE |= {"fetch_audio", "fetch_models", "import_p808", "import_webmushra"}
FOR_PEOPLE |= {"check_corpus", "judge_batch", "scan_audio", "score_dataset", "score_files"}
# What `earnest` leaves to the client of the API (a test compares with its own list).
OF_THE_CLIENT = {
    "mcp",
    "progress",
    "ratings",
    "results",
    "score",
    "scores",
    "sessions",
    "studies",
    "study",
}


def main() -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    try:
        from django.core.exceptions import ImproperlyConfigured
    except ModuleNotFoundError:
        from listening.common.command_name import PROGRAM, START

        sys.exit(
            f"Django is not installed for {sys.executable}. Type .venv/bin/{PROGRAM} … in the "
            f"folder of Earnest; “{START}” creates .venv."
        )

    from config.environment import full_disk
    from config.run.command_help import execute
    from config.run.embedded_servers import EmbeddedError
    from config.run.interrupted_restore import check_restored
    from config.run.running_instance import follow
    from config.run.server_checks import UnreachableError, wait_for_database
    from config.run.shared_server import join

    try:
        follow(os.environ)
        from django.conf import settings

        var = settings.EARNEST_VAR
        command = sys.argv[1] if len(sys.argv) > 1 else ""
        if needs_servers(sys.argv[1:]):
            if command != "restore":
                check_restored(var)
            wait_for_database()
            join(var, settings.EMBEDDED)
        if command in FOR_PEOPLE:
            os.umask(settings.PERSONS_UMASK)
    except (ImproperlyConfigured, EmbeddedError, UnreachableError) as error:
        sys.exit(f"Earnest cannot start. {error}")
    except OSError as error:
        if not (words := full_disk(error, "A file of Earnest")):
            raise
        sys.exit(f"Earnest cannot start. {words}")
    execute()
    return 0


def needs_servers(words: list[str]) -> bool:
    """Whether a command, as it was typed, reads or writes the database."""
    command, part = [*words, "", ""][:2]
    if "--help" in words or (command == "auto_att" and part in OF_DATASETS):
        return False
    if command in OF_FILES:
        return any(word.startswith("--st") for word in words)  # options may be cut short
    return command not in SERVERLESS or "--store" in words


def earnest() -> int:
    """The command `earnest` of a wheel: alone it starts Earnest, with a word it is `manage.py`.

    The client's words (`earnest study create DIR`) ask a server by its API, as `python -m earnest`.
    """
    sys.argv[1:2] = [each.replace("-", "_") if each[0] != "-" else each for each in sys.argv[1:2]]
    if sys.argv[1:] in ([], ["run"]):
        from config.run.supervisor import main as supervise

        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
        return supervise()
    if sys.argv[1] == "help" and sys.argv[2:3] and sys.argv[2] in OF_THE_CLIENT:
        sys.argv[1:] = [*sys.argv[2:], "--help"]
    if sys.argv[1] in OF_THE_CLIENT:
        from earnest.cli import main as ask

        return ask()
    return main()
