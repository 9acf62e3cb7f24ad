"""The page of the documentation that lists the REST API, made of its schema."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

HEAD = """# Every address of the API

Made of the schema that a server gives at `/api/v1/openapi.json`. Its page *API* (`/api/`) says
the same.
[How to ask, and what goes wrong](api.md).
"""


def reference() -> str:
    """All operations by group, in the order of the server's own page."""
    from rest.pages import operations

    return page(operations())


def page(groups: dict[str, list[dict[str, Any]]]) -> str:
    lines = [HEAD]
    for group, operations in groups.items():
        lines.append(f"## {group}\n")
        for each in operations:
            lines.extend(_operation(each))
    return "\n".join(lines)


def _operation(operation: dict[str, Any]) -> Iterator[str]:
    yield f"### {operation['method']} `{operation['path']}`\n"
    yield f"{_sentence(operation['summary'])}\n"
    if operation["words"]:
        yield f"{operation['words']}\n"
    fields = [
        (each["name"], each.get("required"), _parameter(each)) for each in operation["parameters"]
    ]
    yield from _table("In the address", fields)
    for kind, sent in operation["sent"]:
        sent_fields = [(each["name"], each["needed"], each["words"]) for each in sent]
        yield from _table(f"Request body: `{kind}`", sent_fields)
        if not sent_fields:
            yield f"Request body: `{kind}`.\n"
    for code, kinds in operation["answers"]:
        named = ", ".join(f"`{kind}`" if "/" in kind else kind for kind in kinds)
        yield f"Response {code}: {named}.\n"


def _sentence(text: str) -> str:
    return text if not text or text.endswith((".", "?", ":")) else f"{text}."


def _parameter(parameter: dict[str, Any]) -> str:
    shape = parameter.get("schema", {})
    if choices := shape.get("enum"):  # its description lists them again
        return ", ".join(f"`{each}`" for each in choices)
    return str(parameter.get("description") or shape.get("type", ""))


def _table(title: str, fields: list[tuple[str, Any, str]]) -> Iterator[str]:
    if not fields:
        return
    yield f"| {title} | |\n| --- | --- |"
    for name, needed, words in fields:
        mark = " (needed)" if needed else ""
        yield f"| `{name}`{mark} | {_cell(words)} |"
    yield ""


def _cell(words: str) -> str:
    return " ".join(words.split()).replace("|", "\\|")
