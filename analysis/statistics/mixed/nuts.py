"""The general mixed model by NUTS: ordinal or Gaussian, with every effect the design allows.

score or logit = beta[cell] + sum of sd_k z_k[level], non-centred (Papaspiliopoulos, Roberts and
Skoeld 2007, Statistical Science 22(1)). The sampler is nutpie, or PyMC's own where that is absent.
PyMC, ArviZ and nutpie are imported only when something is sampled.
"""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from analysis.statistics.mixed import linear_model
from analysis.statistics.mixed.convergence import Diagnostics, diagnose
from analysis.statistics.mixed.gaussian import GaussianPrior
from analysis.statistics.mixed.heteroscedastic import SPREAD_SD, rounding, spread_prior_text
from analysis.statistics.mixed.ordinal_fit import OrdinalPrior, expected_scores
from analysis.statistics.mixed.posterior import Posterior
from analysis.statistics.mixed.sufficient_statistics import Codes, Floats, floats

SD_NAMES = {
    linear_model.RATER: "sd_rater",
    linear_model.RATER_CONDITION: "sd_rater_condition",
    linear_model.ITEM: "sd_item",
    linear_model.STIMULUS: "sd_stimulus",
}
RESIDUAL = "sd_residual"
OTHER_SD = 1.0  # half-normal scale of text and stimulus effects, logits
_LOOK_S = 1.0
TIMES = (1, 4, 16)  # the draws that were asked for, taken until they suffice
TARGETS = (0.9, 0.98, 0.995)  # wanted acceptance: the next one, of smaller steps, if some diverged
_EXPECTED = (  # of PyTensor where it finds no BLAS or no compiler that it knows: slower, not wrong
    "PyTensor could not link to a BLAS installation",
    "PyTensor was not able to find the g\\+\\+ parameters",
    "`pytensor.config.cxx` is not an identifiable `g\\+\\+` compiler",
    "Pytensor cxx failed to communicate its search dirs",
)

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Sampling:
    """How many chains, draws a chain, steps of warming up; the seed; the wanted acceptance."""

    chains: int = 4
    draws: int = 1000
    tune: int = 1000
    seed: int = 0
    target: float = TARGETS[0]


@dataclass(frozen=True)
class SampledPosterior:
    """The posterior, and the name and version of the sampler that drew it."""

    posterior: Posterior
    sampler: str


def general_ordinal(
    label: Codes,
    cell: Codes,
    effects: Mapping[str, Codes],
    scores: Floats,
    sampling: Sampling,
    report_progress: Progress,
) -> SampledPosterior:
    """Draws of the cumulative logit model of labels (n,) from 0 in cells (n,).

    ``effects`` are codes (n,) by the names of `SD_NAMES`, ``scores`` (K,) those of the labels. Also
    drawn is ``score`` (chains, draws, C): each cell's mean score for raters, texts and clips drawn
    anew. ``report_progress`` hears what is being done; what it raises stops the sampler.
    """
    prior = OrdinalPrior()
    names = ["condition", *(SD_NAMES[name] for name in effects)]
    names += ["cut"] if len(scores) > 2 else []

    def more(draws: dict[str, Floats]) -> dict[str, Floats]:
        spread = sum((draws[SD_NAMES[name]] ** 2 for name in effects), np.zeros(1))
        return draws | {"score": _scores(draws, np.sqrt(spread), scores)}

    with _quiet():
        model = _ordinal_model(label, cell, effects, len(scores), prior)
        draws, diagnostics, sampler = _sample_until_trusted(
            model, names, sampling, report_progress, more
        )
    text = f"{prior}, of text and of stimulus ~ HalfNormal({OTHER_SD:g})"
    return SampledPosterior(Posterior(draws, diagnostics, text, len(label)), sampler)


def general_gaussian(
    y: Floats,
    cell: Codes,
    effects: Mapping[str, Codes],
    prior: GaussianPrior,
    sampling: Sampling,
    report_progress: Progress,
    condition: Codes | None = None,
) -> SampledPosterior:
    """As `general_ordinal`, of scores (n,) with normal errors: the means are ``condition``.

    Given codes ``condition`` (n,), every condition has a ``spread`` of its own, see `spreads`.
    """
    names = ["condition", *(SD_NAMES[name] for name in effects), RESIDUAL]
    names += [] if condition is None else ["spread"]
    with _quiet():
        model = _gaussian_model(y, cell, effects, prior, condition)
        draws, diagnostics, sampler = _sample_until_trusted(
            model, names, sampling, report_progress, dict
        )
    text = str(prior).replace("SDs of rater, rater by condition, residual", "SDs")
    text += "" if condition is None else f"; {spread_prior_text(int(condition.max()) + 1)}"
    return SampledPosterior(Posterior(draws, diagnostics, text, len(y)), sampler)


def _ordinal_model(
    label: Codes, cell: Codes, effects: Mapping[str, Codes], n_labels: int, prior: OrdinalPrior
) -> Any:
    """log P(k) = log expit(c_k - x) + log expit(x - c_(k-1)) + log(1 - exp(c_(k-1) - c_k))."""
    pm, pt = load("pymc"), load("pytensor.tensor")
    rows, count = _counted(label, cell, *effects.values())
    label, cell, codes = rows[0], rows[1], dict(zip(effects, rows[2:], strict=True))
    scales = {
        linear_model.RATER: prior.sd_rater,
        linear_model.RATER_CONDITION: prior.sd_rater_condition,
    }
    with pm.Model() as model:
        eta = pm.Normal("condition", 0.0, prior.beta, shape=int(cell.max()) + 1)[cell]
        eta += _effects(codes, {name: scales.get(name, OTHER_SD) for name in codes})
        cut: Any = pt.zeros(1)
        inner: Any = 0.0
        if n_labels > 2:
            gaps = pm.HalfNormal("gaps", prior.gap, shape=n_labels - 2)
            steps = pt.concatenate([pt.zeros(1), pt.cumsum(gaps)])
            cut = pm.Deterministic("cut", steps - steps.mean())
            middle = (label > 0) & (label < n_labels - 1)
            inner = (pt.log(-pt.expm1(-gaps))[label[middle] - 1] * count[middle]).sum()
        low, high = label > 0, label < n_labels - 1
        below = pt.softplus(eta[high] - cut[label[high]]) * count[high]
        above = pt.softplus(cut[label[low] - 1] - eta[low]) * count[low]
        pm.Potential("labels", inner - below.sum() - above.sum())
    return model


def _gaussian_model(
    y: Floats,
    cell: Codes,
    effects: Mapping[str, Codes],
    prior: GaussianPrior,
    condition: Codes | None,
) -> Any:
    pm, pt = load("pymc"), load("pytensor.tensor")

    with pm.Model() as model:
        size = int(cell.max()) + 1
        if prior.ends is None:
            mean = pm.Normal("condition", prior.mean, prior.sd, shape=size)
        else:
            low, high = prior.ends
            mean = pm.TruncatedNormal(
                "condition", prior.mean, prior.sd, lower=low, upper=high, shape=size
            )
        own = _effects(effects, dict.fromkeys(effects, prior.sd_scale))
        residual = pm.HalfNormal(RESIDUAL, prior.sd_scale)
        if condition is not None:
            logs = pm.ZeroSumNormal("log_spread", SPREAD_SD, shape=int(condition.max()) + 1)
            spread = pm.Deterministic("spread", pt.exp(logs))[condition]
            own, residual = spread * own, pt.sqrt((spread * residual) ** 2 + rounding(y) ** 2)
        pm.Normal("scores", mean[cell] + own, residual, observed=y)
    return model


def _effects(effects: Mapping[str, Codes], scales: Mapping[str, float]) -> Any:
    pm = load("pymc")

    total: Any = 0.0
    for name, codes in effects.items():
        sd = pm.HalfNormal(SD_NAMES[name], scales[name])
        z = pm.Normal(f"z_{SD_NAMES[name]}", shape=int(codes.max()) + 1)
        total = total + (sd * z)[codes]
    return total


def _counted(*codes: Codes) -> tuple[list[Codes], Floats]:
    """Rows that are alike once, and how often each occurs."""
    rows, count = np.unique(np.column_stack(codes), axis=0, return_counts=True)
    return [rows[:, i] for i in range(rows.shape[1])], count.astype(np.float64)


def _sample_until_trusted(
    model: Any,
    names: Sequence[str],
    sampling: Sampling,
    report_progress: Progress,
    more: Callable[[dict[str, Floats]], dict[str, Floats]],
) -> tuple[dict[str, Floats], Diagnostics, str]:
    """Draws and what ``more`` makes of them; taken longer, and thinned, until they suffice."""
    report_progress("compiling the model, up to a minute")
    sample = _sampler(model, names)
    times, target = TIMES[0], TARGETS[0]
    while True:
        taken = replace(sampling, draws=sampling.draws * times, target=target)
        data, sampler = sample(taken, report_progress)
        thinned = {name: floats(data.posterior[name].values) for name in names}
        draws = more({name: values[:, times - 1 :: times] for name, values in thinned.items()})
        diagnostics = replace(_diagnostics(data, draws), taken=taken.draws, thin=times)
        ahead = _another(diagnostics, times, target)
        if ahead is None:
            return draws, diagnostics, sampler
        times, target = ahead


def _another(diagnostics: Diagnostics, times: int, target: float) -> tuple[int, float] | None:
    """How to sample again, longer or with smaller steps; None for enough, or nothing left to try.

    More draws do not cure what diverged, and smaller steps are not what few draws lack.
    """
    if diagnostics.refusal is None:
        return None
    if diagnostics.divergences:
        smaller = [each for each in TARGETS if each > target]
        return (times, smaller[0]) if smaller else None
    longer = [each for each in TIMES if each > times]
    return (longer[0], target) if longer else None


def _sampler(model: Any, names: Sequence[str]) -> Callable[[Sampling, Progress], tuple[Any, str]]:
    try:
        nutpie = load("nutpie")
    except ImportError:
        return partial(_by_pymc, model, names)
    return partial(_by_nutpie, nutpie.compile_pymc_model(model, var_names=list(names)))


def _by_nutpie(compiled: Any, sampling: Sampling, report_progress: Progress) -> tuple[Any, str]:
    nutpie = load("nutpie")
    sampler = nutpie.sample(
        compiled,
        draws=sampling.draws,
        tune=sampling.tune,
        chains=sampling.chains,
        seed=sampling.seed,
        target_accept=sampling.target,
        save_warmup=False,
        progress_bar=False,
        blocking=False,
    )
    started = time.monotonic()
    while True:
        try:
            return sampler.wait(timeout=_LOOK_S), f"nutpie {nutpie.__version__}"
        except TimeoutError:
            try:
                report_progress(f"sampling, {time.monotonic() - started:.0f} s so far")
            except BaseException:
                sampler.cancel()
                raise


def _by_pymc(
    model: Any, names: Sequence[str], sampling: Sampling, report_progress: Progress
) -> tuple[Any, str]:
    pm = load("pymc")

    each = max(1, (sampling.draws + sampling.tune) // 20)

    def step(trace: Any, draw: Any) -> None:
        if draw.draw_idx % each == 0:
            report_progress(f"sampling, chain {draw.chain + 1}, step {draw.draw_idx}")

    with model:
        data = pm.sample(
            draws=sampling.draws,
            tune=sampling.tune,
            chains=sampling.chains,
            cores=1,
            random_seed=sampling.seed,
            target_accept=sampling.target,
            var_names=list(names),
            progressbar=False,
            compute_convergence_checks=False,
            callback=step,
        )
    return data, f"PyMC {pm.__version__} NUTS"


def _scores(draws: Mapping[str, Floats], sd: Floats, scores: Floats) -> Floats:
    beta = draws["condition"]
    shape = beta.shape[:2]
    cut = draws.get("cut", np.zeros((*shape, 1)))
    flat = expected_scores(
        beta.reshape(-1, beta.shape[2]),
        cut.reshape(-1, cut.shape[2]),
        np.broadcast_to(sd, shape).reshape(-1),
        scores,
    )
    return flat.reshape(*shape, -1)


def _diagnostics(data: Any, draws: Mapping[str, Floats]) -> Diagnostics:
    """R-hat and effective sample sizes, divergences and the lowest BFMI (by ArviZ)."""
    return replace(
        diagnose(draws),
        divergences=int(data.sample_stats["diverging"].sum()),
        bfmi=float(np.min(load("arviz").bfmi(data))) if "energy" in data.sample_stats else None,
    )


@contextmanager
def _quiet() -> Iterator[None]:
    """Without what PyTensor says of this machine; every other warning is let through."""
    with warnings.catch_warnings():
        for message in _EXPECTED:
            warnings.filterwarnings("ignore", message=message, category=UserWarning)
        yield


_NEXT_EDITION = r"\s*ArviZ is undergoing a major refactor"


def load(name: str) -> Any:
    """The module ``name``, e.g. ``"arviz"`` or ``"pymc"``; ImportError where it is missing.

    ArviZ 0.23 warns of its next edition at its first import of a day; PyMC 5 needs this one.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=_NEXT_EDITION, category=FutureWarning)
        return import_module(name)


BY_CONDITION = frozenset({"condition", "score", "spread"})


def inference_data(
    posterior: Posterior,
    conditions: Sequence[str],
    *,
    labels: Floats | None = None,
    attributes: Mapping[str, str] | None = None,
) -> Any:
    """An `arviz.InferenceData` with the group ``posterior``, named and without time stamps.

    ``conditions`` names the means; ``labels`` (K,) are the scores that the K - 1 cut points lie
    between. ``attributes`` are stored, beside the prior. ArviZ is imported here.
    """
    arviz = load("arviz")
    coords: dict[str, Any] = {"condition_name": list(conditions)}
    dims = {name: ["condition_name"] for name in BY_CONDITION if name in posterior.draws}
    if "cut" in posterior.draws and labels is not None:
        pairs = zip(labels[:-1].tolist(), labels[1:].tolist(), strict=True)
        coords["between"] = [f"{low:g} and {high:g}" for low, high in pairs]
        dims["cut"] = ["between"]
    draws = {name: np.asarray(values) for name, values in posterior.draws.items()}
    data = arviz.from_dict(posterior=draws, coords=coords, dims=dims)
    data.posterior.attrs = {"prior": posterior.prior, "ratings": posterior.n, **(attributes or {})}
    data.attrs = {}
    return data


def netcdf(data: Any) -> bytes:
    """An InferenceData as a netCDF file (HDF5): the same draws give the same bytes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "draws.nc"
        data.to_netcdf(str(path), engine="h5netcdf")
        return path.read_bytes()
