"""Messages about related tables and their keys, as SQL that makes the text while the statement runs."""

from dbanon import errors
from dbanon.release.related.related_tables import Related
from dbanon.sqltext.quote import Sql
from dbanon.sqltext.templates import error_sql, sql_placeholder


def of_keys(table: Related, entity: Related) -> dict[str, Sql]:
    """What a table or its keys may be wrong in."""
    function, count = table.publication.function, sql_placeholder("count(*)")
    said = {
        "relation_changed": errors.PolicyChangedError(function, table.shown),
        "empty": errors.EmptySourceError(function, table.shown),
        "missing": errors.NullKeyError(function, table.shown, table.key, count),
        "repeated": errors.DuplicateKeyError(function, table.shown, table.key, count),
        "orphans": errors.OrphanRowsError(function, table.shown, entity.shown, table.key, count),
    }
    return {name: error_sql(error) for name, error in said.items()}
