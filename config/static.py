"""Static files under hashed names, in scripts' imports too, so that browsers may keep them."""

import re
from collections.abc import Callable

from whitenoise.storage import CompressedManifestStaticFilesStorage


class ModuleManifestStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc]  # untyped
    """Leaves comments alone: the types they name point in circles, which would never settle."""

    support_js_module_import_aggregation = True
    max_post_process_passes = 20  # modules import modules that import modules

    def url_converter(
        self, name: str, hashed_files: dict[str, str], template: str | None = None
    ) -> Callable[[re.Match[str]], str]:
        convert: Callable[[re.Match[str]], str]
        convert = super().url_converter(name, hashed_files, template)
        return lambda match: match[0] if in_comment(match) else convert(match)


def in_comment(match: re.Match[str]) -> bool:
    before = match.string[: match.start()]
    line = before[before.rfind("\n") + 1 :]
    return before.rfind("/*") > before.rfind("*/") or bool(re.search(r"(^|\s)//", line))
