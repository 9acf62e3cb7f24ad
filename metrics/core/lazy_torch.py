"""PyTorch, imported when it is first used: ``from metrics.core.lazy_torch import torch``.

Importing torch takes seconds and hundreds of megabytes, which pages and commands that only list
metrics do without. `torch.compile` traces through these objects.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch as torch
    from torch.nn import functional as functional
else:

    class _Torch:
        def __getattr__(self, name: str) -> Any:
            import torch

            return getattr(torch, name)

    class _Functional:
        def __getattr__(self, name: str) -> Any:
            import torch

            return getattr(torch.nn.functional, name)

    torch, functional = _Torch(), _Functional()
