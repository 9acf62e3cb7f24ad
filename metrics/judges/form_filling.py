"""An answer of a JSON schema, filled in slot by slot: what is fixed is given, the rest is chosen.

For servers of one's own without guided decoding: the model never writes what is no answer. The
schemas are those of `schema`: objects, numbers and texts of a list, booleans, texts, arrays.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

MOST_ITEMS = 26  # of an array


class SchemaError(ValueError):
    """A schema that cannot be filled in; the message names the part."""


class Writer(Protocol):
    """A model in the middle of its answer."""

    def give(self, text: str) -> None:
        """Have it read what stands in the answer next."""

    def choose(self, options: Sequence[str], after: str) -> int:
        """The place of the option that it writes next; ``after`` follows any of them."""

    def write(self) -> str:
        """What it writes up to the next quotation mark, which it has not read."""


def fill(schema: Mapping[str, Any], writer: Writer, after: str = "\n") -> Any:
    """The value that the writer gives to a schema, as JSON has it.

    ``after`` is what follows the value in the answer, and is not written.
    """
    kind = schema.get("type")
    if kind == "object":
        return _object(schema, writer)
    if kind == "array":
        return _array(schema.get("items", {}), writer, after)
    if "enum" in schema and kind in ("number", "integer", "string"):
        values = list(schema["enum"])
        return values[writer.choose([json.dumps(v, ensure_ascii=False) for v in values], after)]
    if kind == "boolean":
        return writer.choose(["true", "false"], after) == 0
    if kind == "string":
        writer.give('"')
        return _text(writer)
    raise SchemaError(f"a part of type {kind!r} cannot be filled in")


def _object(schema: Mapping[str, Any], writer: Writer, is_begun: bool = False) -> dict[str, Any]:
    """``is_begun``: its first brace stands there already."""
    parts = list(schema.get("properties", {}).items())
    found, before = {}, "" if is_begun else "{"
    for place, (name, part) in enumerate(parts):
        writer.give(f"{before}{json.dumps(name, ensure_ascii=False)}: ")
        found[name] = fill(part, writer, "," if place + 1 < len(parts) else "}")
        before = ", "
    writer.give("}" if parts else f"{before}}}")
    return found


def _array(items: Mapping[str, Any], writer: Writer, after: str) -> list[Any]:
    found: list[Any] = []
    writer.give("[")
    if key := _row_key(items):
        return _table(items, key, writer)
    while len(found) < MOST_ITEMS:
        comma = ", " if found else ""
        left = [value for value in items.get("enum", ()) if value not in found]
        begun = {"object": "{", "string": '"'}.get(items.get("type", ""))
        if begun is None:
            raise SchemaError(f"an array of {items.get('type')!r} cannot be filled in")
        if "enum" in items:
            given = [f"{comma}{json.dumps(value, ensure_ascii=False)}" for value in left]
            place = writer.choose(["]", *given], after)
            if place == 0:
                return found
            found.append(left[place - 1])
            continue
        if writer.choose(["]", f"{comma}{begun}"], after) == 0:
            return found
        found.append(_text(writer) if begun == '"' else _object(items, writer, is_begun=True))
    writer.give("]")
    return found


def _row_key(items: Mapping[str, Any]) -> str:
    """The first property of rows that each are about one thing of a list, such as a letter."""
    name, part = next(iter(items.get("properties", {"": {}}).items()))
    return str(name) if part.get("type") == "string" and "enum" in part else ""


def _table(items: Mapping[str, Any], key: str, writer: Writer) -> list[Any]:
    """A row for each thing of the list, in the writer's order."""
    found: list[Any] = []
    left = list(items["properties"][key]["enum"])
    while left:
        writer.give(", " if found else "")
        one = {**items["properties"][key], "enum": left}
        found.append(_object({**items, "properties": {**items["properties"], key: one}}, writer))
        left = [each for each in left if each != found[-1][key]]
    writer.give("]")
    return found


def _text(writer: Writer) -> str:
    """A text whose first quotation mark stands there; escapes are read where they are right."""
    written = writer.write()
    writer.give('"')
    try:
        read: str = json.loads(f'"{written}"', strict=False)
    except ValueError:
        return written
    return read
