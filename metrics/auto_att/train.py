"""LoRA training of Auto-ATT: AdamW, warm-up and cosine, checkpoints that go on exactly."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metrics.auto_att import checkpoints, distributed
from metrics.auto_att.dataset import TRAIN, Dataset, LabelledClip, batches, training_facts
from metrics.auto_att.distributed import Ranks, join_processes
from metrics.auto_att.evaluate import evaluate
from metrics.auto_att.model import Listener, ModelPlan, add_adapter, load_base
from metrics.auto_att.predict import predictions, score_waves
from metrics.core import decoding
from metrics.core.lazy_torch import torch

if TYPE_CHECKING:
    from accelerate import Accelerator

REDUCTIONS = ("sum", "mean")


@dataclass(frozen=True)
class Loss:
    """The weighted loss of a batch and its two parts; each a tensor without axes."""

    total: torch.Tensor
    bradley_terry: torch.Tensor
    squared: torch.Tensor


def training_loss(predicted: torch.Tensor, true: torch.Tensor, reduction: str = "sum") -> Loss:
    """0.4 Bradley-Terry + 0.6 squared error (Wang et al. 2025, equation 2).

    ``predicted``, ``true``: (clips,) scores in [0, 1]. As printed there, neither part is averaged
    (reduction "sum"), so a batch of n clips weighs its up to n(n - 1) / 2 pairs against n errors.
    "mean" divides each part by its number of terms, which makes batch sizes comparable.
    """
    pairs = bradley_terry(predicted, true, reduction)
    squared = half_squared_error(predicted, true, reduction)
    return Loss(0.4 * pairs + 0.6 * squared, pairs, squared)


def bradley_terry(
    predicted: torch.Tensor, true: torch.Tensor, reduction: str = "sum"
) -> torch.Tensor:
    """Sum of -log sigmoid(p_i - p_j) over the ordered pairs with s_i > s_j; 0 without a pair.

    ``predicted``, ``true``: (clips,). Clips with equal true scores form no pair.
    """
    from torch.nn.functional import logsigmoid

    better = true[:, None] > true[None, :]
    differences = predicted[:, None] - predicted[None, :]
    total = -logsigmoid(differences[better]).sum()
    if _check_reduction(reduction) == "mean":
        return total / better.sum().clamp_min(1)
    return total


def half_squared_error(
    predicted: torch.Tensor, true: torch.Tensor, reduction: str = "sum"
) -> torch.Tensor:
    """Half the sum of squared differences of two vectors (clips,)."""
    total = (predicted - true).square().sum() / 2
    return total / max(len(true), 1) if _check_reduction(reduction) == "mean" else total


def _check_reduction(reduction: str) -> str:
    if reduction not in REDUCTIONS:
        raise ValueError(f"reduction must be one of {', '.join(REDUCTIONS)}, not {reduction!r}")
    return reduction


PACKAGES = ("torch", "transformers", "peft")
Report = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class TrainingPlan:
    """How an adapter is trained.

    From the paper: loss and its weights, one dimension per batch. It states neither optimiser nor
    learning rate, schedule, epochs or batch size: those defaults are ours.
    """

    epochs: int = 3
    batch_size: int = 8  # clips that the loss compares with each other
    accumulate: int = 1  # batches per step of the optimiser
    learning_rate: float = 1e-4
    weight_decay: float = 0.01
    warmup_share: float = 0.03  # of all steps; then a cosine down to 0
    max_gradient_norm: float = 1.0
    target: str = "label"  # the final label's score, as in the paper; "soft": the labels' mean
    reduction: str = "sum"  # of the loss; "mean" makes batch sizes comparable
    seed: int = 0
    save_every: int = 50  # steps; a last checkpoint is always written
    evaluate_every: int = 0  # steps; on clips that are not trained on. 0: only afterwards
    gradient_checkpointing: bool = False  # less memory for a third more time

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "accumulate", "save_every"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be 1 or more, not {getattr(self, name)}")
        if self.target not in ("label", "soft"):
            raise ValueError(f"target must be label or soft, not {self.target!r}")
        if self.reduction not in REDUCTIONS:
            raise ValueError(f"reduction must be one of {', '.join(REDUCTIONS)}")
        if self.evaluate_every < 0:
            raise ValueError(f"evaluate_every must be 0 or more, not {self.evaluate_every}")


class Run:
    """One training run: the model, the optimiser, and where it stands."""

    def __init__(
        self,
        listener: Listener,
        clips: Sequence[LabelledClip],
        plan: TrainingPlan,
        ranks: Ranks | None = None,
        among: Accelerator | None = None,
    ) -> None:
        self.listener, self.clips, self.plan = listener, list(clips), plan
        self.ranks, self.is_sharded = ranks or Ranks(), among is not None
        self.step, self.epoch, self.taken = 0, 0, 0  # taken: batches of this epoch
        self.optimiser = torch.optim.AdamW(
            self.adapter().values(), lr=plan.learning_rate, weight_decay=plan.weight_decay
        )
        if among is not None:
            distributed.shard(listener, self.optimiser, among)
        self.trained = list(self.adapter().values())
        per_epoch = math.ceil(len(self.batches(0)) / plan.accumulate)
        self.steps = per_epoch * plan.epochs
        warmup = math.ceil(plan.warmup_share * self.steps)
        self.schedule = torch.optim.lr_scheduler.LambdaLR(
            self.optimiser, lambda step: rate_share(step, warmup, self.steps)
        )
        self.waves = WavesAhead(listener.rate_hz)

    def adapter(self) -> dict[str, torch.nn.Parameter]:
        """What is trained, by its name in the model; in parts where the model is sharded."""
        return {n: p for n, p in self.listener.model.named_parameters() if p.requires_grad}

    def batches(self, epoch: int) -> list[list[LabelledClip]]:
        """The batches of an epoch, the same each time they are asked for."""
        return batches(self.clips, self.plan.batch_size, self.plan.seed, epoch)

    def next_batches(self, after: int = 0) -> list[list[LabelledClip]]:
        """The batches of this step, or of the one after so many; an epoch's last may be few."""
        start = self.taken + after
        epoch = self.batches(self.epoch)
        if start >= len(epoch):
            return self.batches(self.epoch + 1)[: self.plan.accumulate]
        return epoch[start : start + self.plan.accumulate]

    def advance(self) -> dict[str, Any]:
        """One step of the optimiser, and what it was."""
        left = self.next_batches()
        own = self.ranks.share(left)
        self.waves.announce([*own, *self.ranks.share(self.next_batches(len(left)))])
        rate = self.optimiser.param_groups[0]["lr"]
        sums = {"loss": 0.0, "bradley_terry": 0.0, "squared": 0.0}
        share = 1 / len(left) if self.plan.reduction == "mean" else 1.0
        for batch in own:
            loss = self.loss(batch)
            self.backward(loss.total * share)
            sums["loss"] += float(loss.total.detach()) * share
            sums["bradley_terry"] += float(loss.bradley_terry.detach()) * share
            sums["squared"] += float(loss.squared.detach()) * share
        if self.is_sharded and len(own) < len(left[:: self.ranks.count]):
            self.backward(self.loss(left[-1]).total * 0)  # layers are gathered by all together
        if not self.is_sharded:
            self.ranks.add_gradients(self.trained)
        sums = self.ranks.add(sums, self.listener.device)
        norm = torch.nn.utils.clip_grad_norm_(self.trained, self.plan.max_gradient_norm)
        self.optimiser.step()
        self.schedule.step()
        self.optimiser.zero_grad()
        record: dict[str, Any] = {"step": self.step + 1, "epoch": self.epoch, **sums}
        record |= {"gradient_norm": float(distributed.gather_tensors(norm)), "learning_rate": rate}
        record["dimensions"] = [batch[0].dimension for batch in left]
        self.step, self.taken = self.step + 1, self.taken + len(left)
        if self.taken >= len(self.batches(self.epoch)):
            self.epoch, self.taken = self.epoch + 1, 0
        return record

    def backward(self, loss: torch.Tensor) -> None:
        """Add a loss to the gradients; FSDP takes their mean over processes, here is the sum."""
        factor = self.ranks.count if self.is_sharded else 1
        (loss * factor).backward()  # type: ignore[no-untyped-call]

    def loss(self, batch: Sequence[LabelledClip]) -> Loss:
        """The loss of one batch, ready for its gradient."""
        predicted = self.listener.scores(self.waves.take(batch))
        true = torch.tensor([clip.target(self.plan.target) for clip in batch])
        return training_loss(predicted, true.to(predicted.device), self.plan.reduction)

    def state(self) -> dict[str, Any]:
        """All that a run needs to go on beside the adapter; all processes ask together."""
        return {
            "place": {"step": self.step, "epoch": self.epoch, "taken": self.taken},
            "optimiser": distributed.gather_tensors(self.optimiser.state_dict()),
            "schedule": self.schedule.state_dict(),
            "rng": torch.get_rng_state(),
            "cuda_rng": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a checkpoint whose adapter is on the model already."""
        self.optimiser.load_state_dict(
            distributed.shard_optimiser_state(state["optimiser"], self.trained)
        )
        self.schedule.load_state_dict(state["schedule"])
        place = state["place"]
        self.step, self.epoch, self.taken = place["step"], place["epoch"], place["taken"]
        torch.set_rng_state(state["rng"])
        if state["cuda_rng"] and torch.cuda.is_available():
            torch.cuda.set_rng_state_all(state["cuda_rng"])


def train(
    dataset: Dataset,
    model: ModelPlan,
    plan: TrainingPlan,
    out: Path | str,
    device: str = "cpu",
    resume: bool = False,
    report: Report | None = None,
    stop_at: int | None = None,
    shard: bool = False,
) -> Path:
    """Train an adapter; returns the folder of the last checkpoint or, at the end, of the final one.

    ``resume`` goes on from the newest checkpoint in ``out`` with the same result as a run that was
    never stopped (on the same machine and device, in one process). Under torchrun each process
    takes its share of a step's batches; with ``shard`` it also holds its share of the model alone
    (see `distributed`). ``stop_at`` ends after that step. Raises CheckpointError when ``out`` holds
    another run, weights.Unavailable when the model is missing, ValueError where processes do not
    fit the plan.
    """
    place = Path(out)
    full_plan = description(dataset, model, plan)
    ranks = join_processes(device, plan.accumulate)
    before = checkpoints.last_state(place, full_plan) if resume else None
    if not resume and (checkpoints.list_checkpoints(place) or (place / checkpoints.FINAL).exists()):
        raise checkpoints.CheckpointError(f"{place} holds a run; go on with it, or choose another")
    among = distributed.accelerator(device, ranks) if shard else None
    listener = trainable(model, plan, ranks.device(device), before and before[0], shard)
    run = Run(listener, dataset.split(TRAIN), plan, ranks, among)
    if before is not None:
        run.restore(before[1])
    differ(ranks, plan.seed, run.step)
    if ranks.is_first:
        place.mkdir(parents=True, exist_ok=True)
        truncate_log(place / checkpoints.LOG, run.step)
    folder = before[0] if before else place
    while run.step < min(run.steps, stop_at or run.steps):
        line = run.advance()
        due = plan.evaluate_every and run.step % plan.evaluate_every == 0
        if due and (shard or ranks.is_first):  # layers of a sharded model are gathered by all
            line |= {"evaluation": evaluate_others(run, dataset, full_plan["trained_on"])}
        if ranks.is_first:  # it writes for all; the next step waits for it
            report_step(place, {**line, "steps": run.steps}, report)
        if run.step % plan.save_every == 0 or run.step in (run.steps, stop_at):
            folder = checkpoints.checkpoint_folder(place, run.step)
            save(folder, run, full_plan, run.state())
            if ranks.is_first:
                checkpoints.delete_old_checkpoints(place)
    run.waves.close()
    if run.step == run.steps:
        folder = save(place / checkpoints.FINAL, run, full_plan, None)
    ranks.leave_group()
    return folder


def save(folder: Path, run: Run, full_plan: dict[str, Any], state: dict[str, Any] | None) -> Path:
    """Write a checkpoint of a run: all processes gather what the first one writes."""
    adapter = distributed.gather_tensors(run.adapter())
    if run.ranks.is_first:
        checkpoints.save(folder, run.listener.model, full_plan, state, adapter)
    return folder


def differ(ranks: Ranks, seed: int, step: int) -> None:
    """Processes beside the first draw dropout of their own; they hold the same adapter."""
    if not ranks.is_first:
        torch.manual_seed(seed + 1_000_003 * ranks.rank + step)


def trainable(
    model: ModelPlan,
    plan: TrainingPlan,
    device: str,
    adapter: Path | None = None,
    on_cpu: bool = False,
) -> Listener:
    """The model with a fresh adapter, or a checkpoint's; the language model is in training mode."""
    listener = load_base(model, device, on_cpu)
    add_adapter(listener, plan.seed)
    if adapter is not None:
        from peft import set_peft_model_state_dict
        from safetensors.torch import load_file

        set_peft_model_state_dict(listener.model, load_file(adapter / checkpoints.ADAPTER))
    in_training(listener)
    if plan.gradient_checkpointing:
        listener.core.activation_checkpointing_enable()
    return listener


def in_training(listener: Listener) -> None:
    """Dropout for the language model; audio encoder and projector are as in prediction."""
    listener.model.train()
    for name, part in listener.model.named_modules():
        if name.rpartition(".")[2] in ("audio_tower", "multi_modal_projector"):
            part.eval()


def evaluate_others(run: Run, dataset: Dataset, trained_on: dict[str, Any]) -> dict[str, Any]:
    """How the model stands on every clip that it is not trained on; it learns nothing from them.

    Trap F1, distance of new voices, mean absolute error and Spearman over clips; None where one
    is undefined. Random state is not touched, so a run ends as one without evaluations does.
    """
    others = [clip for clip in dataset.clips if clip.split != TRAIN]
    run.listener.model.eval()
    try:
        clip_predictions = predictions(
            others, lambda w: score_waves(run.listener, w), run.listener.rate_hz, trained_on
        )
    finally:
        in_training(run.listener)
    result = evaluate(dataset, clip_predictions)
    new = next(each for each in result.rankings if each.voices_are == "new")
    return {
        "clips": result.clips.clips,
        "trap_f1": result.traps.f1,
        "distance_of_new_voices": new.distance,
        "mean_absolute_error": result.clips.mean_absolute_error,
        "spearman": result.clips.spearman,
    }


def description(dataset: Dataset, model: ModelPlan, plan: TrainingPlan) -> dict[str, Any]:
    """What a checkpoint says of itself; model, training and dataset must agree to go on."""
    return {
        "model": checkpoints.plan_as_json(model),
        "training": asdict(plan),
        "dataset": {"fingerprint": dataset.fingerprint()},
        "trained_on": training_facts(dataset.split(TRAIN)),
        "packages": {name: version(name) for name in PACKAGES},
    }


def report_step(place: Path, line: dict[str, Any], report: Report | None) -> None:
    """Log a step, and report it with the number of all."""
    write_line(place / checkpoints.LOG, {k: v for k, v in line.items() if k != "steps"})
    if report:
        report(line)


def truncate_log(path: Path, step: int) -> None:
    """Keep a log's lines up to a step; what came after the checkpoint is done again."""
    if path.exists():
        lines = path.read_text(encoding="utf-8").splitlines()
        whole = [line for line in lines if line.endswith("}")]
        earlier = [line for line in whole if json.loads(line)["step"] <= step]
        path.write_text("".join(f"{line}\n" for line in earlier), encoding="utf-8")


def write_line(path: Path, line: dict[str, Any]) -> None:
    """Add one line of JSON."""
    with path.open("a", encoding="utf-8") as log:
        log.write(json.dumps(line, ensure_ascii=False) + "\n")


def rate_share(step: int, warmup: int, steps: int) -> float:
    """Share of the full rate at a step counted from 0: in (0, 1], 1 at the end of the warm-up.

    Warm-up: (step + 1) / warmup, so that the first step learns, too. Then half a cosine over the
    steps that are left, which ends just above 0 at the last one (Loshchilov and Hutter 2017).
    """
    if step < warmup:
        return (step + 1) / warmup
    left = max(1, steps - warmup)
    return 0.5 * (1 + math.cos(math.pi * min(1.0, (step - warmup) / left)))


READERS = 4


class WavesAhead:
    """Waves by clip; of what was announced, nothing is read twice, and taken waves are let go."""

    def __init__(self, rate_hz: int) -> None:
        self.rate_hz = rate_hz
        self._pool = ThreadPoolExecutor(READERS, "waves")
        self._coming: dict[str, Future[torch.Tensor]] = {}

    def announce(self, batches: Iterable[Sequence[LabelledClip]]) -> None:
        """Begin to read these batches; clips that are being read already are not read again."""
        for batch in batches:
            for clip in batch:
                if clip.path not in self._coming:
                    self._coming[clip.path] = self._pool.submit(self._read, clip.path)

    def take(self, batch: Sequence[LabelledClip]) -> list[torch.Tensor]:
        """The batch's waves, (samples,) each, in order; an AudioError when one cannot be read."""
        self.announce([batch])
        return [self._coming.pop(clip.path).result() for clip in batch]

    def close(self) -> None:
        """Let go of threads and of what nobody took."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._coming.clear()

    def _read(self, path: str) -> torch.Tensor:
        return torch.from_numpy(decoding.load_wave(path, self.rate_hz))
