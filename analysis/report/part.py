"""Part, one analysis of a report; what it is given; and the registry of parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from analysis.formatting import enumerated
from analysis.name_spans import family_prefix
from analysis.report.content import Content, Table, add_family_titles, together
from listening.common.registry import Registered, Registry

if TYPE_CHECKING:
    import pandas as pd

    from analysis.ratings.breakdowns import Family
    from analysis.ratings.covariate_columns import Covariates
    from analysis.statistics.options import Options
    from analysis.statistics.screening.screened import Screened
    from listening.selectors import StudyFacts


Made = TypeVar("Made")


def silent(share: float, words: str) -> None:
    """Tells nobody."""


@dataclass(frozen=True)
class PartInput:
    """What a part is given: ratings after screening, all ratings, options, and metric scores.

    ``ratings`` holds the rows for estimates (no trap, left out by no rule), ``screened`` the whole
    table with the reasons of each rule. ``report`` is what is there already: estimates, contrasts
    and shares as rows, and the parts made before this one under ``report["parts"]``. ``progress``
    is told the share of the part that is done (0 to 1) and what; it raises `Cancelled`
    when the run was cancelled, so a part calls it between its steps. ``shared`` holds what several
    parts of one report need (`once`). ``order`` holds
    the names of each column in the study's own order (of a file: as they first appear); ask
    `ordered`. ``facts`` is what the study was; None of a file of ratings. ``covariates`` are values
    of clips as text, by name and clip, that the study declares or the file holds.
    """

    ratings: pd.DataFrame
    screened: Screened
    options: Options
    scores: pd.DataFrame | None = None
    report: Mapping[str, Any] = field(default_factory=dict)
    progress: Callable[[float, str], None] = silent
    shared: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)
    order: Mapping[str, Sequence[str]] = field(default_factory=dict)
    facts: StudyFacts | None = None
    covariates: Covariates = field(default_factory=dict)

    def once(self, key: Any, make: Callable[[], Made]) -> Made:
        """What ``make`` returns, made once for all parts of a report; the key tells whose it is."""
        if key not in self.shared:
            self.shared[key] = make()
        return cast(Made, self.shared[key])

    def ordered(self, column: str, names: Iterable[str]) -> list[str]:
        """These names of a column in the study's order; those it does not know last, sorted."""
        known = {name: place for place, name in enumerate(self.order.get(column, ()))}
        return sorted(set(names), key=lambda name: (known.get(name, len(known)), name))

    def two_instruments(self, task: str, title: str, judged_by: Iterable[str]) -> list[str]:
        """That raters of a task did not read the rubrics by which its clips were judged.

        Nothing of a file of ratings, which does not say what raters read.
        """
        tasks = self.facts["tasks"] if self.facts else ()
        read = next((each.get("rubric", "") for each in tasks if each["task"] == task), None)
        others = sorted(set(judged_by) - {read})
        if read is None or not others:
            return []
        own = f"the rubric {read}" if read else "no rubric (option rubric of the task)"
        return [
            f"{family_prefix(title)}raters read {own}, judges {enumerated(others)}: two "
            "instruments, so a difference between raters and judges may be one of wording."
        ]

    @property
    def table(self) -> pd.DataFrame:
        """All ratings, traps and what the rules leave out included."""
        return self.screened.table


class Cancelled(Exception):
    """The run was cancelled while a part was being made."""


class Part(Registered):
    """One analysis of a report; a subclass with a ``key`` registers itself.

    ``order`` is its place on the page. ``always`` parts are made in every report where they apply;
    the others when a preset or the options name them.
    """

    key: ClassVar[str]  # stored with every report: never renamed
    version: ClassVar[str]  # bumped when the numbers change
    title: ClassVar[str]
    order: ClassVar[int] = 50
    always: ClassVar[bool] = True
    presets: ClassVar[frozenset[str]] = frozenset()  # reports that have it, beside `always`
    late: ClassVar[bool] = False  # takes long: made after the others, its place on the page stays
    sampled: ClassVar[bool] = False  # of millions of ratings: made of those of a sample of raters
    apart: ClassVar[bool] = False  # reads no `report`: a second process may make it meanwhile
    cost: ClassVar[str] = ""  # in words, of parts that take long: what a form says beside them
    registry: ClassVar[Registry[Part]] = Registry(
        "part",
        "analysis.report.parts",
        order=lambda part: part.order,
        group="earnest.report_parts",
    )

    @classmethod
    def contract_problems(cls) -> list[str]:
        """What a plug-in's part does against the contract; empty when all is well."""
        texts = ("version", "title")
        wrong = [f"{each} must be a text" for each in texts if not getattr(cls, each, None)]
        return wrong if cls.make is not Part.make else [*wrong, "it has no method make"]

    @classmethod
    def asked_by(cls, options: Options) -> bool:
        """Whether a report with these options has it, where it applies."""
        return cls.always or options.preset in cls.presets or cls.key in options.parts

    def applies(self, inputs: PartInput) -> bool:
        """Whether there is anything for it in these ratings; quick to answer."""
        return True

    def make(self, inputs: PartInput) -> Content:
        """The analysis; raises ValueError, with a remedy, where it cannot be made."""
        raise NotImplementedError


@dataclass(frozen=True)
class FamilyInput:
    """One family for a part: its ratings, and its place (from 0) among ``n_families``."""

    family: Family
    inputs: PartInput
    place: int
    n_families: int

    @property
    def title(self) -> str:
        return self.family.title

    @property
    def suffix(self) -> str:
        """What keys of tables and figures end in, so that families do not share them."""
        return f"_{self.place + 1}" if self.n_families > 1 else ""

    @property
    def level(self) -> float:
        return self.inputs.options.level

    def table(self, row: type, key: str, title: str, rows: Iterable[Any], **more: Any) -> Table:
        """A table of rows about this family; ``more`` see `Table.from_rows`."""
        more = {"level": self.level, "about": self.title, **more}
        return Table.from_rows(row, f"{key}{self.suffix}", title, rows, **more)

    def progress(self, share: float, words: str = "") -> None:
        """Tell the share (0 to 1) of this family's work that is done; raises `Cancelled`."""
        self.inputs.progress((self.place + share) / self.n_families, words or self.title)


class FamilyPart(Part):
    """A part that says the same of every family: a subclass gives `of_family`.

    Where there are several families, titles say which one a figure or table is about.
    """

    nothing: ClassVar[str] = ""  # said, with a remedy, where no family is left; empty: no error

    def families(self, inputs: PartInput) -> Iterable[Family]:
        """The families that it is about."""
        from analysis.ratings.breakdowns import families

        return families(inputs.ratings)

    def of_family(self, each: FamilyInput) -> Content:
        """What it says of one family."""
        raise NotImplementedError

    def of_all(self, contents: Sequence[Content], inputs: PartInput) -> Content:
        """What it says of all, from what it says of each."""
        content = together(contents)
        return add_family_titles(content) if len(contents) > 1 else content

    def make(self, inputs: PartInput) -> Content:
        every = list(self.families(inputs))
        if not every and self.nothing:
            raise ValueError(self.nothing)
        contents = []
        for place, family in enumerate(every):
            each = FamilyInput(family, inputs, place, len(every))
            each.progress(0.0)
            contents.append(self.of_family(each))
        return self.of_all(contents, inputs)
