"""Auto-ATT trained by two processes, each with the whole model or with its share of it."""

import json
import multiprocessing
import os
import socket

import pytest

from metrics.auto_att import checkpoints, dataset, distributed, train
from metrics.auto_att.model import ModelPlan
from metrics.auto_att.train import TrainingPlan
from metrics.core.lazy_torch import torch
from tests.metrics.tiny_listener import adapter_of, log_of, save_tiny, voices

ROUNDING = 1e-5
HEAVY = ["metrics.auto_att.train", "metrics.auto_att.distributed", "peft", "accelerate"]
HEAVY += ["transformers.models.qwen2_audio.modeling_qwen2_audio"]
# three batches of one dimension: a step of two, and a last one that leaves a process without
PLAN = TrainingPlan(
    epochs=1, batch_size=2, accumulate=2, learning_rate=2e-2, save_every=1, evaluate_every=2
)


def asked(place):
    return ModelPlan(name=str(place / "model"), rank=4, alpha=4, dropout=0.0)


def one_of_two(rank, port, place):
    """Train with the whole model, then with half of it, then go on from one process's run."""
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2"}
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "OMP_NUM_THREADS": "1"}
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo")
    made = dataset.read(place / "data")
    train.train(made, asked(place), PLAN, place / "copies")
    deal = distributed.shard

    def dealt(listener, *given):
        deal(listener, *given)
        parts = list(listener.model.parameters())
        held = sum(part.to_local().numel() for part in parts) / sum(p.numel() for p in parts)
        (place / f"held-{rank}.json").write_text(json.dumps(held))

    distributed.shard = dealt
    train.train(made, asked(place), PLAN, place / "shards", shard=True)
    train.train(made, asked(place), PLAN, place / "stopped", shard=True, resume=True)


@pytest.mark.slow
def test_two_processes_learn_what_one_learns_that_accumulates(tmp_path):
    save_tiny(tmp_path / "model")
    made = voices(tmp_path)
    made = dataset.Dataset(tuple(c for c in made.clips if c.dimension != "q"), made.summary)
    dataset.write(made, tmp_path / "data")
    alone = train.train(made, asked(tmp_path), PLAN, tmp_path / "alone")
    train.train(made, asked(tmp_path), PLAN, tmp_path / "stopped", stop_at=1)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    multiprocessing.get_context("forkserver").set_forkserver_preload(HEAVY)  # loaded once for both
    torch.multiprocessing.start_processes(
        one_of_two, (port, tmp_path), nprocs=2, start_method="forkserver"
    )
    for name in ("copies", "shards", "stopped"):
        found = adapter_of(tmp_path / name / checkpoints.FINAL)
        assert set(found) == set(adapter_of(alone))
        for layer, tensor in adapter_of(alone).items():
            torch.testing.assert_close(found[layer], tensor)
        pairs = zip(log_of(tmp_path / name), log_of(tmp_path / "alone"), strict=True)
        for ours, theirs in pairs:
            for part in ("loss", "gradient_norm", "learning_rate"):
                assert ours[part] == pytest.approx(theirs[part], rel=ROUNDING)
            assert ours["dimensions"] == theirs["dimensions"]
        told, wanted = (log_of(tmp_path / n)[1]["evaluation"] for n in (name, "alone"))
        assert told.keys() == wanted.keys()
        assert told["mean_absolute_error"] == pytest.approx(wanted["mean_absolute_error"])
    held = [json.loads((tmp_path / f"held-{rank}.json").read_text()) for rank in (0, 1)]
    assert sum(held) == pytest.approx(1)
    assert max(held) < 0.55  # neither has the whole model

    half = tmp_path / "shards" / checkpoints.FINAL
    half.rename(half.with_name("kept"))
    last = checkpoints.list_checkpoints(tmp_path / "shards")[-1]
    last.rename(last.with_name("dropped"))  # one process goes on where two stopped
    again = train.train(made, asked(tmp_path), PLAN, tmp_path / "shards", resume=True)
    for layer, tensor in adapter_of(alone).items():
        torch.testing.assert_close(adapter_of(again)[layer], tensor)
