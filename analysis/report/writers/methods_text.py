"""A methods paragraph in words: what was rated, left out, estimated, and by which software."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analysis.formatting import counted, listed
from analysis.ratings.estimands import estimand_of
from analysis.report.report_schema import Report

_CLUSTERED = (
    "with {level} confidence intervals from a variance clustered by rater and by item "
    "(Cameron, Gelbach and Miller 2011; with G/(G-1) for each), on t quantiles with degrees of "
    "freedom after Satterthwaite (1946)"
)
_BOOTSTRAP = (
    "Percentile intervals from a bootstrap that draws raters and items independently "
    "(pigeonhole bootstrap, Owen 2007; {replicates} draws, seed {seed}) are given beside them."
)
_REFERENCES = {
    "two_way": "Cameron, A. C., Gelbach, J. B. and Miller, D. L. (2011). Robust inference with "
    "multiway clustering. Journal of Business and Economic Statistics 29(2), 238-249.",
    "bootstrap": "Owen, A. B. (2007). The pigeonhole bootstrap. Annals of Applied Statistics 1(2), "
    "386-411.",
    "family": "Hothorn, T., Bretz, F. and Westfall, P. (2008). Simultaneous inference in general "
    "parametric models. Biometrical Journal 50(3), 346-363.",
}
_NAMED = {"pymc": "PyMC", "arviz": "ArviZ", "nutpie": "nutpie", "matplotlib": "Matplotlib"}


def methods_text(report: Report) -> str:
    """Paragraphs for a paper's methods section, in plain words; a starting point to be edited."""
    paragraphs = [
        " ".join(_ratings(report)),
        " ".join(_estimation(report)),
        *(" ".join(sentences) for sentences in _of_parts(report)),
        " ".join(_software(report)),
        "References\n" + "\n".join(f"- {text}" for text in _references(report)),
    ]
    return "\n\n".join(text for text in paragraphs if text) + "\n"


def _ratings(report: Report) -> Iterator[str]:
    data = report["data"]
    traps = f" and {counted(data['trap_ratings'], 'answer')} to traps" * bool(data["trap_ratings"])
    yield (
        f"{counted(data['raters'], 'rater')} gave {counted(data['ratings'], 'rating')}{traps} in "
        f"{counted(data['sessions'], 'session')}."
    )
    yield from report.get("input", {}).get("notes", ())
    if data["trap_ratings"]:
        yield "Answers to traps enter no estimate."
    gone = data["ratings"] - data["ratings_kept"]
    left = [
        f"{row['what']} ({counted(row['ratings'], 'rating')})"
        for row in report["exclusions"]
        if row["ratings"]
    ]
    if gone:
        yield f"Left out were {gone:,} ratings: {'; '.join(left)}."
        if len(left) > 1:
            yield "One rating may fall under several rules."
    else:
        rules = [str(row["what"]) for row in report["exclusions"]]
        yield f"No rating was left out by the rules in force ({'; '.join(rules)})."
    yield (
        f"The estimates rest on {data['ratings_kept']:,} ratings by "
        f"{counted(data['raters_kept'], 'rater')} of {counted(data['stimuli_kept'], 'clip')} "
        f"({counted(data['items_kept'], 'item')}, {counted(data['conditions_kept'], 'condition')})."
    )


def _estimation(report: Report) -> Iterator[str]:
    origin = report["provenance"]
    keys = list(dict.fromkeys(row["estimand"] for row in report["estimates"]))
    if not keys:
        return
    named = [estimand_of(name).phrase for name in keys]
    level = f"{origin['level'] * 100:g} %"
    words = {"level": level, "replicates": origin["replicates"], "seed": origin["seed"]}
    intervals: Sequence[str] = origin["intervals"]
    clustered = f" {_CLUSTERED.format(**words)}" if "two_way" in intervals else ""
    yield f"We report {listed(named)}, the mean over ratings{clustered}."
    if "bootstrap" in intervals:
        yield _BOOTSTRAP.format(**words)
    yield (
        "Naive t intervals, which take all ratings as independent, are given for comparison with "
        "papers that use them."
    )
    if report["contrasts"]:
        yield (
            "Differences between conditions have intervals of the same kind, so that raters and "
            "items in common are accounted for. Those with the reference, and those among the "
            "systems, are one family each, whose intervals and p values were adjusted in a single "
            "step by the joint distribution of the tests (Hothorn, Bretz and Westfall 2008)."
        )
    by = [each.partition(":")[2].replace(",", " x ") for each in origin["breakdowns"]]
    by = [each for each in by if each]
    if by:
        yield f"Results are also given by {listed(by)}, not adjusted over tables."


def _of_parts(report: Report) -> Iterator[list[str]]:
    said: set[str] = set()
    for part in report.get("parts", ()):
        if part["problem"]:
            continue
        new = [text for text in dict.fromkeys(part["methods"]) if text not in said]
        said.update(new)
        if new:
            yield new


def _software(report: Report) -> Iterator[str]:
    origin = report["provenance"]
    said = " ".join(text for part in report.get("parts", ()) for text in part.get("methods", ()))
    packages = {
        name: version
        for name, version in origin["packages"].items()
        if name not in _NAMED or _NAMED[name].lower() in said.lower()
    }
    words = {"python": "Python", "numpy": "NumPy", "scipy": "SciPy", **_NAMED}
    used = ", ".join(f"{words.get(name, name)} {version}" for name, version in packages.items())
    yield (
        f"Analyses were made with Earnest ({origin['code']}; {origin['estimator']} version "
        f"{origin['estimator_version']}, seed {origin['seed']}; {used})."
    )
    yield f"The table of ratings has the SHA-256 {origin['table_hash']}."


def _references(report: Report) -> list[str]:
    keys = [name for name in report["provenance"]["intervals"] if name in _REFERENCES]
    return [_REFERENCES[key] for key in [*keys, *["family"] * bool(report["contrasts"])]]
