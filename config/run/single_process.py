"""One process in the foreground, for containers: `python -m config.run.single_process web`."""

from __future__ import annotations

import os
import sys

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from config.operations.shared_parts import refuse_strangers
from config.run.interrupted_restore import check_restored
from config.run.server_checks import UnreachableError, try_database, try_media, try_redis
from config.run.supervisor import LONE_COMMANDS, MOST_CONNECTIONS, StartError, allow_open_files
from listening.common.command_name import START


def command_of(words: list[str]) -> list[str]:
    """What is run for the name that was given, where the servers are not Earnest's own."""
    if len(words) != 1 or words[0] not in LONE_COMMANDS:
        raise StartError(f"Name one of its processes: {', '.join(LONE_COMMANDS)}.")
    if settings.EMBEDDED:
        raise StartError(
            "A process alone has no embedded servers: set DATABASE_URL and REDIS_URL (or the same "
            f"with _FILE, and the name of a file). To start everything: {START}"
        )
    return LONE_COMMANDS[words[0]]()


def main() -> int:
    """Becomes the process, so that signals reach it; returns only where it cannot start."""
    try:
        command = command_of(sys.argv[1:])
        check_restored(settings.EARNEST_VAR)
        try_database(pages=sys.argv[1:] == ["web"])
        try_redis()
        if sys.argv[1:] == ["prepare"]:  # others start without a bucket: answers need none
            try_media()
        refuse_strangers(sys.argv[1])
        allow_open_files(2 * MOST_CONNECTIONS)
    except (ImproperlyConfigured, UnreachableError, StartError) as error:
        print(f"Earnest cannot start. {error}", file=sys.stderr, flush=True)
        return 1
    os.execv(command[0], command)


if __name__ == "__main__":
    sys.exit(main())
