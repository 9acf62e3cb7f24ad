"""A ratings table as long-form material: setting, speaker, context, paragraph and place of rows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.arrays import Codes, Floats
from analysis.ratings.estimands import estimand_of, keys_where, name_of
from analysis.ratings.table import rated
from analysis.statistics.longform.condition_names import (
    CONTEXT,
    ISOLATION,
    PARAGRAPH,
    SETTINGS,
    UNKNOWN,
    Form,
    form_of,
    over,
)

Texts = NDArray[np.object_]
MOS = frozenset({"mos", "context_mos"})  # two questions on one scale of 1 to 5
_ONE = re.compile(r"\D*([0-9]+)")
_SEVERAL = re.compile(r"\D*([0-9]+)\D+([0-9]+)")
_DIGITS = re.compile(r"([0-9]+)")


@dataclass(frozen=True)
class Material:
    """n ratings of one kind of material on one scale, each with the form of its condition.

    ``form`` (n,) are codes of ``forms``; ``rater``, ``item`` and ``cluster`` (n,) codes, a cluster
    being a paragraph (an item where none is named); ``paragraph``, ``items`` and ``stimulus`` (n,)
    names. ``place`` (n,) is the line's number in its paragraph, 0 where unknown or for several
    lines; ``length`` the number of lines of each named paragraph. ``key`` is the material's name;
    ``study`` and ``criterion`` are empty where there is one.
    """

    key: str
    estimands: tuple[str, ...]
    criteria: tuple[str, ...]
    criterion: str
    study: str
    forms: tuple[Form, ...]
    y: Floats
    form: Codes
    rater: Codes
    item: Codes
    cluster: Codes
    paragraph: Texts
    items: Texts
    stimulus: Texts
    place: Codes
    length: dict[str, int]
    places_from: str

    @property
    def mean(self) -> str:
        """What the mean of its scores is called: MOS on scales of 1 to 5, else their own name."""
        return "MOS" if MOS.intersection(self.estimands) else name_of(min(self.estimands, key=len))

    @property
    def ends(self) -> tuple[float, float] | None:
        """The ends of the scale that its scores are on, where they are known."""
        low, high = float(self.y.min()), float(self.y.max())
        known = {estimand_of(key).scale_for(low, high) for key in self.estimands}
        return known.pop() if len(known) == 1 else None

    def rows_of(self, setting: str) -> NDArray[np.bool_]:
        """Which ratings (n,) are of that setting."""
        codes = [i for i, form in enumerate(self.forms) if form.setting == setting]
        return np.asarray(np.isin(self.form, codes), dtype=bool)

    def speakers(self) -> list[str]:
        """Whose speech was rated, real speech first."""
        synthetic = {form.speaker: form.voice != "R" for form in self.forms}
        return sorted(synthetic, key=lambda name: (synthetic[name], name))

    def real(self, speaker: str, reference: str = "") -> bool:
        """Whether a speaker is a person, as far as names or the named reference tell."""
        voices = {form.voice for form in self.forms if form.speaker == speaker}
        return "R" in voices or speaker == reference


def is_long_form(table: pd.DataFrame) -> bool:
    """Whether a table has paragraphs, or conditions named as Clark et al. name them."""
    if (table["paragraph"] != "").any():
        return True
    return any(form_of(str(name)) is not None for name in table["condition"].unique())


def materials(table: pd.DataFrame) -> Iterator[Material]:
    """The table's long-form ratings, apart by study, scale, criterion, and key.

    MOS and context MOS stand together, for that is the comparison of Clark et al. (2019); criteria
    are kept apart only where a task has several. Preferences between two clips stand by the form
    that both have, from the side that is named first (`over`); other comparisons are left out. A
    score beside an open reference (MUSHRA, DCR) is that of its own clip.
    """
    use = rated(table)
    in_pairs = use["estimand"].isin(keys_where("in_pairs"))
    use = use.assign(versus_condition=use["versus_condition"].astype(str).where(in_pairs, ""))
    prefers = use["estimand"].isin(keys_where("prefers")) & (use["versus_condition"] != "")
    use = use[((use["versus_condition"] == "") | prefers) & (use["condition"] != "")]
    use = one_way_round(use)
    use = use.assign(scale=use["estimand"].where(~use["estimand"].isin(MOS), "mos"))
    several_studies = use["study"].nunique() > 1
    for (named, _), rows in use.groupby(["study", "scale"], sort=True):
        study = str(named) if several_studies else ""
        several = rows.groupby("task")["criterion"].nunique().gt(1).any()
        parts = rows.groupby("criterion", sort=True) if several else [("", rows)]
        for criterion, part in parts:
            yield from _by_key(part, study, str(criterion))


def _by_key(rows: pd.DataFrame, study: str, criterion: str) -> Iterator[Material]:
    names = ["condition", "versus_condition", "task", "method"]
    kinds = rows[names].drop_duplicates().itertuples(index=False)
    named = {tuple(map(str, kind)): _named(str(kind[0]), str(kind[1])) for kind in kinds}
    forms = [_form(key, named) for key in _tuples(rows, names, "context", "paragraph", "item")]
    known = np.array([form is not None for form in forms], dtype=bool)
    key = np.array([form.key if form else "" for form in forms], dtype=object)
    for each in sorted(set(key[known].tolist())):
        mine = known & (key == each)
        chosen = [form for form, is_mine in zip(forms, mine, strict=True) if is_mine]
        yield _material(rows[mine], [form for form in chosen if form], each, study, criterion)


def _named(condition: str, versus: str) -> Form | None:
    """The form of a condition, or the one of two that are compared in it."""
    form, other = form_of(condition), form_of(versus)
    if not versus or form is None or other is None:
        return None if versus else form
    return over(form, other)


def _tuples(rows: pd.DataFrame, names: list[str], *more: str) -> Iterator[tuple[str, ...]]:
    return zip(*(rows[name].tolist() for name in [*names, *more]), strict=True)


def _form(row: tuple[str, ...], named: dict[tuple[str, ...], Form | None]) -> Form | None:
    """The named form, else what task, context and item tell of a condition of another name."""
    condition, versus, task, method, context, paragraph, item = row
    form = named[condition, versus, task, method]
    if form is not None:
        return form
    condition = f"{condition} over {versus}" if versus else condition
    setting = _setting(task.lower(), method, context, paragraph, item)
    if not setting:
        return None
    return Form(
        f"{condition} · {setting}",
        setting,
        system=condition,
        lines=0 if setting == PARAGRAPH else 1,
        context=UNKNOWN if setting == CONTEXT else "",
    )


def _setting(task: str, method: str, context: str, paragraph: str, item: str) -> str:
    if method == "context_mos" or context:
        return CONTEXT
    for setting, starts in ((PARAGRAPH, "paragraph"), (CONTEXT, "context")):
        if task.startswith(starts):
            return setting
    if not paragraph:
        return ISOLATION if task.startswith(("isolat", "sentence")) else ""
    inside = item.removeprefix(paragraph)
    return PARAGRAPH if not inside or _SEVERAL.fullmatch(inside) else ISOLATION


def _material(
    rows: pd.DataFrame, forms: list[Form], key: str, study: str, criterion: str
) -> Material:
    distinct = sorted(set(forms), key=lambda f: (SETTINGS.index(f.setting), f.speaker, f.name))
    code = {form: i for i, form in enumerate(distinct)}
    paragraph = rows["paragraph"].to_numpy(dtype=object)
    item = rows["item"].where(rows["item"] != "", rows["stimulus"]).to_numpy(dtype=object)
    cluster = np.where(paragraph != "", paragraph, item)
    form = np.array([code[one] for one in forms], dtype=np.int64)
    place, length, places_from = _places(paragraph, item, forms)
    return Material(
        key=key,
        estimands=tuple(sorted(set(rows["estimand"]))),
        criteria=tuple(sorted(set(rows["criterion"]))),
        criterion=criterion,
        study=study,
        forms=tuple(distinct),
        y=rows["score"].to_numpy(dtype=np.float64),
        form=form,
        rater=_codes(rows["rater"].to_numpy(dtype=object)),
        item=_codes(item),
        cluster=_codes(cluster),
        paragraph=paragraph,
        items=item,
        stimulus=rows["stimulus"].to_numpy(dtype=object),
        place=place,
        length=length,
        places_from=places_from,
    )


def _places(paragraph: Texts, item: Texts, forms: list[Form]) -> tuple[Codes, dict[str, int], str]:
    """Each row's place, each paragraph's length, and how places were told.

    Items of Earnest are called paragraph.place; names that are no paragraph with a number behind
    are put in the order of their names.
    """
    alone = {
        (str(p), str(i))
        for p, i, form in zip(paragraph, item, forms, strict=True)
        if p and form.lines == 1
    }
    numbers = {pair: _ONE.fullmatch(pair[1].removeprefix(pair[0])) for pair in alone}
    if all(numbers.values()):
        place = {pair: int(places[1]) for pair, places in numbers.items() if places}
        source = "names"
    else:
        place, source = _in_order(alone), "the order of names"
    length: dict[str, int] = {}
    for (p, _), at in place.items():
        length[p] = max(length.get(p, 0), at)
    for p, i in set(zip(paragraph.tolist(), item.tolist(), strict=True)):
        several = _SEVERAL.fullmatch(str(i).removeprefix(str(p))) if p else None
        if several and source == "names":
            length[p] = max(length.get(p, 0), int(several[2]))
    places = [
        place.get((str(p), str(i)), 0) if form.lines == 1 else 0
        for p, i, form in zip(paragraph, item, forms, strict=True)
    ]
    return np.array(places, dtype=np.int64), length, source


def _in_order(alone: set[tuple[str, str]]) -> dict[tuple[str, str], int]:
    place: dict[tuple[str, str], int] = {}
    for paragraph in {p for p, _ in alone}:
        items = sorted((i for p, i in alone if p == paragraph), key=_natural)
        place |= {(paragraph, item): at for at, item in enumerate(items, start=1)}
    return place


def _natural(text: str) -> list[tuple[int, str]]:
    """Sorts s2 before s10."""
    parts = _DIGITS.split(text)
    return [(int(part), "") if part.isdigit() else (-1, part) for part in parts]


def _codes(names: Texts) -> Codes:
    return np.unique(names, return_inverse=True)[1].astype(np.int64)


def one_way_round(table: pd.DataFrame) -> pd.DataFrame:
    """Each pair of conditions from the side that comes first in the table, scores turned with it.

    Rows of single clips stay as they are.
    """
    pairs = table[["condition", "versus_condition"]].drop_duplicates()
    first: dict[frozenset[str], str] = {}
    for condition, versus in pairs.astype(str).itertuples(index=False):
        if versus:
            first.setdefault(frozenset((condition, versus)), condition)
    turned = [
        bool(versus) and first[frozenset((condition, versus))] != condition
        for condition, versus in zip(
            table["condition"].astype(str), table["versus_condition"].astype(str), strict=True
        )
    ]
    if not any(turned):
        return table
    made = table.assign(
        condition=table["condition"].astype(str),
        versus_condition=table["versus_condition"].astype(str),
    )
    rows = table.index[turned]
    for name, other in (("condition", "versus_condition"), ("versus_condition", "condition")):
        made.loc[rows, name] = table.loc[rows, other].astype(str)
    for key in table.loc[rows, "estimand"].astype(str).unique():
        mine = rows[(table.loc[rows, "estimand"] == key).to_numpy()]
        made.loc[mine, "score"] = estimand_of(key).mirrored(table.loc[mine, "score"])
    return made
