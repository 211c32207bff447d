"""Write the statement that publishes one of several related tables."""

from collections.abc import Sequence
from dataclasses import replace

from dbanon.gate import messages, statement_check
from dbanon.release.plan import plan
from dbanon.release.plan.clustering_request import cluster_request, cluster_request_json
from dbanon.release.plan.passthrough_column import PassthroughColumn
from dbanon.release.plan.template_columns import TreeColumn
from dbanon.release.related import child_features, template_tables
from dbanon.release.related.related_tables import RelatedTables, resolve_related_tables
from dbanon.release.related.template_tables import ReservedNames, TableView
from dbanon.release.spec import resolve
from dbanon.sqltext.quote import Sql, as_json, text
from dbanon.sqltext.templates import fill
from dbanon.table_functions.table_function import Call


def related_tables_sql(call: Call) -> Sql:
    """Return the SQL of a call with `entity` or `children`: rows, classes or metrics of the called table.

    Raises:
        DbanonError: See `resolve_related_tables` and `fill_related_template`.
    """
    return fill_related_template(resolve_related_tables(call), str(call.function.kind))


def fill_related_template(related: RelatedTables, kind: str) -> Sql:
    """Return the SQL of one kind of result of related tables.

    Args:
        related: The tables.
        kind: `release`, `classes` or `metrics` of the called table, or `all_tables` for the rows of every table.

    Raises:
        GateRefusedError: The statement does not end with the SELECT that the gate expects (`release` and `metrics`).
    """
    reserved, function = ReservedNames.for_tables(related), related.entity.spec.function
    plans = [plan.make_plan(table.spec) for table in related.tables]
    features_by_table = child_features.child_features(related.tables, len(plans[0].columns.quasi))
    views = template_tables.table_views(related, plans, reserved, features_by_table)
    tables = [_with_statements(view, table_plan, reserved) for view, table_plan in zip(views, plans, strict=True)]
    values: dict[str, object] = {
        "tables": tables,
        "parent": tables[0],
        "children": tables[1:],
        "asked": tables[related.called_index],
        "row": reserved.row,
        "person": reserved.person,
        "place": reserved.place,
        "cap": related.max_children,
        "l": related.min_diversity,
        "holdings": [{"table": table, "column": column.column} for table, column in _sensitive_columns(tables)],
        "relations": [
            {
                "sql": stored_keys.fingerprint_sql,
                "then": text(stored_keys.fingerprint),
                "say": view.say["relation_changed"],
            }
            for stored_keys, view in zip(related.stored_keys, views[1:], strict=True)
        ],
        "k": related.entity.spec.k,
        "clustered": _clustering_sql(
            related, plans[0], [feature for features in features_by_table for feature in features], tables
        ),
        "gate_say": messages.table_refusals(function, messages.ALL_TABLES_CHECKS, related.entity.display_name),
    }
    statement = fill(f"release/related/{kind}.sql", **values)
    if kind == "release":
        statement = statement_check.check_last_select(
            function,
            statement,
            statement_check.related_rows(
                tables[related.called_index].step("published rows"), reserved.row, reserved.place
            ),
        )
    elif kind == "metrics":
        statement = statement_check.check_last_select(function, statement, statement_check.related_metrics())
    return Sql(statement)


def _with_statements(view: TableView, table_plan: plan.Plan, reserved: ReservedNames) -> TableView:
    """Return a copy of a table with its two statements, `clusters_sql` and `gate.measures_sql`.

    They are for the published values of its rows, and for the measures of the gate.

    Args:
        view: The table as templates read it.
        table_plan: The plan of the table.
        reserved: Names of added columns.
    """
    reread_values = {
        "origin": view.step("rows"),
        "rereads_source": True,
        "has_rowid": False,
        "key": reserved.row,
        "person": None,
    }
    clusters_sql = fill(
        "release/related/person_clusters.sql",
        **(table_plan.template_values | reread_values),
        assigned=view.step("assigned"),
    )
    names = {"row": reserved.row, "second": view.step("second"), "leaving": view.step("published rows")}
    measures_sql = fill("gate/related_model_measures.sql", **table_plan.template_values, **names)
    return replace(view, clusters_sql=Sql(clusters_sql), gate=replace(view.gate, measures_sql=Sql(measures_sql)))


def _sensitive_columns(tables: Sequence[TableView]) -> list[tuple[TableView, PassthroughColumn]]:
    """Return the sensitive columns of all tables, each with its table, in the order of the tables."""
    return [(table, column) for table in tables for column in table.unchanged if column.is_sensitive]


def _clustering_sql(
    related: RelatedTables,
    people_plan: plan.Plan,
    features: Sequence[child_features.Feature],
    tables: Sequence[TableView],
) -> Sql:
    """Return the statement that clusters persons by their own attributes and the features of their rows.

    Args:
        related: The related tables.
        people_plan: The plan of the parent table.
        features: The features (attributes derived from rows of child tables) of all tables.
        tables: All tables as templates read them.
    """
    people_spec = related.entity.spec
    extended_spec = replace(
        people_spec, attributes=(*people_spec.attributes, *(feature.attribute for feature in features))
    )
    run_spec = resolve.with_run_settings(extended_spec, related.algorithm)
    run_plan = plan.make_plan(replace(run_spec, attributes=people_spec.attributes))
    quasi = (
        *(child_features.reread_column(q, q.raw_name) for q in people_plan.columns.quasi),
        *(feature.column for feature in features),
    )
    trees = tuple(q for q in quasi if isinstance(q, TreeColumn))
    unchanged = tuple(replace(u, source_value=u.column) for u in run_plan.columns.unchanged)
    merged_columns = [
        {"name": f"{table.display_name}.{column.raw_name}", "table": table.i}
        for table, column in _sensitive_columns(tables)
    ]
    columns = replace(run_plan.columns, quasi=quasi, generalized=quasi, trees=trees, unchanged=unchanged)
    values = {
        "origin": Sql("persons"),
        "rereads_source": True,
        "has_rowid": True,
        "key": Sql("rowid"),
        "request": cluster_request_json(run_spec),
        "l": related.min_diversity,
        "cap": related.max_children,
        "children": tables[1:],
        "diversify": as_json(cluster_request(run_spec) | {"l": related.min_diversity, "held": merged_columns}),
    }
    return Sql(
        fill("release/related/clustered_people.sql", **(replace(run_plan, columns=columns).template_values | values))
    )
