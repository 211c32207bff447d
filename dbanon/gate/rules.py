"""What the release gate holds a release against: the policy and the call, read a second time.

Nothing here is taken from `attribute`, `column` or the resolved roles, which make the release: a mistake of theirs must
not be one of the gate's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import ClassVar

from dbanon import errors
from dbanon.gate import transformed
from dbanon.gate.missing_codes import DAYS, DECIMAL, FLOATS, LARGE, WHOLE, column
from dbanon.gate.request import GateRequest
from dbanon.source.stored_policy import Settings
from dbanon.sqltext.quote import Sql, identifier, joined, text

_PUBLISHED = {"quasi": "qi", "sensitive": "sensitive", "other": "other"}
_EXACT = Context(prec=1000)
"""More digits than any grid has: the usual 28 would round."""


@dataclass(frozen=True)
class Cells:
    """The cells of a grid: a calendar `unit`, or numbers of the width `step`."""

    unit: str | None = None
    step: Sql | None = None


@dataclass(frozen=True)
class GridRule(Cells):
    """The grid that published ends lie on: its cells, neither unit nor step where there is none.

    `checked` are the grids that ends must lie on: this one and the declared one. `declared` is the declared one.
    """

    checked: tuple[Cells, ...] = ()
    declared: Cells | None = None


@dataclass(frozen=True)
class EndRule:
    """The ends of published intervals: their type, and its least and greatest value.

    `low` and `high` are the published columns of typed intervals. `is_day`: ends are days; `whole_days`: of values that
    are not.
    """

    type: Sql
    low: Sql | None
    high: Sql | None
    least: Sql | None
    greatest: Sql | None
    is_day: bool
    whole_days: bool


@dataclass(frozen=True)
class CategoryRule:
    """What the gate holds a column with a hierarchy against, or one of texts; `own` is how it reads it."""

    i: int
    plain: str
    own: Sql
    min_level: int
    max_level: int | None
    round: int

    is_number: ClassVar[bool] = False

    @property
    def tree(self) -> int:
        """The number of its tree among the hierarchies."""
        return self.i

    @property
    def text(self) -> Sql:
        """The published column of text."""
        return identifier(self.plain)


@dataclass(frozen=True)
class NumberRule:
    """What the gate checks a number, a date or a time against.

    `own` is how the gate reads it, `compared` the type in which. `own_ends` are those of top and bottom that the call
    gives. `fine` is how far a floating number may be off. Where it is exact, losses and square errors are those of the
    metrics.
    """

    i: int
    plain: str
    own: Sql
    compared: Sql
    ends: EndRule
    grid: GridRule
    top: Sql | None
    bottom: Sql | None
    own_ends: tuple[str, ...]
    is_whole: bool
    is_float: bool
    is_exact: bool
    fine: Sql

    is_number: ClassVar[bool] = True

    @property
    def text(self) -> Sql:
        """The published column of text."""
        return identifier(self.plain)


Rule = CategoryRule | NumberRule


@dataclass(frozen=True)
class LinkRule:
    """How the gate reads a column whose pseudonyms leave: its place among those that leave unchanged, its text, what is
    made of it, and what tells how."""

    i: int
    told: Sql
    made: Sql
    how: Sql


@dataclass(frozen=True)
class GateRules:
    """What the gate reads by itself.

    `rules` has one of each quasi-identifier of the call; `loses` and `varies` say whether the gate has a formula for
    losses and square errors. `leave` are the names of the columns that may leave, in order. `source_columns` are what
    is read of the source, twice where `source_twice`; `read_unchanged` and `read_person` read those that are no
    quasi-identifiers, and `read_links` those whose pseudonyms leave.
    """

    rules: tuple[Rule, ...]
    loses: bool
    varies: bool
    leave: Sql
    read_unchanged: tuple[Sql, ...]
    read_person: Sql | None
    read_links: tuple[LinkRule, ...]
    source_twice: bool
    source_columns: tuple[Sql, ...]


def rules(request: GateRequest) -> GateRules:
    """What the gate holds a release against."""
    roles = {name: role(request, name) for name in request.columns}
    pairs = _pairs(request, roles)
    found = tuple(_rule(request, i, name, pairs) for i, name in enumerate(request.quasi_columns))
    exact = not request.context.has_noise and all(r.is_exact for r in found if isinstance(r, NumberRule))
    shown = {
        *request.roles.sensitive,
        *request.roles.insensitive,
        *(n for n, of in roles.items() if of in transformed.ROLES),
    }
    read = _read(request, roles)
    return GateRules(
        rules=found,
        loses=exact and request.options["eloss_height"] != "sub",
        varies=exact,
        leave=Sql(f"[{joined(text(name) for name in _names(roles, pairs))}]"),
        read_unchanged=tuple(_as_it_is(request, name) for name in request.columns if name in shown),
        read_person=_person(request),
        read_links=_links(request),
        source_twice=request.context.is_table and not request.context.has_withheld_records,
        source_columns=tuple(identifier(name) for name in request.columns if name.lower() in read),
    )


def leaving(request: GateRequest) -> list[str]:
    """Return the names of the columns that may leave, and the class."""
    roles = {name: role(request, name) for name in request.columns}
    return _names(roles, _pairs(request, roles))


def unlike(taken: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return names of further columns, unlike those that are taken."""
    found: list[str] = []
    for name in names:
        found.append(_unlike(name, {n.lower() for n in (*taken, *found)}))
    return found


def role(request: GateRequest, name: str) -> str | None:
    """How a column leaves: quasi, sensitive or other; None where it must not."""
    declared = {row.column.lower(): row.role.lower() for row in request.declared}
    asked = {
        role_: [n.lower() for n in request.options.columns(parameter)]
        for role_, parameter in (*_PUBLISHED.items(), ("identifier", "identifier"), ("withheld", "withhold"))
    }
    lowered = name.lower()
    person = (request.options.text("person") or "").lower()
    if lowered in asked["identifier"] or lowered in asked["withheld"] or lowered == person:
        return None
    was = declared.get(lowered)
    if was in transformed.ROLES:
        return was
    if declared and was not in _PUBLISHED:
        return None
    wanted = next((role_ for role_ in _PUBLISHED if lowered in asked[role_]), None)
    if wanted is not None:
        return wanted if was in (None, "other", wanted) else None
    return was if was is not None and request.options[_PUBLISHED[was]] is None else None


def _read(request: GateRequest, roles: Mapping[str, str | None]) -> set[str]:
    """Return the columns that are read of the source, in lower case."""
    person = {request.roles.person} if request.roles.person is not None else set()
    own = {*request.quasi_columns} | set(request.roles.sensitive) | set(request.roles.insensitive)
    shown = {name for name, of in roles.items() if of is not None}
    return {
        name.lower()
        for name in own | person | set(request.context.person_key) | set(request.context.input_order) | shown
    }


def _pairs(request: GateRequest, roles: Mapping[str, str | None]) -> dict[str, list[str]]:
    """Return the names of the two bounds of each number, where they are columns of their own."""
    typed = request.options["intervals"] == "bounds"
    numbers = {name for name, of in roles.items() if of == "quasi" and typed and _is_number(request, name)}
    taken = {name.lower() for name, of in roles.items() if of is not None and name not in numbers}
    pairs: dict[str, list[str]] = {}
    for name in [name for name in request.quasi_columns if name in numbers]:
        pairs[name] = [_unlike(f"{name}{end}", taken) for end in ("_min", "_max")]
        taken.update(n.lower() for n in pairs[name])
    return pairs


def _names(roles: Mapping[str, str | None], pairs: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the published columns in the table's order, and the class."""
    names = [n for name, of in roles.items() if of is not None for n in pairs.get(name, [name])]
    return [*names, _unlike("class_id", {n.lower() for n in names})]


def _typed(request: GateRequest, name: str, pairs: Mapping[str, Sequence[str]]) -> tuple[Sql | None, Sql | None]:
    """Where the ends of typed intervals stand."""
    form = request.options["intervals"]
    if form == "bounds" and name in pairs:
        low, high = (identifier(n) for n in pairs[name])
        return low, high
    if form == "struct":
        return Sql(f"struct_extract({identifier(name)}, 'low')"), Sql(f"struct_extract({identifier(name)}, 'high')")
    return None, None


def _unlike(name: str, taken: set[str]) -> str:
    while name.lower() in taken:
        name += "_"
    return name


def _setting(request: GateRequest, name: str, parameter: str) -> str | None:
    """What the call says of a column, else what is declared."""
    asked = _asked(request, name, parameter)
    return _declared(request, name, parameter) if asked is None else asked


def _asked(request: GateRequest, name: str, parameter: str) -> str | None:
    given = request.options.of_column(parameter, name)
    return None if given is None else str(given)


def _declared(request: GateRequest, name: str, parameter: str) -> str | None:
    settings = next((row.settings for row in request.declared if row.column.lower() == name.lower()), Settings())
    value = getattr(settings, {"hierarchies": "hierarchy"}.get(parameter, parameter), None)
    return None if value is None else str(value)


def _grid(given: str | None, type_: str) -> str | None:
    """Return the grid that holds: as given, month for days, none for numbers."""
    grid = given or ("month" if type_ in DAYS else None)
    return None if grid is not None and grid.lower() == "none" else grid


def _is_number(request: GateRequest, name: str) -> bool:
    type_ = request.columns[name]
    plain = type_ in (*DAYS, *WHOLE, *LARGE, *FLOATS, "TIME") or DECIMAL.match(type_) is not None
    return plain and _setting(request, name, "hierarchies") is None


def _rule(request: GateRequest, i: int, name: str, pairs: Mapping[str, Sequence[str]]) -> Rule:
    """How the gate reads one quasi-identifier, and what its published values keep to."""
    return _number(request, i, name, pairs) if _is_number(request, name) else _category(request, i, name)


def _category(request: GateRequest, i: int, name: str) -> CategoryRule:
    highest, value = _setting(request, name, "max_level"), column(request, name)
    if request.columns[name] == "TIMESTAMP WITH TIME ZONE":  # hierarchies know instants by their text in UTC
        zone = f"CASE WHEN isfinite({value}) THEN '+00' ELSE '' END"
        value = Sql(f"(({value} AT TIME ZONE 'UTC')::VARCHAR || {zone})")
    return CategoryRule(
        i,
        name,
        own=Sql(f"{value}::VARCHAR COLLATE POSIX"),
        min_level=max(int(of(request, name, "min_level") or 0) for of in (_asked, _declared)),
        max_level=None if highest is None else int(highest),
        round=int(float(_setting(request, name, "round") or 1)),
    )


def _number(request: GateRequest, i: int, name: str, pairs: Mapping[str, Sequence[str]]) -> NumberRule:
    type_ = request.columns[name]
    is_day = type_ in DAYS
    grid = _grid(_setting(request, name, "round") or _setting(request, name, "grid"), type_)
    quasi = any(row.column.lower() == name.lower() and row.role.lower() == "quasi" for row in request.declared)
    held = _grid(_declared(request, name, "grid"), type_) if quasi else None
    compared = "TIMESTAMP" if type_ in DAYS[1:] and (type_ != "TIMESTAMP_NS" or grid is not None) else type_
    scale = _scale(type_, [of for of in (grid, held) if of is not None])
    ends = _ends(type_, compared, grid, scale)

    both_ends = {e: (_declared(request, name, e), _asked(request, name, e)) for e in ("top", "bottom")}

    def coded(setting: str, tighter: str) -> Sql | None:
        both = both_ends[setting]
        given = joined(Sql(f"CAST(CAST({text(one)} AS {compared}) AS {ends})") for one in both if one is not None)
        return Sql(f"{tighter}({given})") if given else None

    def cells(of: str) -> Cells:
        return Cells(unit=of.lower()) if is_day else Cells(step=_step(ends, of))

    own = Cells() if grid is None else cells(grid)
    low, high = _typed(request, name, pairs)
    least, greatest = _limits(ends, scale)
    return NumberRule(
        i,
        name,
        own=_read_number(column(request, name), type_, grid),
        compared=Sql(compared),
        ends=EndRule(
            type=Sql(ends),
            low=low,
            high=high,
            least=least,
            greatest=greatest,
            is_day=ends == "DATE",
            whole_days=ends == "DATE" and type_ != "DATE",
        ),
        grid=GridRule(
            own.unit,
            own.step,
            checked=tuple(cells(of) for of in sorted({of for of in (grid, held) if of is not None})),
            declared=None if held is None else cells(held),
        ),
        top=coded("top", "least"),
        bottom=coded("bottom", "greatest"),
        own_ends=tuple(
            e for e in ("top", "bottom") if _asked(request, name, e) not in (None, _declared(request, name, e))
        ),
        is_whole=type_ in (*WHOLE, *LARGE),
        is_float=type_ in FLOATS,
        is_exact=type_ in WHOLE or compared in ("DATE", "TIMESTAMP", "TIME"),
        fine=Sql("1e-6" if type_ == "FLOAT" else "4e-15"),
    )


def _ends(type_: str, compared: str, grid: str | None, scale: int) -> str:
    """Return the type of published ends."""
    if type_ in DAYS and grid is not None:
        return "DATE"
    if type_ in WHOLE:
        return "HUGEINT"
    return f"DECIMAL(38,{scale})" if DECIMAL.match(type_) else compared


def _read_number(column: Sql, type_: str, grid: str | None) -> Sql:
    """Return a number as it is compared: zeros are one, instants are in UTC and, on a grid, of whole microseconds."""
    if type_ in FLOATS:
        return Sql(f"CASE WHEN {column} = 0 THEN 0::{type_} ELSE {column} END")
    if type_ in ("TIMESTAMP_S", "TIMESTAMP_MS"):
        return Sql(f"{column}::TIMESTAMP")
    if type_ == "TIMESTAMP WITH TIME ZONE":
        return Sql(f"{column} AT TIME ZONE 'UTC'")
    if type_ == "TIMESTAMP_NS" and grid is not None:  # cut to microseconds, not rounded
        nanos = f"epoch_ns({column})"
        cut = f"make_timestamp(({nanos} - (({nanos} % 1000) + 1000) % 1000) // 1000)"
        return Sql(f"CASE WHEN isfinite({column}) THEN {cut} ELSE {column}::TIMESTAMP END")
    return column


def _scale(type_: str, grids: Sequence[str]) -> int:
    """Return decimals of a DECIMAL and of its grids, whose multiples may have more; 0 for other types."""
    decimals = DECIMAL.match(type_)
    if decimals is None:
        return 0
    exponents = [Decimal(of).normalize(_EXACT).as_tuple().exponent for of in grids]
    return max([int(decimals[1]), *(-int(exponent) for exponent in exponents)])


def _step(ends: str, grid: str) -> Sql:
    """Return the grid of a number, exact where its type is."""
    return Sql(f"{text(grid)}::DOUBLE" if ends in FLOATS else f"{text(f'{Decimal(grid):f}')}::{ends}")


def _limits(ends: str, scale: int) -> tuple[Sql | None, Sql | None]:
    """What stands for an end that the grid puts beyond the type."""
    if ends == "DATE":
        return Sql("DATE '5877642-06-25 (BC)'"), Sql("DATE '5881580-07-10'")
    if ends == "HUGEINT":
        return Sql(f"'{-(2**127)}'::HUGEINT"), Sql(f"'{2**127 - 1}'::HUGEINT")
    if ends == "UHUGEINT":
        return Sql("0::UHUGEINT"), Sql(f"'{2**128 - 1}'::UHUGEINT")
    if ends.startswith("DECIMAL"):
        digits = "9" * (38 - scale) + ("." + "9" * scale if scale else "")
        return Sql(f"'-{digits}'::{ends}"), Sql(f"'{digits}'::{ends}")
    if ends in FLOATS:
        greatest = "3.4028234663852886e38" if ends == "FLOAT" else "1.7976931348623157e308"
        return Sql(f"'-{greatest}'::{ends}"), Sql(f"'{greatest}'::{ends}")
    return None, None


def _as_it_is(request: GateRequest, name: str) -> Sql:
    """Return the gate's own reading of a column: of a text, byte by byte.

    From DuckDB 2.0.1 on hash() goes by collations, that of a session too. What is made of a column is made again.
    """
    if role(request, name) in transformed.ROLES:
        made = transformed.read(request, name)
        return made if role(request, name) == "shift" else Sql(f"({made}) COLLATE POSIX")
    return _plain(request, name)


def _plain(request: GateRequest, name: str) -> Sql:
    return (
        Sql(f"{column(request, name)} COLLATE POSIX") if request.columns[name] == "VARCHAR" else column(request, name)
    )


def _person(request: GateRequest) -> Sql | None:
    """Return the gate's own reading of the person."""
    leaves = request.context.is_single_table and request.kind in ("release", "classes", "metrics", "membership")
    wanted = transformed.person(request) if leaves else None
    if wanted is not None and wanted != (request.roles.person or "").lower():
        raise errors.GateRefusedError(request.function, "columns of persons that are not counted by", 1)
    if request.roles.person is None:
        return None
    name, type_ = _plain(request, request.roles.person), request.columns[request.roles.person]
    return Sql(f"CASE WHEN {name} = 0 THEN 0::{type_} ELSE {name} END") if type_ in FLOATS else name


def _links(request: GateRequest) -> tuple[LinkRule, ...]:
    """How the gate reads the pseudonyms that leave.

    PseudonymFormatMismatchError where two that are equal are written differently.
    """
    made = request.transformed  # none where nothing is released
    names = [name for name in transformed.links(request) if name in made]
    if not transformed.are_alike(request, names):
        raise errors.PseudonymFormatMismatchError(request.function, names, request.table)
    at = {name: i for i, name in enumerate(request.unchanged)}
    return tuple(
        LinkRule(at[name], transformed.told(request, name), transformed.read(request, name), made[name])
        for name in names
    )
