"""Draws as files, the mixed-model interval, and the general model by MCMC against its reference."""

import io
import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from analysis.report.draws_file import draws_of, with_draws, write_draws
from analysis.report.part import Cancelled, PartInput
from analysis.report.parts.general_model import GeneralGaussian, GeneralModel
from analysis.report.pipeline import plain_of
from analysis.statistics.estimators.mean_score import MeanScore
from analysis.statistics.mixed import nuts
from analysis.statistics.mixed.convergence import Diagnostics
from analysis.statistics.mixed.family_model import model_effects, modelled, ordinal_draws
from analysis.statistics.mixed.gaussian import GaussianPrior
from analysis.statistics.mixed.linear_model import QUICK, affordable, effects_of, work
from analysis.statistics.mixed.nuts import Sampling, general_gaussian
from analysis.statistics.mixed.ordinal_fit import OrdinalPrior, log_probabilities
from analysis.statistics.mixed.table_model import allowed_effects
from analysis.statistics.options import Options, OptionsError, command_line, options_from
from analysis.statistics.screening.screened import DEFAULT, screen
from tests.analysis.mixed_data import mos, posterior_reference, simulated
from tests.analysis.reference import edge, expected, heard_on_headphones, rows_of
from tests.analysis.shown_by import in_keys

TITLE = "MOS · mos"


def given(table, progress=lambda share, words: None, **options):
    screened = screen(table, DEFAULT)
    return PartInput(screened.kept(DEFAULT), screened, Options(**options), progress=progress)


def small():
    """Twelve raters, three conditions, six texts, one clip each: quick for MCMC."""
    rng = np.random.default_rng(5)
    lean, texts = rng.normal(0, 0.8, 12), rng.normal(0, 0.3, 6)
    return rows_of(
        {
            (c, f"r{r:02}", f"i{i}"): float(
                np.clip(np.rint(3 + place + lean[r] + texts[i] + rng.normal(0, 0.8)), 1, 5)
            )
            for place, c in zip((0.8, 0.0, -0.8), "ABC", strict=True)
            for r in range(12)
            for i in range(6)
        }
    )


@pytest.mark.slow
def test_the_draws_file_holds_what_the_part_ranked(tmp_path):
    arviz = pytest.importorskip("arviz")
    few, options = edge("disjoint_raters"), Options()
    assert with_draws(few, options, "models") == [TITLE]
    held = draws_of(few, options, "models", TITLE)
    found = _opened(arviz, held)
    assert found.posterior["condition"].sizes == {"chain": 4, "draw": 1000, "condition_name": 2}
    assert list(found.posterior["condition_name"].values) == ["A", "B"]
    mean = float(found.posterior["condition"].sel(condition_name="B").mean())
    from analysis.report.parts.models import Models

    shown = in_keys(Models().make(given(few)))
    (rows,) = [t.rows for t in shown.tables if t.key == "models-1-means"]
    assert rows[0]["condition"] == "B"
    assert rows[0]["bayes"] == pytest.approx(mean, rel=1e-12)
    assert found.posterior.attrs["family"] == TITLE
    told = {"key": "models", "problem": "", **shown.plain()}
    report = {"parts": [told, {"key": "ordinal", "problem": "no", "tables": []}]}
    (path,) = write_draws(few.copy(), options, report, tmp_path)
    assert path.name == "draws-models-1.nc"
    assert path.read_bytes() == held


@pytest.mark.slow
def test_ordinal_draws_name_their_thresholds():
    arviz = pytest.importorskip("arviz")
    found = _opened(arviz, draws_of(edge("disjoint_raters"), Options(), "ordinal", TITLE))
    labels = [str(name) for name in found.posterior["between"].values]
    assert labels[0] == "2.5 and 3"
    assert len(labels) == found.posterior["cut"].sizes["between"]


def _opened(arviz, held):
    return arviz.InferenceData.from_netcdf(io.BytesIO(held), engine="h5netcdf")


def test_draws_that_are_not_there_are_refused_with_what_is():
    few = edge("disjoint_raters")
    with pytest.raises(ValueError, match="choose MOS · mos"):
        draws_of(few, Options(), "models", "nothing")
    with pytest.raises(ValueError, match="keeps no draws; choose models"):
        draws_of(few, Options(), "pairs", TITLE)


@pytest.mark.slow
def test_in_a_balanced_design_the_mixed_interval_is_the_models():
    y, rater, condition = simulated(
        np.random.default_rng(1),
        raters=15,
        conditions=3,
        repeats=4,
        means=[1, 2, 3],
        sd_rater=0.5,
        sd_both=0.3,
        sd=1.0,
    )
    scores = {
        (f"c{c}", f"r{r:02}", f"i{k % 4}"): s
        for k, (s, r, c) in enumerate(zip(y, rater, condition, strict=True))
    }
    table = rows_of(scores)
    (each,) = modelled(table)
    from analysis.statistics.mixed.linear_model import QUICK
    from analysis.statistics.mixed.model_contrasts import means, pairs
    from analysis.statistics.mixed.table_model import reml_of

    fit = reml_of(each.arrays, model_effects(each, QUICK))
    made, differences = means(fit), pairs(fit)
    maker = MeanScore(intervals=("two_way", "mixed"))
    found = [e for e in maker.fit(table) if e.interval.startswith("mixed model (")]
    assert len(found) == 6  # by ratings and by raters, here the same
    for i, estimate in enumerate(e for e in found if e.weighting == "ratings"):
        assert estimate.value == pytest.approx(made.value[i])
        assert estimate.low == pytest.approx(made.low[i], rel=1e-6)
    contrasts = [c for c in maker.contrasts(table) if c.interval.startswith("mixed")][:3]
    assert [c.p for c in contrasts] == pytest.approx(differences.p.tolist(), rel=1e-5)


@pytest.mark.slow
def test_a_mixed_interval_stands_beside_the_others_and_says_why_it_cannot():
    names = {e.interval.split(" (")[0] for e in MeanScore(intervals=("mixed",)).fit(small())}
    assert names == {"mixed model", "naive t over ratings, as if independent"} | (
        names & {"naive t over rater means, items as if fixed"}
    )
    notes = [e.note for e in MeanScore(intervals=("mixed",)).fit(edge("all_equal"))]
    assert any("no variation to model" in note for note in notes)
    r = expected("mos_s2")["lmm_isolation"]["emmeans"][0]
    (a, *_) = [
        e
        for e in MeanScore(intervals=("mixed",)).fit(heard_on_headphones("mos_s2"))
        if e.interval.startswith("mixed")
    ]
    wide = (r["upper.CL"] - r["lower.CL"]) / (a.high - a.low)
    assert 0.85 < wide <= 1.0  # weighted by the model a mean is at its best


@pytest.mark.slow
def test_effects_that_cost_too_much_are_left_out_with_a_reason():
    y = mos("mos_s1")
    codes = [y.codes(*x) for x in (("rater",), ("system",), ("text",), ("stimulus",))]
    effects = effects_of(*codes)
    assert set(effects.codes) == {"rater", "rater:condition", "item", "stimulus"}
    assert affordable(effects, codes[1]).notes == ()
    fewer = affordable(effects, codes[1], work(effects, codes[1]) / 2)
    assert list(fewer.codes) == ["rater", "rater:condition", "item"]
    assert fewer.notes == ("stimulus was left out: this design is too large for a quick fit",)
    assert work(effects.without("item", "stimulus", why=""), codes[1]) == 0 < QUICK


def test_texts_of_one_rater_each_are_not_told_from_the_raters():
    rater, condition, again = (codes.ravel() for codes in np.indices((6, 2, 3)))
    effects = effects_of(rater, condition, rater, 2 * rater + condition)
    assert set(effects.codes) == {"rater", "rater:condition"}
    assert effects.left_out["item"] == "it is the same as rater"
    assert effects.left_out["stimulus"] == "it is the same as rater:condition"
    once = effects_of(rater[::3], condition[::3], rater[::3], (2 * rater + condition)[::3])
    assert once.left_out["rater:condition"].startswith("no rater rated a condition twice")
    shared = effects_of(rater, condition, again, 2 * again + condition)
    assert set(shared.codes) == {"rater", "rater:condition", "item", "stimulus"}


@pytest.mark.slow
def test_chains_and_draws_are_options_that_go_round():
    options = Options(chains=2, draws=500, intervals=("two_way", "mixed"))
    assert options_from(options.parameters()) == options
    assert "--chains 2 --draws 500" in command_line(options)
    assert "--chains" not in command_line(Options())
    with pytest.raises(OptionsError, match="2 to 16 chains of 250"):
        Options(draws=10)
    (each,) = modelled(edge("disjoint_raters"))
    found = ordinal_draws(each, options)  # 500 do not suffice here, and are doubled
    taken = found.diagnostics.taken
    assert taken in (1000, 2000, 4000)
    assert found.draws["score"].shape == (2, min(taken, 2000), 2)


@pytest.mark.parametrize(
    ("bad", "said"),
    [({"divergences": 3}, "3 transitions of the sampler diverged"), ({"bfmi": 0.1}, "BFMI 0.10")],
)
def test_bad_transitions_are_refused_however_good_the_rest(bad, said):
    good = {"r_hat": {"a": 1.0}, "ess_bulk": {"a": 900.0}, "ess_tail": {"a": 900.0}}
    assert Diagnostics(**good, divergences=0, bfmi=0.9).refusal is None
    assert said in str(Diagnostics(**good, **bad).refusal)


@pytest.mark.soak
def test_the_general_model_is_the_reference_of_mos_s2():
    pytest.importorskip("nutpie")
    reference = posterior_reference("mos_s2")["ordinal"]
    told = []
    made = in_keys(
        GeneralModel().make(
            given(heard_on_headphones("mos_s2"), lambda share, words: told.append(words))
        )
    )
    assert any("sampling" in words for words in told)
    (means, varies) = (
        {next(iter(row.values())): row for row in t.rows}
        for t in made.tables
        if t.key in ("general_model-1-means", "general_model-1-variation")
    )
    for name, known in reference["system"].items():
        assert means[name]["logit"] == pytest.approx(known["mean"], abs=0.2 * known["sd"])
        assert means[name]["logit_sd"] == pytest.approx(known["sd"], rel=0.15)
        assert means[name]["p_best"] == pytest.approx(reference["p_best"][name], abs=0.04)
    for words, key in (
        ("rater", "rater"),
        ("rater × condition", "rs"),
        ("item (text)", "text"),
        ("stimulus (clip)", "stim"),
    ):
        known = reference["sd"][key]
        assert varies[words]["sd"] == pytest.approx(known["mean"], abs=0.2 * known["sd"])
    assert "A is the best with a probability of 9" in made.sentences[0]
    json.dumps(plain_of(made.plain()), allow_nan=False)


@pytest.fixture(scope="module")
def once_compiled():
    """Models of the same names are sampled by the program of the first: compiling is slow."""
    nutpie, numba = pytest.importorskip("nutpie"), pytest.importorskip("numba")
    compile_it, programs = nutpie.compile_pymc_model, {}

    def once(model, var_names):
        key = tuple(var_names)
        if key not in programs:
            programs[key] = compile_it(model, var_names=var_names)
        return programs[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numba.config, "OPT", 3)  # compiled as fast, and sampled in a thirtieth
        patch.setattr(nutpie, "compile_pymc_model", once)
        patch.setattr(nuts, "TIMES", (1, 4))
        patch.setattr(nuts, "TARGETS", nuts.TARGETS[:1])
        yield


def without_texts():
    """As `small`, but no two ratings are of one text: the effects are those of raters alone."""
    table = small()
    table["item"] = [f"{r}-{c}-{i}" for r, c, i in zip(*table_columns(table), strict=True)]
    return table.assign(stimulus=table["item"])


def table_columns(table):
    return (table[name].astype(str) for name in ("rater", "condition", "item"))


@pytest.mark.slow
def test_the_density_of_the_general_model_is_that_of_its_labels_and_priors():
    """What NUTS samples, not compiled: the sampler itself is run in `make soak`."""
    pytest.importorskip("pymc")
    (each,) = modelled(small())
    arrays = each.arrays
    label = np.unique(arrays.y, return_inverse=True)[1]
    codes = allowed_effects(arrays).codes
    assert set(codes) == {"rater", "rater:condition", "item", "stimulus"}
    with nuts._quiet():
        mode = nuts.load("pytensor.compile.mode").Mode(linker="py", optimizer=None)
        model = nuts._ordinal_model(label, arrays.cell, codes, 5, OrdinalPrior())
        density = model.compile_logp(mode=mode)
        found, exact = [], []
        for seed in (0, 1):
            rng = np.random.default_rng(seed)
            at = {name: rng.normal(0, 0.7, x.shape) for name, x in model.initial_point().items()}
            found.append(float(density(at)))
            beta, gaps = at["condition"], np.exp(at["gaps_log__"])
            cut = np.concatenate([[0], np.cumsum(gaps)])
            eta, total = beta[arrays.cell], stats.norm(0, 2.5).logpdf(beta).sum()
            total += _half_normal(at["gaps_log__"], 2.0)
            scales = {"rater": 2.0, "rater:condition": 1.0, "item": 1.0, "stimulus": 1.0}
            for name, sd in scales.items():
                own = nuts.SD_NAMES[name]
                z = at[f"z_{own}"]
                eta = eta + np.exp(at[f"{own}_log__"]) * z[codes[name]]
                total += _half_normal(at[f"{own}_log__"], sd) + stats.norm().logpdf(z).sum()
            logs = log_probabilities(eta, cut - cut.mean())
            exact.append(total + logs[label, np.arange(len(label))].sum())
    assert found == pytest.approx(exact, rel=1e-9)


def _half_normal(logs, scale):
    """The log-density of what is half-normal, in its logarithms."""
    return (stats.halfnorm(scale=scale).logpdf(np.exp(logs)) + logs).sum()


@pytest.mark.soak
@pytest.mark.usefixtures("once_compiled")
def test_the_general_model_of_raters_alone_is_the_exact_posterior():
    """Two samplers and two likelihoods: NUTS given all effects, and draws with effects summed."""
    table, told = without_texts(), []
    part = GeneralModel()
    made = in_keys(part.make(given(table, lambda share, words: told.append(words))))
    assert any("compiling" in words for words in told)
    (means, varies) = (
        {next(iter(row.values())): row for row in t.rows}
        for t in made.tables
        if t.key in ("general_model-1-means", "general_model-1-variation")
    )
    assert set(varies) == {"rater", "rater × condition"}
    (each,) = modelled(table)
    exact = ordinal_draws(each, Options()).summaries()
    for i, name in enumerate("ABC"):
        mean, sd = exact["condition"].mean[i], exact["condition"].sd[i]
        assert means[name]["logit"] == pytest.approx(mean, abs=0.2 * sd)
        assert means[name]["logit_sd"] == pytest.approx(sd, rel=0.15)
    for words, key in (("rater", "sd_rater"), ("rater × condition", "sd_rater_condition")):
        mean, sd = exact[key].mean[0], exact[key].sd[0]
        assert varies[words]["sd"] == pytest.approx(mean, abs=0.2 * sd)
    assert "A is the best with a probability of" in made.sentences[0]
    json.dumps(plain_of(made.plain()), allow_nan=False)


@pytest.mark.slow
def test_the_general_model_is_shown_as_it_was_sampled(monkeypatch):
    """Draws of the exact posterior stand for those of NUTS."""
    arviz = pytest.importorskip("arviz")
    table, told = without_texts(), []
    (each,) = modelled(table)
    exact = ordinal_draws(each, Options())

    def sampler(model, names):
        def sample(sampling, report_progress):
            report_progress("sampling")
            draws = {name: exact.draws[name] for name in names}
            diverging = {"diverging": np.zeros(draws["condition"].shape[:2], dtype=bool)}
            return arviz.from_dict(posterior=draws, sample_stats=diverging), "a sampler"

        return sample

    monkeypatch.setattr(nuts, "_sampler", sampler)
    made = in_keys(GeneralModel().make(given(table, lambda share, words: told.append(words))))
    assert any("compiling" in words for words in told)
    assert any("sampling" in words for words in told)
    (means, varies) = (
        {next(iter(row.values())): row for row in t.rows}
        for t in made.tables
        if t.key in ("general_model-1-means", "general_model-1-variation")
    )
    said = exact.summaries()
    for i, name in enumerate("ABC"):
        assert means[name]["logit"] == pytest.approx(said["condition"].mean[i])
        assert means[name]["mean"] == pytest.approx(said["score"].mean[i])
    assert varies["rater"]["sd"] == pytest.approx(said["sd_rater"].mean[0])
    assert varies["rater × condition"]["sd"] == pytest.approx(said["sd_rater_condition"].mean[0])
    assert "A is the best with a probability of" in made.sentences[0]
    json.dumps(plain_of(made.plain()), allow_nan=False)


def test_what_stops_the_report_stops_nutpie(monkeypatch):
    class Running:
        cancelled = False

        def wait(self, timeout):
            raise TimeoutError

        def cancel(self):
            self.cancelled = True

    running = Running()
    nutpie = SimpleNamespace(sample=lambda *compiled, **sampling: running, __version__="0")
    monkeypatch.setitem(sys.modules, "nutpie", nutpie)

    def stop(words):
        raise Cancelled

    with pytest.raises(Cancelled):
        nuts._by_nutpie(None, Sampling(), stop)
    assert running.cancelled


@pytest.mark.soak
@pytest.mark.usefixtures("once_compiled")
def test_a_cancelled_run_stops_the_sampler():
    def stop(share, words):
        if "sampling" in words:
            raise Cancelled

    with pytest.raises(Cancelled):
        in_keys(GeneralModel().make(given(without_texts(), stop, chains=16, draws=20_000)))


@pytest.mark.soak
@pytest.mark.usefixtures("once_compiled")
def test_numbers_are_sampled_alike_by_the_general_gaussian_model():
    table = without_texts()
    made = in_keys(GeneralGaussian().make(given(table)))
    (rows,) = [t.rows for t in made.tables if t.key == "general_gaussian-1-means"]
    from analysis.statistics.mixed.linear_model import QUICK
    from analysis.statistics.mixed.model_contrasts import means
    from analysis.statistics.mixed.table_model import reml_of

    (each,) = modelled(table)
    exact = means(reml_of(each.arrays, model_effects(each, QUICK)))
    assert [row["condition"] for row in rows] == ["A", "B", "C"]
    for row, value, se in zip(rows, exact.value, exact.se, strict=True):
        assert row["mean"] == pytest.approx(value, abs=0.3 * se)
        assert row["mean_sd"] == pytest.approx(se, rel=0.3)
    again = in_keys(GeneralGaussian().make(given(table)))
    assert plain_of(again.plain()) == plain_of(made.plain())


@pytest.mark.soak
def test_without_nutpie_pymcs_own_sampler_takes_over(monkeypatch):
    pytest.importorskip("pymc")
    monkeypatch.setitem(sys.modules, "nutpie", None)
    monkeypatch.setattr(nuts, "TIMES", (1, 4))
    monkeypatch.setattr(nuts, "TARGETS", nuts.TARGETS[:1])
    (each,) = modelled(small())
    effects = allowed_effects(each.arrays)
    prior = GaussianPrior(3, 2, 2)
    sampling = Sampling(chains=2, draws=60, tune=100)
    found = general_gaussian(
        each.arrays.y, each.arrays.cell, effects.codes, prior, sampling, lambda words: None
    )
    assert found.sampler.startswith("PyMC")
    assert found.posterior.draws["condition"].shape == (2, 60, 3)
    assert found.posterior.diagnostics.divergences is not None


@pytest.mark.medium
def test_one_rater_or_one_answer_has_no_general_model():
    for name, said in (("one_rater", "there is one rater"), ("all_equal", "are the same")):
        (warned,) = in_keys(GeneralModel().make(given(edge(name)))).warnings
        assert said in warned
