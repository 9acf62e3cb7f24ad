"""One run on several GPUs: each process takes some batches of a step, and all learn their sum.

Started by torchrun, one process per GPU; without it there is one process, and nothing of this
happens. A step's gradient is that of one process which accumulates the same batches. Each holds
the whole model, unless it is sharded (see `sharding`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import torch

T = TypeVar("T")
PATIENCE = timedelta(hours=2)  # others wait while the first evaluates


@dataclass(frozen=True)
class Ranks:
    """Which of how many processes this one is."""

    rank: int = 0
    count: int = 1
    local: int = 0  # its GPU on this machine
    met_here: bool = False  # they met for this run, and part after it

    @property
    def is_first(self) -> bool:
        """The one that writes, and says how far it is."""
        return self.rank == 0

    def device(self, wanted: str) -> str:
        """The device of this process."""
        return f"cuda:{self.local}" if self.count > 1 and wanted == "cuda" else wanted

    def share(self, batches: Sequence[T]) -> list[T]:
        """The batches of a step that are this process's own."""
        return list(batches[self.rank :: self.count])

    def most(self, batches: Sequence[T]) -> int:
        """How many batches of a step the first process has: no other has more."""
        return len(batches[:: self.count])

    def add_gradients(self, parameters: Iterable[torch.nn.Parameter]) -> None:
        """Have every process hold the sum of all gradients."""
        if self.count == 1:
            return
        import torch
        from torch import distributed

        for parameter in parameters:
            if parameter.grad is None:  # it had no batch in this step
                parameter.grad = torch.zeros_like(parameter)
            distributed.all_reduce(parameter.grad)

    def add(self, sums: dict[str, float], device: str) -> dict[str, float]:
        """The sums over all processes."""
        if self.count == 1:
            return sums
        import torch
        from torch import distributed

        values = torch.tensor(list(sums.values()), dtype=torch.float32, device=device)
        distributed.all_reduce(values)
        return dict(zip(sums, values.tolist(), strict=True))

    def part(self) -> None:
        """Wait until all are here, and end what was begun for this run."""
        if self.count > 1:
            from torch import distributed

            distributed.barrier()
            if self.met_here:
                distributed.destroy_process_group()


def speaks() -> bool:
    """Whether this process says how far a run is: the first of those that torchrun started."""
    return os.environ.get("RANK", "0") == "0"


def joined(device: str, accumulate: int) -> Ranks:
    """This process among those that torchrun started; ValueError where some would have nothing.

    ``accumulate``: batches of a step, a multiple of the processes.
    """
    count = int(os.environ.get("WORLD_SIZE", "1"))
    if count == 1:
        return Ranks()
    if accumulate % count:
        raise ValueError(
            f"accumulate is {accumulate}, and there are {count} processes: give a multiple of "
            f"{count}, so that each has as many batches of a step"
        )
    import torch
    from torch import distributed

    meet = not distributed.is_initialized()
    ranks = Ranks(int(os.environ["RANK"]), count, int(os.environ.get("LOCAL_RANK", "0")), meet)
    if meet:
        if device == "cuda":
            torch.cuda.set_device(ranks.local)
        distributed.init_process_group("nccl" if device == "cuda" else "gloo", timeout=PATIENCE)
    return ranks
