"""Tables that the database filters, sorts and pages; what is asked stands in the address.

A page declares a `Table` of columns and filters, and reads a queryset through it:

    shown = RATERS.read(Session.objects.filter(study=study), request.GET)

`templates/researcher/_table_filters.html`, `_table_head.html` and `_pages.html` write what comes
of it. `shown.filtered` are all rows that the filters leave, for a CSV or for an action on all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.core.paginator import Page, Paginator
from django.db.models import F, Q, QuerySet

if TYPE_CHECKING:
    AnyPaginator = Paginator[Any]
else:
    AnyPaginator = Paginator

LONGEST = 200  # characters of a value in the address
SORT, PAGE = "sort", "page"  # names in the address that no filter may have


@dataclass(frozen=True)
class Column:
    """A head of the table; one without `order` cannot be sorted by."""

    name: str
    title: str
    order: tuple[str, ...] = ()  # fields of the queryset
    is_number: bool = False
    largest_first: bool = False  # at the first click
    nullable: bool = False  # rows without a value come last, whichever way
    help: str = ""


@dataclass(frozen=True)
class Filter:
    """One field of the form; `narrow` raises ValueError, with a remedy, for what it cannot take."""

    name: str
    title: str
    narrow: Callable[[str], Q]
    choices: tuple[tuple[str, str], ...] = ()  # value and words; none: one types
    kind: str = "search"  # of the input, where one types: search, number or date
    placeholder: str = ""

    def condition_for(self, value: str) -> Q:
        if self.choices and value not in dict(self.choices):
            raise ValueError(f"choose one of {', '.join(words for _, words in self.choices)}")
        return self.narrow(value)


@dataclass(frozen=True)
class Head:
    """A column as the page shows it now."""

    column: Column
    href: str  # "": cannot be sorted by
    direction: str  # "ascending", "descending" or "": by another column


@dataclass(frozen=True)
class TableView:
    """What a request sees of a table."""

    table: Table
    filtered: QuerySet[Any]  # all rows that the filters leave, in no order
    ordered: QuerySet[Any]
    values: dict[str, str]  # filter -> what is asked of it; only those that narrow
    sort: str  # column, or -column
    ignored: Sequence[str]  # sentences: what of the address was not followed, and why
    number: str = "1"  # of the page

    @cached_property
    def page(self) -> Page[Any]:
        most, each = self.table.most, self.table.rows_per_page
        return CappedPaginator(self.ordered, each, most=most).get_page(self.number)

    @property
    def is_capped(self) -> bool:
        """Whether there are more than can be paged through."""
        paginator = self.page.paginator
        return isinstance(paginator, CappedPaginator) and paginator.is_capped

    @property
    def narrowed(self) -> bool:
        return bool(self.values)

    @property
    def query(self) -> str:
        """The query without the page: for links to other pages and to a CSV."""
        return urlencode(self.values | ({SORT: self.sort} if self.sort != self.table.sort else {}))

    @property
    def fields(self) -> list[dict[str, Any]]:
        """The form's, each with what stands in it."""
        return [
            {"filter": each, "value": self.values.get(each.name, "")} for each in self.table.filters
        ]

    @property
    def heads(self) -> list[Head]:
        return [self._head(column) for column in self.table.columns]

    def _head(self, column: Column) -> Head:
        if not column.order:
            return Head(column, "", "")
        by = self.sort.removeprefix("-") == column.name
        down = self.sort.startswith("-")
        turned = f"{'' if down else '-'}{column.name}"
        to = turned if by else f"{'-' if column.largest_first else ''}{column.name}"
        direction = ("descending" if down else "ascending") if by else ""
        return Head(column, "?" + urlencode(self.values | {SORT: to}), direction)


@dataclass(frozen=True)
class Table:
    """What is in a table, what it can be narrowed and sorted by."""

    what: str  # its rows, in the plural
    columns: tuple[Column, ...]
    filters: tuple[Filter, ...]
    sort: str  # at first: column, or -column
    tie: str = "pk"  # decides between equals
    rows_per_page: int = 50
    most: int = 10_000  # that can be paged through; more are counted as "more than"
    _columns: Mapping[str, Column] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        named = {column.name: column for column in self.columns if column.order}
        if self.sort.removeprefix("-") not in named:
            raise ValueError(f"no column of {self.what} sorts by {self.sort}")
        if taken := {SORT, PAGE} & {each.name for each in self.filters}:
            raise ValueError(f"a filter of {self.what} has the name {taken.pop()}")
        object.__setattr__(self, "_columns", named)

    def read(self, rows: QuerySet[Any], query: Mapping[str, str]) -> TableView:
        """The rows that are asked for; values that say nothing narrow nothing, and are named."""
        ignored: list[str] = []
        values: dict[str, str] = {}
        for each in self.filters:
            value = clean(query.get(each.name, ""))
            if not value:
                continue
            try:
                rows = rows.filter(each.condition_for(value))
                values[each.name] = value
            except ValueError as error:
                ignored.append(f"{each.title} “{value}” narrows nothing: {error}.")
        sort = clean(query.get(SORT, "")) or self.sort
        if sort.removeprefix("-") not in self._columns:
            ignored.append(f"There is no column “{sort}” to sort by.")
            sort = self.sort
        return TableView(
            table=self,
            filtered=rows.order_by(),
            ordered=rows.order_by(*self._order(sort)),
            values=values,
            sort=sort,
            ignored=ignored,
            number=clean(query.get(PAGE, "")) or "1",
        )

    def _order(self, sort: str) -> list[Any]:
        down, column = sort.startswith("-"), self._columns[sort.removeprefix("-")]
        last = True if column.nullable else None
        names = (*column.order, self.tie)
        return [
            F(name).desc(nulls_last=last) if down else F(name).asc(nulls_last=last)
            for name in names
        ]


class CappedPaginator(AnyPaginator):
    """Counts no further than it lets anybody page: what is beyond is for filters and the CSV."""

    def __init__(self, rows: QuerySet[Any], per_page: int, *, most: int) -> None:
        super().__init__(rows, per_page)
        self.most = most

    def page(self, number: int | str) -> Page[Any]:
        """Sorted by keys alone; the rows themselves are then read for this page only."""
        number = self.validate_number(number)
        bottom = (number - 1) * self.per_page
        rows: Any = self.object_list
        keys = list(
            rows.values_list("pk", flat=True)[bottom : min(bottom + self.per_page, self.count)]
        )
        rows_by_key = {row.pk: row for row in rows.order_by().filter(pk__in=keys)}
        return Page([rows_by_key[key] for key in keys if key in rows_by_key], number, self)

    @cached_property
    def _counted(self) -> int:
        rows: Any = self.object_list
        return int(rows.order_by()[: self.most + 1].count())

    @cached_property
    def count(self) -> int:
        return min(self._counted, self.most)

    @property
    def is_capped(self) -> bool:
        return self._counted > self.most


def clean(value: str) -> str:
    """As a database takes it."""
    return value.replace("\0", "").strip()[:LONGEST]


def one_of(name: str, **fixed: Any) -> Callable[[str], Q]:
    """Narrows to rows whose field `name` has the value."""
    return lambda value: Q(**{name: value}, **fixed)


def number_from(name: str, lookup: str = "gte", *, factor: float = 1.0) -> Callable[[str], Q]:
    """Narrows to rows with at least (or another lookup) so much, in the unit that is typed."""

    def narrow(value: str) -> Q:
        try:
            number = float(value.replace(",", "."))
        except ValueError:
            raise ValueError("type a number") from None
        if not -1e12 < number < 1e12:
            raise ValueError("type a number that can be")
        return Q(**{f"{name}__{lookup}": number * factor})

    return narrow
