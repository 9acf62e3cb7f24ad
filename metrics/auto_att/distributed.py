"""Training on several GPUs: batches shared among processes, and parameters sharded by FSDP2.

Started by torchrun, one process per GPU; without it there is one process, and nothing of this
happens. Each process takes some batches of a step, and all learn their sum: a step's gradient is
that of one process which accumulates the same batches. Each holds the whole model, unless it is
sharded. Then a layer is gathered when it computes and let go afterwards, frozen weights and adapter
alike, so that a GPU holds its share of the model and one whole layer. Checkpoints are those of one
process: parameters and optimiser are gathered to be written and dealt out when a run goes on.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from metrics.core.lazy_torch import torch

if TYPE_CHECKING:
    from accelerate import Accelerator

    from metrics.auto_att.model import Listener

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
        return f"cuda:{self.local}" if self.count > 1 and wanted == "cuda" else wanted

    def share(self, batches: Sequence[T]) -> list[T]:
        """The batches of a step that are this process's own."""
        return list(batches[self.rank :: self.count])

    def add_gradients(self, parameters: Iterable[torch.nn.Parameter]) -> None:
        """Have every process hold the sum of all gradients."""
        if self.count == 1:
            return
        from torch import distributed

        for parameter in parameters:
            if parameter.grad is None:  # it had no batch in this step
                parameter.grad = torch.zeros_like(parameter)
            distributed.all_reduce(parameter.grad)

    def add(self, sums: dict[str, float], device: str) -> dict[str, float]:
        """The sums over all processes."""
        if self.count == 1:
            return sums
        from torch import distributed

        values = torch.tensor(list(sums.values()), dtype=torch.float32, device=device)
        distributed.all_reduce(values)
        return dict(zip(sums, values.tolist(), strict=True))

    def leave_group(self) -> None:
        """Wait until all are here, and end what was begun for this run."""
        if self.count > 1:
            from torch import distributed

            distributed.barrier()
            if self.met_here:
                distributed.destroy_process_group()


def speaks() -> bool:
    """Whether this process says how far a run is: the first of those that torchrun started."""
    return os.environ.get("RANK", "0") == "0"


def join_processes(device: str, accumulate: int) -> Ranks:
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
    from torch import distributed

    meet = not distributed.is_initialized()
    ranks = Ranks(int(os.environ["RANK"]), count, int(os.environ.get("LOCAL_RANK", "0")), meet)
    if meet:
        if device == "cuda":
            torch.cuda.set_device(ranks.local)
        distributed.init_process_group("nccl" if device == "cuda" else "gloo", timeout=PATIENCE)
    return ranks


def accelerator(device: str, ranks: Ranks) -> Accelerator:
    """FSDP2 among the processes that have joined; to be made before the model is loaded.

    From here on, transformers reads the weights in the first process of a machine alone.
    Raises ValueError for a single process, which would hold the whole model.
    """
    if ranks.count == 1:
        raise ValueError("one process cannot share a model out: start several with torchrun")
    import accelerate
    from accelerate.utils import DistributedType

    plugin = accelerate.FullyShardedDataParallelPlugin(
        fsdp_version=2,
        auto_wrap_policy="transformer_based_wrap",
        cpu_ram_efficient_loading=True,
    )
    shared = accelerate.Accelerator(cpu=device == "cpu", fsdp_plugin=plugin)
    if device == "cpu":  # accelerate shards on GPUs only, and forgets the plugin elsewhere
        shared.state.distributed_type = DistributedType.FSDP
        shared.state.fsdp_plugin = plugin
    return shared


def shard(listener: Listener, optimiser: torch.optim.Optimizer, among: Accelerator) -> None:
    """Deal out the listener's model; the optimiser learns its parts from here on."""
    from metrics.auto_att.model import label_logits

    network = label_logits(listener.model, listener.label_ids)
    among.state.fsdp_plugin.transformer_cls_names_to_wrap = layer_classes(listener.core)
    listener.network, _ = among.prepare(network, optimiser)


def layer_classes(model: Any) -> list[str]:
    """Classes of the layers that are gathered one at a time: what stands in the model's lists."""
    lists = [part for part in model.modules() if isinstance(part, torch.nn.ModuleList)]
    inner = {part for each in lists for layer in each for part in layer.modules()}
    outermost = [each for each in lists if each not in inner]
    return sorted({type(layer).__name__ for each in outermost for layer in each})


def gather_tensors(value: Any) -> Any:
    """The same with every sharded tensor whole and on the CPU; all processes call it together."""
    if isinstance(value, dict):
        return {key: gather_tensors(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(gather_tensors(each) for each in value)
    return value.full_tensor().cpu() if hasattr(value, "full_tensor") else value


def shard_optimiser_state(
    state: dict[str, Any], parameters: list[torch.nn.Parameter]
) -> dict[str, Any]:
    """A whole optimiser's state, its moments in parts as their parameters are."""
    from torch.distributed.tensor import DTensor, distribute_tensor

    by_parameter = {}
    for place, moments in state["state"].items():
        parameter = parameters[place]
        by_parameter[place] = {
            name: distribute_tensor(
                value.to(parameter.device), parameter.device_mesh, parameter.placements
            )
            if isinstance(parameter, DTensor) and value.shape == parameter.shape
            else value
            for name, value in moments.items()
        }
    return {**state, "state": by_parameter}
