"""Record in the ledger which readers of a server get which releases."""

from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dbanon.integrations.quack import published_copy, tokens
from dbanon.ledger import hashes, published_files, releases
from dbanon.ledger.published_files import Handover, PublishedFile
from dbanon.ledger.releases import LedgerEntry
from dbanon.runtime import session
from dbanon.source.catalog import SearchPath


def record_readers(connection: Any, database: Path, omitted: Collection[str]) -> bool:
    """Add a row to the ledger for every published release and reader that it does not list yet.

    Readers are the names of the tokens with the role `reader` that have not expired.

    Args:
        connection: A connection to the database, with dbanon attached.
        database: The file of the database, next to which the tokens are.
        omitted: Names of releases that are not served.

    Returns:
        False if rows are missing because the connection is read-only; else True.
    """
    attached = session.find_session(session.plain_connection(connection))
    name = SearchPath.from_connection(connection).places[0][0]
    with attached.cursor() as cursor:
        for entry in releases.entries(cursor, name, "status = 'published'"):
            files = [] if entry.display_name in omitted else _reader_files(cursor, entry, database)
            if new_files := published_files.unlisted_files(cursor, entry, files):
                if not published_files.is_writable(cursor, name):
                    return False
                published_files.record_files(attached, cursor, entry, new_files)
    return True


def _reader_files(cursor: Any, entry: LedgerEntry, database: Path) -> list[PublishedFile]:
    """Return a row for every reader of a version."""
    now = datetime.now(UTC)
    content_hash = hashes.release_hash(cursor, entry)
    served = str(published_copy.copy_folder(database).absolute())
    return [
        PublishedFile("server", "release", served, content_hash, now.replace(tzinfo=None), Handover(token.name))
        for token in tokens.read_tokens(tokens.token_file(database))
        if token.role == "reader" and token.is_valid(now)
    ]
