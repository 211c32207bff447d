"""From related tables to the SQL text that publishes one of them: pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dbanon import errors
from dbanon.functions.call import Call
from dbanon.release import gate_rules, plan, prepare
from dbanon.release.cluster_request import cluster_request
from dbanon.release.column_views import QuasiColumn
from dbanon.release.gate_rules import GateRules
from dbanon.release.named_column import NamedColumn
from dbanon.release.passthrough_column import PassthroughColumn
from dbanon.release.plan import Plan, PublishedColumn
from dbanon.release.published_schema import free
from dbanon.release.related import features
from dbanon.release.related.features import Feature
from dbanon.release.related.relation import Related, Relation, key_values, relation
from dbanon.sqltext.quote import Sql, identifier, joined, text
from dbanon.sqltext.template import fill, later, message

COMPOSITE = "entity_id"
"""The name of the pseudonym of a key of several columns."""


@dataclass(frozen=True)
class Own:
    """Names of columns that are none of a table: the number of a row, the key of its person, its place."""

    row: Sql
    person: Sql
    place: Sql


@dataclass(frozen=True)
class TableView(NamedColumn):
    """One table as the templates see it. `plain` tells it from the others in names of steps.

    `source` names it, `origin` is what is read, twice where `read_twice`; `number_of_row` tells its rows apart there.
    `key` is how the key is read for the release, `own_keys` how the gate reads it, `key_name` where the pseudonym
    leaves. `ordered` are quasi-identifiers in the order by which rows of a person stand: dates, numbers, categories.
    """

    i: int
    plain: str
    shown: str
    source: Sql
    origin: Sql
    read_twice: bool
    columns: Sql
    number_of_row: Sql
    key: Sql
    own_keys: tuple[Sql, ...]
    key_name: Sql
    class_id: Sql
    size_name: Sql
    quasi: tuple[QuasiColumn, ...]
    ordered: tuple[QuasiColumn, ...]
    unchanged: tuple[PassthroughColumn, ...]
    output: tuple[PublishedColumn, ...]
    features: tuple[Feature, ...]
    gate: GateRules
    leave: Sql
    say: Mapping[str, Sql]
    gate_say: Mapping[str, Sql]
    made: Sql = Sql("")
    judged: Sql = Sql("")

    @property
    def rules(self) -> Sequence[gate_rules.Rule]:
        """What the gate holds its quasi-identifiers against."""
        return self.gate.rules

    @property
    def read_unchanged(self) -> Sequence[Sql]:
        """How the gate reads what is published unchanged."""
        return self.gate.read_unchanged

    @property
    def loss_of(self) -> Sql:
        """The name of a measure of it."""
        return text(f"loss:{self.shown}")

    @property
    def rows_of(self) -> Sql:
        return text(f"rows:{self.shown}")

    @property
    def surplus_of(self) -> Sql:
        return text(f"rows_surplus:{self.shown}")

    @property
    def above_of(self) -> Sql:
        return text(f"rows_above_cap:{self.shown}")

    def step(self, name: str) -> Sql:
        """A step that there is once for each table."""
        return identifier(f"{self.plain}: {name}")


def statement(call: Call) -> Sql:
    """The SQL of a call with `entity` or `children`."""
    found = relation(call)
    own = _own(found)
    plans = [plan.plan(table.publication) for table in found.tables]
    first = len(plans[0].columns.quasi)
    views = []
    for i, table in enumerate(found.tables):
        of = features.features(table, first) if i > 0 else []
        first += len(of)
        views.append(_view(found, i, plans[i], own, of))
    tables = [_filled(view, of, own) for view, of in zip(views, plans, strict=True)]
    shown = [q.plain for q in tables[0].quasi] + [plans[0].names.class_name]
    sizes = gate_rules.unlike(shown, ["size", *(f"{t.publication.source.table}_rows" for t in found.tables[1:])])
    tables = [replace(t, size_name=identifier(size)) for t, size in zip(tables, sizes, strict=True)]
    values: dict[str, object] = {
        "tables": tables,
        "parent": tables[0],
        "children": tables[1:],
        "asked": tables[found.asked],
        "row": own.row,
        "person": own.person,
        "place": own.place,
        "size_name": tables[0].size_name,
        "cap": found.cap,
        "k": found.entity.publication.k,
        "clustered": _clustered(found, plans[0], views),
        "gate_say": _gate_say(call.function.name, TOGETHER, found.entity.shown),
    }
    return Sql(fill(f"release/related/{call.function.kind}.sql", **values))


def _own(found: Relation) -> Own:
    """Names that no column of any table has."""
    taken = [name for table in found.tables for name in table.publication.source.columns]
    return Own(*(identifier(free(f"dbanon {word}", taken)) for word in ("number", "person", "place")))


def _view(found: Relation, i: int, of: Plan, own: Own, its_features: Sequence[Feature]) -> TableView:
    table = found.tables[i]
    source, shown = table.publication.source, table.shown
    plain, twice = f"{i} {shown}", of.reading.has_rowid
    read = [u.plain for u in of.columns.unchanged] + [q.plain for q in of.columns.quasi] + list(table.key)
    leave = gate_rules.leaving(table.publication)
    key_name = free(table.key[0] if len(table.key) == 1 else COMPOSITE, leave)
    keys = list(key_values(table))
    return TableView(
        i,
        plain,
        shown,
        source=source.sql,
        origin=source.sql if twice else identifier(f"{plain}: as it came"),
        read_twice=twice,
        columns=joined(identifier(name) for name in source.columns if name in read),
        number_of_row=Sql("rowid") if twice else own.row,
        key=Sql(keys[0]) if len(keys) == 1 else _row(keys),
        own_keys=tuple(_own_key(name, source.columns[name]) for name in table.key),
        key_name=identifier(key_name),
        class_id=of.names.class_id,
        size_name=Sql(""),
        quasi=of.columns.quasi,
        ordered=tuple(
            sorted(of.columns.quasi, key=lambda q: 2 if not q.is_number else 0 if q.family.is_calendar else 1)
        ),
        unchanged=of.columns.unchanged,
        output=of.columns.output,
        features=tuple(its_features),
        gate=of.gate,
        leave=Sql(f"[{joined(text(name) for name in [key_name, *leave])}]"),
        say=_say(table, found.entity),
        gate_say=_gate_say(table.publication.function, OF_A_TABLE, shown, i),
    )


def _row(keys: Sequence[str]) -> Sql:
    """A key of several columns; none where one of them is missing."""
    filled = joined((f"{key} IS NOT NULL" for key in keys), " AND ")
    return Sql(f"CASE WHEN {filled} THEN row({joined(keys)}) END")


def _own_key(name: str, type_: str) -> Sql:
    """A column of the key as the gate compares it."""
    return Sql(f"{identifier(name)} COLLATE POSIX") if type_ == "VARCHAR" else identifier(name)


def _filled(view: TableView, of: Plan, own: Own) -> TableView:
    """The table with its two statements: what its rows publish, and how the gate judges them."""
    read = {"origin": view.step("rows"), "source_twice": True, "has_rowid": False, "key": own.row, "person": None}
    made = fill("release/related/made.sql", **(of.values | read), assigned=view.step("assigned"))
    names = {"row": own.row, "second": view.step("second"), "leaving": view.step("leaving")}
    judged = fill("release/related/judged.sql", **of.values, **names)
    return replace(view, made=Sql(made), judged=Sql(judged))


def _clustered(found: Relation, of: Plan, views: Sequence[TableView]) -> Sql:
    """The statement that clusters people, by what they are and by the features of their rows."""
    every = [feature for view in views for feature in view.features]
    people = found.entity.publication
    wider = replace(people, attributes=(*people.attributes, *(feature.attribute for feature in every)))
    running = prepare.running(wider, found.algorithm)
    own = plan.plan(replace(running, attributes=people.attributes))
    quasi = tuple(features.as_read(q, q.plain) for q in of.columns.quasi) + tuple(f.column for f in every)
    trees = tuple(q for q in quasi if not q.is_number)
    unchanged = tuple(replace(u, read=Sql(f"u{u.i}")) for u in own.columns.unchanged)
    values = replace(
        own, columns=replace(own.columns, quasi=quasi, ranged=quasi, trees=trees, unchanged=unchanged)
    ).values
    read = {
        "origin": Sql("persons"),
        "source_twice": True,
        "has_rowid": True,
        "key": Sql("rowid"),
        "request": cluster_request(running),
    }
    return Sql(fill("release/related/clustered.sql", **(values | read)))


def _say(table: Related, entity: Related) -> dict[str, Sql]:
    """What the keys or the table may be wrong in."""
    function, count = table.publication.function, later("count(*)")
    said = {
        "empty": errors.EmptySource(function, table.shown),
        "missing": errors.MissingKeys(function, table.shown, table.key, count),
        "repeated": errors.RepeatedKeys(function, table.shown, table.key, count),
        "orphans": errors.Orphans(function, table.shown, entity.shown, table.key, count),
    }
    return {name: message(error) for name, error in said.items()}


TOGETHER = {
    "people": ("people are missing or published twice, of", "(SELECT count(*) FROM reader)"),
    "small": ("classes below k over all tables", "classes.small"),
    "confused": ("classes that several class_ids have, or class_ids that several classes have", "classes.confused"),
    "pseudonyms": ("pseudonyms that do not follow from what is published", "pseudonyms.people"),
}
"""What the gate refuses of all tables together, and SQL that counts it."""

OF_A_TABLE = {
    "columns": ("other columns than the policy lets out, or in another order, of rows", "judged{i}.rows"),
    "unknown": ("rows that stand for none of the source, or for one that another row stands for", "judged{i}.unknown"),
    "untrue": ("rows with another unchanged value than the source", "judged{i}.untrue"),
    "uncovered": ("rows with published values that do not cover the original", "judged{i}.uncovered"),
    "finer": ("values that the policy does not let out as they are", "judged{i}.finer"),
    "order": ("rows that are not in the order of what they publish", "ordered{i}.rows"),
    "foreign": ("rows under the pseudonym of nobody or of another person", "foreign{i}.rows"),
    "lost": ("classes with fewer or more rows of a person than all of the class have", "classes.lost{i}"),
}
"""The same of one table."""


def _gate_say(function: str, refused: Mapping[str, tuple[str, str]], shown: str, i: int = 0) -> dict[str, Sql]:
    """What the release gate says, by a word for each check."""
    return {
        name: message(errors.GateRefused(function, f"{shown}: {what}", later(count.format(i=i))))
        for name, (what, count) in refused.items()
    }
