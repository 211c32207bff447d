"""The report's table of who got a version, from the ledger of published files."""

from dbanon.ledger import published_files
from dbanon.publishing.report.blocks import ReportQuery, ResultTable
from dbanon.publishing.report.queries import ReleaseReader
from dbanon.source import catalog
from dbanon.sqltext.qualify_builtins import qualify_builtins
from dbanon.sqltext.quote import Sql, join_sql, literal, qualified, text

N_FILES = 3
"""Published files that are listed."""


def files_table(reader: ReleaseReader) -> ResultTable | None:
    """Return the last published files of a version with their recipients; None if the ledger has no such table."""
    entry = reader.entry
    if not catalog.has_table(reader.cursor, entry.database, published_files.TABLE):
        return None
    key = join_sql([text(entry.schema), text(entry.name), literal(entry.version)])

    def query(database: str) -> Sql:
        """Return the query for the ledger in a database."""
        return Sql(
            "SELECT strftime(published_at, '%Y-%m-%d %H:%M'), regexp_extract(file, '[^/\\\\]*$'), "
            "coalesce(recipient, 'not stated'), coalesce(purpose, 'not stated'), sha256[:12]\n"
            f"FROM {qualified(database, catalog.SCHEMA, published_files.TABLE)}\n"
            f"WHERE (schema_name, name, version) = ({key}) AND content = 'release'\n"
            f"ORDER BY published_at DESC, file ASC, recipient ASC NULLS FIRST LIMIT {N_FILES}"
        )

    files_query = ReportQuery(query(""), qualify_builtins(query(entry.database)))
    head = ("published at (UTC)", "file", "recipient", "purpose", "SHA-256 begins with")
    return reader.table(f"Published files of this version (at most {N_FILES}, the newest first)", head, files_query)
