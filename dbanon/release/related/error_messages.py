"""Write error messages about related tables and their keys as SQL, which completes them while the statement runs."""

from dbanon import errors
from dbanon.release.related.related_tables import RelatedTable
from dbanon.sqltext.messages import error_sql, sql_placeholder
from dbanon.sqltext.quote import Sql


def key_error_messages(table: RelatedTable, entity: RelatedTable) -> dict[str, Sql]:
    """Return the error messages about a related table and its key by name, each as a SQL expression of a text.

    The names are relation_changed, empty, missing, repeated and orphans. Nothing is checked here. `entity` is the
    parent table (one row per person).
    """
    function, row_count = table.spec.function, sql_placeholder("count(*)")
    error_by_name = {
        "relation_changed": errors.PolicyChangedError(function, table.display_name),
        "empty": errors.EmptySourceError(function, table.display_name),
        "missing": errors.NullKeyError(function, table.display_name, table.key, row_count),
        "repeated": errors.DuplicateKeyError(function, table.display_name, table.key, row_count),
        "orphans": errors.OrphanRowsError(function, table.display_name, entity.display_name, table.key, row_count),
    }
    return {name: error_sql(error) for name, error in error_by_name.items()}
