"""Checkpoints of a training run: adapter, optimiser, random state, place; found again and checked.

A run's folder holds ``checkpoint-NNNNNN/`` (adapter and state, to go on), ``final/`` (adapter, to
predict) and ``log.jsonl``. Each is written under another name first, so a stop leaves no half.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

from listening.common.command_name import command
from metrics.auto_att.model import ModelPlan
from metrics.core import weights
from metrics.core.lazy_torch import torch

ADAPTER = "adapter_model.safetensors"
PLAN, STATE, FINAL, LOG = "auto_att.json", "state.pt", "final", "log.jsonl"
KEPT = 2  # checkpoints of a run that are not deleted


class CheckpointError(ValueError):
    """A checkpoint that is missing or belongs to another run; the message says which."""


def save(
    folder: Path,
    model: Any,
    plan: dict[str, Any],
    state: dict[str, Any] | None,
    adapter: dict[str, Any] | None = None,
) -> Path:
    """Write an adapter with its plan, and the state to go on if there is one, all or nothing.

    ``adapter``: its tensors by their names in the model, where the model holds only parts of them.
    """
    half = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(half, ignore_errors=True)
    half.mkdir(parents=True)
    model.save_pretrained(half, state_dict=adapter, save_embedding_layers=False)
    (half / PLAN).write_text(json.dumps(plan, indent=1, ensure_ascii=False), encoding="utf-8")
    if state is not None:
        torch.save(state, half / STATE)
    shutil.rmtree(folder, ignore_errors=True)
    half.rename(folder)
    return folder


def checkpoint_folder(run: Path, step: int) -> Path:
    """The folder of the checkpoint after so many steps."""
    return run / f"checkpoint-{step:06d}"


def list_checkpoints(run: Path) -> list[Path]:
    """A run's checkpoints, the oldest first."""
    return sorted(p for p in run.glob("checkpoint-*") if p.suffix != ".part" and p.is_dir())


def delete_old_checkpoints(run: Path) -> None:
    """Delete all but the newest checkpoints of a run."""
    for folder in list_checkpoints(run)[:-KEPT]:
        shutil.rmtree(folder)


def last_state(run: Path, plan: dict[str, Any]) -> tuple[Path, dict[str, Any]] | None:
    """The newest checkpoint and its state; None when there is none.

    Raises CheckpointError when it was made with another model, plan or dataset: going on would
    give numbers that no single run gives.
    """
    folders = list_checkpoints(run)
    if not folders:
        return None
    made_with = json.loads((folders[-1] / PLAN).read_text(encoding="utf-8"))
    wanted = json.loads(json.dumps(plan))
    differing = [
        f"{part}.{name}"
        for part in ("model", "training", "dataset")
        for name in sorted({*made_with[part], *wanted[part]})
        if made_with[part].get(name) != wanted[part].get(name)
    ]
    if differing:
        raise CheckpointError(
            f"{folders[-1].name} was made with other settings ({', '.join(differing)}); "
            "go on with the same ones, or choose another folder"
        )
    return folders[-1], torch.load(folders[-1] / STATE, map_location="cpu", weights_only=True)


def resolve_adapter(folder: Path | str) -> Path:
    """The adapter's folder: the one named, or ``final`` of a run; Unavailable when neither is."""
    root = Path(folder)
    for place in (root, root / FINAL):
        if (place / ADAPTER).is_file() and (place / PLAN).is_file():
            return place
    raise weights.Unavailable(
        f"no weights: {root} holds no adapter ({ADAPTER} and {PLAN}); "
        f"train one with `{command('auto_att train')}`"
    )


def read_plan(adapter: Path) -> dict[str, Any]:
    """What an adapter was made with."""
    plan: dict[str, Any] = json.loads((adapter / PLAN).read_text(encoding="utf-8"))
    return plan


def model_plan(plan: dict[str, Any], name: str = "") -> ModelPlan:
    """The model plan of a checkpoint; ``name`` says where its model lies on this machine."""
    values = dict(plan["model"])
    values["label_texts"] = tuple(values["label_texts"])
    if name:
        values["name"] = name
    return ModelPlan(**values)


def plan_as_json(model: ModelPlan) -> dict[str, Any]:
    """A model plan as JSON values."""
    values: dict[str, Any] = json.loads(json.dumps(asdict(model)))
    return values
