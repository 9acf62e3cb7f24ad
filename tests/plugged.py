"""Classes as other packages bring them, installed for one test."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from listening.common import plugins
from listening.common.registry import Registry

METRIC = '''
"""A metric of another package."""

from metrics.core.metric import Metric


class {name}(Metric):
    key = "{key}"
    description = "Peak of the whole clip, of full scale"
    source = "The definition of a peak"
    low, high = 0.0, 1.0

    def score(self, waves):
        return [float(w.abs().max()) for w in waves]
'''


def installer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, registry: Registry[Any]
) -> Iterator[Callable[..., None]]:
    """Yields what installs a module as a package would; all is gone afterwards."""
    monkeypatch.syspath_prepend(tmp_path)
    list(registry)
    before = dict(registry.declared)
    monkeypatch.setattr(plugins, "_state", plugins._State())

    def install(module: str, code: str, entry: bool = True, target: str = "") -> None:
        (tmp_path / f"{module}.py").write_text(code, encoding="utf-8")
        monkeypatch.delitem(sys.modules, module, raising=False)
        if entry:
            info = tmp_path / f"{module}-1.5.dist-info"
            info.mkdir()
            (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.5\n")
            entries = f"[{registry.group}]\n{module} = {target or module}\n"
            (info / "entry_points.txt").write_text(entries)
        else:
            plugins.configure(registry.group, "EARNEST_METRIC_MODULES", [module])

    yield install
    for key in set(registry.declared) - set(before):
        del registry[key]
    for key, cls in before.items():
        registry[key] = cls
