"""What every test may rely on: the embedded servers run for as long as the tests do."""

import pytest
from django.conf import settings

from config.embedded import EmbeddedError
from config.keeper import join


def pytest_sessionstart(session: pytest.Session) -> None:
    """In every process of a parallel run too; whoever comes first starts the servers."""
    if session.config.option.collectonly:
        return
    try:
        join(settings.EARNEST_VAR, settings.EMBEDDED)
    except EmbeddedError as error:
        pytest.exit(f"The embedded servers do not start. {error}", returncode=3)
