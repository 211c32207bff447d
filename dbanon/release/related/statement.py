"""From related tables to the SQL text that publishes one of them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dbanon.gate import related_messages, statement_check
from dbanon.release.plan import plan
from dbanon.release.plan.clustering_request import cluster_request, request
from dbanon.release.plan.template_columns import TreeColumn
from dbanon.release.related import child_features, template_tables
from dbanon.release.related.related_tables import Relation, relation
from dbanon.release.related.template_tables import Own, TableView
from dbanon.release.spec import resolve
from dbanon.sqltext.quote import Sql, as_json, text
from dbanon.sqltext.templates import fill
from dbanon.table_functions.table_function import Call


def statement(call: Call) -> Sql:
    """Return the SQL of a call with `entity` or `children`; errors are those of `relation`."""
    return of(relation(call), str(call.function.kind))


def of(found: Relation, kind: str) -> Sql:
    """The SQL that gives the rows of the table that is asked for (`release`), the classes, the metrics, or all of the
    release at once (`together`)."""
    own, function = Own.of(found), found.entity.publication.function
    plans = [plan.plan(table.publication) for table in found.tables]
    of_children = child_features.features(found.tables, len(plans[0].columns.quasi))
    views = template_tables.views(found, plans, own, of_children)
    tables = [_filled(view, of, own) for view, of in zip(views, plans, strict=True)]
    values: dict[str, object] = {
        "tables": tables,
        "parent": tables[0],
        "children": tables[1:],
        "asked": tables[found.asked],
        "row": own.row,
        "person": own.person,
        "place": own.place,
        "cap": found.cap,
        "l": found.diversity,
        "holdings": _holdings(tables),
        "relations": [
            {"sql": said.fingerprint_sql, "then": text(said.fingerprint), "say": view.say["relation_changed"]}
            for said, view in zip(found.stored, views[1:], strict=True)
        ],
        "k": found.entity.publication.k,
        "clustered": _clustered(found, plans[0], [feature for of in of_children for feature in of], tables),
        "gate_say": related_messages.table_refusals(function, related_messages.ALL_TABLES_CHECKS, found.entity.shown),
    }
    made = fill(f"release/related/{kind}.sql", **values)
    if kind == "release":
        made = statement_check.check_last_select(
            function, made, statement_check.related_rows(tables[found.asked].step("leaving"), own.row, own.place)
        )
    elif kind == "metrics":
        made = statement_check.check_last_select(function, made, statement_check.related_metrics())
    return Sql(made)


def _filled(view: TableView, of: plan.Plan, own: Own) -> TableView:
    """Return the table with its two statements: what its rows publish, and how the gate judges them."""
    read = {"origin": view.step("rows"), "source_twice": True, "has_rowid": False, "key": own.row, "person": None}
    made = fill("release/related/person_clusters.sql", **(of.values | read), assigned=view.step("assigned"))
    names = {"row": own.row, "second": view.step("second"), "leaving": view.step("leaving")}
    judged = fill("gate/related_model_measures.sql", **of.values, **names)
    return replace(view, made=Sql(made), gate=replace(view.gate, judged=Sql(judged)))


@dataclass(frozen=True)
class _Holding:
    """A sensitive column of a table, and the number that it has there among what is published unchanged."""

    table: TableView
    name: str
    i: int


def _holdings(tables: Sequence[TableView]) -> list[_Holding]:
    """Return the sensitive columns of all tables."""
    return [_Holding(table, u.plain, u.i) for table in tables for u in table.unchanged if u.is_sensitive]


def _clustered(
    found: Relation, of: plan.Plan, more: Sequence[child_features.Feature], tables: Sequence[TableView]
) -> Sql:
    """Return the statement that clusters people, by what they are and by the features of their rows."""
    people = found.entity.publication
    wider = replace(people, attributes=(*people.attributes, *(feature.attribute for feature in more)))
    running = resolve.running(wider, found.algorithm)
    own = plan.plan(replace(running, attributes=people.attributes))
    quasi = (*(child_features.as_read(q, q.plain) for q in of.columns.quasi), *(feature.column for feature in more))
    trees = tuple(q for q in quasi if isinstance(q, TreeColumn))
    unchanged = tuple(replace(u, read=Sql(f"u{u.i}")) for u in own.columns.unchanged)
    columns = replace(own.columns, quasi=quasi, ranged=quasi, trees=trees, unchanged=unchanged)
    read = {
        "origin": Sql("persons"),
        "source_twice": True,
        "has_rowid": True,
        "key": Sql("rowid"),
        "request": cluster_request(running),
        "l": found.diversity,
        "cap": found.cap,
        "children": tables[1:],
        "diversify": as_json(request(running) | {"l": found.diversity, "held": _held(tables)}),
    }
    return Sql(fill("release/related/clustered_people.sql", **(replace(own, columns=columns).values | read)))


def _held(tables: Sequence[TableView]) -> list[dict[str, object]]:
    """What the merging of clusters is told of the sensitive columns."""
    return [{"name": f"{h.table.shown}.{h.name}", "table": h.table.i} for h in _holdings(tables)]
