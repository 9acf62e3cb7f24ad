"""Static files under hashed names, in imports too, so that browsers may keep them; lean."""

import logging
import re
from collections.abc import Callable
from typing import Any

from django.conf import settings
from whitenoise.storage import CompressedManifestStaticFilesStorage

log = logging.getLogger(__name__)

OURS = ("js/", "css/")
LEFT_OUT = ""
FIRST_GROUP = r"\1"
NEEDLESS = (  # for browsers: comments on lines of their own, types, ends of lines without quotes
    (r"(?m)^[ \t]*/\*(?:(?!\*/)[\s\S])*\*/[ \t]*\n", LEFT_OUT),
    (r"(?m)^[ \t]*//.*\n", LEFT_OUT),
    (r"/\*\* @type \{[^\n*]*\} \*/ ?", LEFT_OUT),
    (r"(?m)[ \t]+// [^\n\"'`]*$", LEFT_OUT),
    (r"(?m)^[ \t]+", LEFT_OUT),
    (r"(?m)^\n", LEFT_OUT),
)


# A statement that ends, or goes on, needs no line of its own; what may be a comment keeps it.
JOINED_LINES = ((r"(?m)^((?:(?!//)[^\n])*[;,{(\[])\n", FIRST_GROUP),)
CSS_SPACES = (
    (r"(?<=[{};,])\n", LEFT_OUT),
    (r"(?<=[a-z]:) |(?<=,) | (?=\{)|;(?=\})", LEFT_OUT),
    (r"(?<=[ (:,-])0(?=\.\d)", LEFT_OUT),
)


class ModuleManifestStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc]  # untyped
    """Leaves the imports in comments alone: they name types, in circles that would never settle.

    Our own scripts and styles are served without their comments, indents and most ends of lines:
    raters on slow links pay for every byte. No string of theirs may span lines (tested).
    """

    patterns = (
        *CompressedManifestStaticFilesStorage.patterns,
        ("*.js", NEEDLESS + JOINED_LINES),
        ("*.css", NEEDLESS + CSS_SPACES),
    )

    support_js_module_import_aggregation = True
    max_post_process_passes = 20  # modules import modules that import modules

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.urls: dict[tuple[str | None, bool, bool], str] = {}

    def url(self, name: str | None, force: bool = False) -> str:
        """By the manifest, which a process reads once: a rater's page names forty files."""
        which = name, force, settings.DEBUG
        if which not in self.urls:
            self.urls[which] = super().url(name, force)
        return self.urls[which]

    def url_converter(
        self, name: str, hashed_files: dict[str, str], template: str | None = None
    ) -> Callable[[re.Match[str]], str]:
        if template == LEFT_OUT:
            return lambda match: "" if name.startswith(OURS) else match[0]
        if template == FIRST_GROUP:
            return lambda match: match[1] if name.startswith(OURS) else match[0]
        convert: Callable[[re.Match[str]], str]
        convert = super().url_converter(name, hashed_files, template)
        prefixes = {each[0] for each in settings.STATICFILES_DIRS if isinstance(each, tuple)}
        of_plugin = name.partition("/")[0] in prefixes

        def converted(match: re.Match[str]) -> str:
            if in_comment(match):
                return match[0]
            try:
                return convert(match)
            except ValueError as error:
                if not of_plugin:
                    raise
                log.error("%s of a plug-in names a file that is not there: %s", name, error)
                return match[0]

        return converted


def in_comment(match: re.Match[str]) -> bool:
    before = match.string[: match.start()]
    line = before[before.rfind("\n") + 1 :]
    return before.rfind("/*") > before.rfind("*/") or bool(re.search(r"(^|\s)//", line))
