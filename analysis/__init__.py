"""Estimates with intervals from ratings and scores: a library for scripts, and a room of the site.

``from analysis import from_csv, screen, MeanScore, mixed_model …``: docs/python.md shows how. The
names are those of `__init__.pyi`. Each is loaded when it is first used, so that the web process
loads none of what stands behind them.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
