"""Table functions that list hierarchies, check them, and find values that they lack."""

from dbanon import errors
from dbanon.errors.example import Example
from dbanon.policy.hierarchies import hierarchy_sql, lookup
from dbanon.policy.hierarchies.value_labels import has_notations, leaf_shapes, value_label
from dbanon.source import catalog, missing_codes, stored_policy
from dbanon.sqltext import resources
from dbanon.sqltext.names import fold_case
from dbanon.sqltext.quote import Sql, identifier, literal_rows, qualified, text
from dbanon.sqltext.templates import fill
from dbanon.table_functions.parameter_types import Text
from dbanon.table_functions.parameters import Parameter
from dbanon.table_functions.table_function import Call, TableFunction


def hierarchies_sql(call: Call) -> Sql:
    """Return the SQL of hierarchies(): kind, database and name of stored and shipped hierarchies.

    Shipped ones come with dbanon; their database is NULL, and they follow the stored ones.
    """
    rows: list[list[object]] = [
        ["stored", database, name]
        for database in call.attached_databases()
        for name in catalog.stored_hierarchies(call.cursor, database)
    ]
    rows += [["shipped", None, name] for name in resources.shipped_hierarchies()]
    return literal_rows({"kind": "VARCHAR", "database_name": "VARCHAR", "name": "VARCHAR"}, rows)


def hierarchy_problems_sql(call: Call) -> Sql:
    """Return the SQL of hierarchy_problems(): errors in the hierarchies stored in all attached databases."""
    tables = [
        {"database": text(db), "table": qualified(db, catalog.SCHEMA, "hierarchy")}
        for db in call.attached_databases()
        if catalog.has_table(call.cursor, db, "hierarchy")
    ]
    return Sql(fill("policy/hierarchies/problems.sql", tables=tables))


def uncovered_sql(call: Call) -> Sql:
    """Return the SQL of uncovered_values(table, column): values that the hierarchy lacks, and values that it reserves.

    A value is 'missing' if it is no label of the given or declared hierarchy. It is 'reserved' if it is `*` or the
    label of an inner node, so that a reader could not distinguish it from a generalized value. Without a hierarchy,
    only `*` is reported. Codes for missing values are read as NULL and are not reported.

    Raises:
        UnknownTableError, UnknownColumnError, UnknownHierarchyError: A name does not exist.
    """
    source = call.source()
    column = call.column(source)
    hierarchy_name = call.options.text("hierarchy")
    declared = stored_policy.policy_of(source, call.cursor).declared
    is_declared = hierarchy_name is None
    if is_declared:
        declared_names = (d.settings.hierarchy for d in declared if fold_case(d.column) == fold_case(column))
        hierarchy_name = next(filter(None, declared_names), None)
    rows: Sql | None = None
    shapes: tuple[str, ...] = ()
    if hierarchy_name is not None:
        hierarchy = lookup.find_hierarchy(call, hierarchy_name, source, is_declared)
        if hierarchy is None:
            raise errors.UnknownHierarchyError(
                call.function.name,
                hierarchy_name,
                f"of {source.shown}.{column}",
                lookup.hierarchy_names(call, source, is_declared),
            )
        rows = hierarchy_sql.rows(hierarchy)
        is_sensitive = any(d.role.lower() == "sensitive" for d in declared if fold_case(d.column) == fold_case(column))
        if has_notations(source.columns[column]) and not is_sensitive:
            shapes = leaf_shapes(call.cursor, hierarchy)
    cleaned_source, name = missing_codes.without_codes(source, declared, call.holds), identifier(column)
    return Sql(
        fill(
            "policy/hierarchies/uncovered_values.sql",
            source=cleaned_source.rows,
            column=name,
            label=value_label(name, source.columns[column], shapes),
            rows=rows,
        )
    )


FUNCTIONS = (
    TableFunction(
        "hierarchies",
        (),
        (),
        "Lists the hierarchies that you can name: those that are stored and those that are shipped with dbanon.",
        handler=hierarchies_sql,
        example=Example("SELECT * FROM hierarchies();"),
    ),
    TableFunction(
        "hierarchy_problems",
        (),
        (),
        "Lists the stored hierarchies that are not a single tree, with the reason.",
        handler=hierarchy_problems_sql,
        example=Example("SELECT * FROM hierarchy_problems();"),
    ),
    TableFunction(
        "uncovered_values",
        ("tbl", "col"),
        (Parameter("hierarchy", Text("a hierarchy's name"), "Hierarchy to use instead of the declared one."),),
        "Lists the values of a column that are not in its hierarchy, or that a reader could not distinguish from "
        "generalized values.",
        handler=uncovered_sql,
        example=Example("SELECT * FROM uncovered_values('patients', 'occupation', hierarchy = 'adult_occupation');"),
    ),
)
