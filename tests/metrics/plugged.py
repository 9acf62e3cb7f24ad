"""Metrics as other packages bring them, installed for one test."""

import sys

from metrics.core.metric import Metric
from metrics.scoring import plugins

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


def installer(tmp_path, monkeypatch):
    """Yields what installs a module as a package would; all is gone afterwards."""
    monkeypatch.syspath_prepend(tmp_path)
    list(Metric.registry)
    before = dict(Metric.registry.declared)
    monkeypatch.setattr(plugins, "_state", plugins._State())

    def install(module: str, code: str, entry: bool = True) -> None:
        (tmp_path / f"{module}.py").write_text(code, encoding="utf-8")
        monkeypatch.delitem(sys.modules, module, raising=False)
        if entry:
            info = tmp_path / f"{module}-1.5.dist-info"
            info.mkdir()
            (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.5\n")
            (info / "entry_points.txt").write_text(f"[{plugins.GROUP}]\n{module} = {module}\n")
        else:
            plugins.configure([module])

    yield install
    Metric.registry.left_out.clear()
    for key in set(Metric.registry.declared) - set(before):
        del Metric.registry[key]
    for key, cls in before.items():
        Metric.registry[key] = cls
