"""YAML as people mean it: no key twice, and words such as no, 010 and 12:30 as they are written."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from listening.common.input_limits import YAML_CHARACTERS, YAML_DEPTH, YAML_VALUES

if TYPE_CHECKING:
    import yaml


class YamlError(ValueError):
    """What is wrong with a YAML text, with the line and column."""


def read_yaml(text: str, *, as_texts: bool = False) -> Any:
    """The content of a YAML text; YamlError where it is none or a key stands twice in a mapping.

    Numbers, true, false and null are those of YAML 1.2 (``010``, ``yes`` and ``12:30`` are texts);
    with ``as_texts`` every scalar is text, an empty one "".
    A text is refused that is too long, too deep, or too much once its aliases are resolved.
    """
    import yaml

    if len(text) > YAML_CHARACTERS:
        raise YamlError(
            f"the text has {len(text):,} characters; {YAML_CHARACTERS:,} are allowed. Split it"
        )
    try:
        loader = _loader(as_texts)(text)
        node = loader.get_single_node()
        if node is None:
            return None
        _check_size(node)
        return loader.construct_document(node)
    except RecursionError:
        raise YamlError(_TOO_DEEP) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        what = getattr(error, "problem", None) or str(error)
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise YamlError(f"{place}{what}") from None
    except (ValueError, OverflowError) as error:  # such as a date with 13 months
        if isinstance(error, YamlError):
            raise
        raise YamlError(f"a value cannot be read ({str(error)[:80]}). Put it in quotes") from None


_TOO_DEEP = f"lists and mappings are nested more than {YAML_DEPTH} deep. Flatten them"


def _check_size(top: yaml.Node) -> None:
    """YamlError where a document is deep, refers to itself, or holds very many values.

    An alias counts as all that it stands for: ten lines of ten aliases each are a billion values.
    """
    sizes: dict[int, int] = {}
    open_nodes: set[int] = set()

    def size_of(node: Any, depth: int) -> int:
        if id(node) in sizes:
            return sizes[id(node)]
        if id(node) in open_nodes:
            raise YamlError(f"{_at(node)}an alias refers to what it stands in. Write it out")
        if depth > YAML_DEPTH:
            raise YamlError(f"{_at(node)}{_TOO_DEEP}")
        open_nodes.add(id(node))
        inside = node.value if isinstance(node.value, list) else ()
        parts = (part for each in inside for part in (each if isinstance(each, tuple) else (each,)))
        size = 1 + sum(size_of(part, depth + 1) for part in parts)
        if size > YAML_VALUES:
            raise YamlError(
                f"{_at(node)}with its aliases resolved, this holds more than {YAML_VALUES:,} "
                "values. Split the file, or use fewer aliases"
            )
        open_nodes.discard(id(node))
        sizes[id(node)] = size
        return size

    size_of(top, 1)


def _at(node: Any) -> str:
    return f"line {node.start_mark.line + 1}, column {node.start_mark.column + 1}: "


def _loader(as_texts: bool) -> type[yaml.SafeLoader]:
    import yaml

    class Loader(yaml.SafeLoader):
        """PyYAML's safe loader with the scalars of YAML 1.2, or with texts alone."""

        yaml_implicit_resolvers = {}  # noqa: RUF012: PyYAML looks it up on the class
        nodes = depth = 0

        def compose_node(self, parent: Any, index: Any) -> Any:
            self.nodes += 1
            self.depth += 1
            if self.nodes > YAML_VALUES:
                raise YamlError(f"the text holds more than {YAML_VALUES:,} values. Split the file")
            if self.depth > YAML_DEPTH:
                raise YamlError(f"line {self.line + 1}: {_TOO_DEEP}")
            node = super().compose_node(parent, index)
            self.depth -= 1
            return node

        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
            seen = set()
            for key, _ in node.value:
                if key.tag == "tag:yaml.org,2002:merge":
                    continue
                name = self.construct_object(key, deep=True)
                if isinstance(name, list | dict):
                    continue  # PyYAML says that it cannot be a key
                if name in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"the key “{name}” stands there twice; keep one", key.start_mark
                    )
                seen.add(name)
            return super().construct_mapping(node, deep)

    if not as_texts:
        for tag, pattern, first in _SCALARS:
            resolver = re.compile(pattern)
            Loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", resolver, list(first))
    Loader.add_implicit_resolver("tag:yaml.org,2002:merge", re.compile("^<<$"), ["<"])
    return Loader


_SCALARS = (
    ("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    ("int", r"^[-+]?(?:0|[1-9][0-9]*)$", "-+0123456789"),
    ("float", r"^(?:[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)\.[0-9]*|(?:0|[1-9][0-9]*)(?=[eE]))"
     r"(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$", "-+0123456789."),
    ("null", r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
)  # fmt: skip


def is_true(text: Any) -> bool:
    """Whether a text says yes, as YAML 1.2 does: true."""
    return str(text).strip().lower() == "true"
