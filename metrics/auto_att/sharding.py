"""A model whose parameters lie in parts on all GPUs: FSDP2, by accelerate's plugin.

A layer is gathered when it computes and let go afterwards, frozen weights and adapter alike, so
that a GPU holds its share of the model and one whole layer. Checkpoints are those of one process:
parameters and optimiser are gathered to be written and dealt out when a run goes on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch
    from accelerate import Accelerator

    from metrics.auto_att.model import Listener
    from metrics.auto_att.ranks import Ranks


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
    made = accelerate.Accelerator(cpu=device == "cpu", fsdp_plugin=plugin)
    if device == "cpu":  # accelerate shards on GPUs only, and forgets the plugin elsewhere
        made.state.distributed_type = DistributedType.FSDP
        made.state.fsdp_plugin = plugin
    return made


def shard(listener: Listener, optimiser: torch.optim.Optimizer, among: Accelerator) -> None:
    """Deal out the listener's model; the optimiser learns its parts from here on."""
    from metrics.auto_att.model import label_logits

    network = label_logits(listener.model, listener.label_ids)
    among.state.fsdp_plugin.transformer_cls_names_to_wrap = layer_classes(listener.core)
    listener.network, _ = among.prepare(network, optimiser)


def layer_classes(model: Any) -> list[str]:
    """Classes of the layers that are gathered one at a time: what stands in the model's lists."""
    import torch

    lists = [part for part in model.modules() if isinstance(part, torch.nn.ModuleList)]
    inner = {part for each in lists for layer in each for part in layer.modules()}
    outermost = [each for each in lists if each not in inner]
    return sorted({type(layer).__name__ for each in outermost for layer in each})


def whole(value: Any) -> Any:
    """The same with every sharded tensor whole and on the CPU; all processes call it together."""
    if isinstance(value, dict):
        return {key: whole(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(whole(each) for each in value)
    return value.full_tensor().cpu() if hasattr(value, "full_tensor") else value


def dealt(state: dict[str, Any], parameters: list[torch.nn.Parameter]) -> dict[str, Any]:
    """A whole optimiser's state, its moments in parts as their parameters are."""
    from torch.distributed.tensor import DTensor, distribute_tensor

    by_parameter = {}
    for place, held in state["state"].items():
        parameter = parameters[place]
        by_parameter[place] = {
            name: distribute_tensor(
                value.to(parameter.device), parameter.device_mesh, parameter.placements
            )
            if isinstance(parameter, DTensor) and value.shape == parameter.shape
            else value
            for name, value in held.items()
        }
    return {**state, "state": by_parameter}
