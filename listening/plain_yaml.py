"""YAML as people mean it: no key twice, and words such as no, 010 and 12:30 as they are written."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import yaml


class YamlError(ValueError):
    """What is wrong with a YAML text, with the line and column."""


def read_yaml(text: str, *, as_texts: bool = False) -> Any:
    """The content of a YAML text; YamlError where it is none or a key stands twice in a mapping.

    Numbers, true, false and null are those of YAML 1.2 (``010``, ``yes`` and ``12:30`` are texts);
    with ``as_texts`` every scalar is text, an empty one "".
    """
    import yaml

    try:
        return yaml.load(text, _loader(as_texts))  # noqa: S506: a subclass of SafeLoader
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        what = getattr(error, "problem", None) or str(error)
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise YamlError(f"{place}{what}") from None


def _loader(as_texts: bool) -> type[yaml.SafeLoader]:
    import yaml

    class Loader(yaml.SafeLoader):
        """PyYAML's safe loader with the scalars of YAML 1.2, or with texts alone."""

        yaml_implicit_resolvers = {}  # noqa: RUF012: PyYAML looks it up on the class

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
