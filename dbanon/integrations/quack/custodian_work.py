"""Work for readers in a process that has the database: publish what they request, and record what they get."""

import warnings
from collections.abc import Collection, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb

from dbanon.errors import DbanonError
from dbanon.integrations.quack import published_copy, tokens
from dbanon.integrations.quack.request_files import RequestFile
from dbanon.ledger import hashes, published_files, releases
from dbanon.ledger.published_files import Handover, PublishedFile
from dbanon.ledger.releases import LedgerEntry
from dbanon.runtime import session
from dbanon.source.catalog import SearchPath
from dbanon.views import release_requests


def fulfil(connection: Any, requests: Iterable[RequestFile]) -> Iterator[str]:
    """Publish or refuse the requested releases one by one; yield a message for the operator about each outcome.

    The outcome is stored in the database. An error of one request is reported and does not stop the others.
    """
    for request in requests:
        request_label = f"{request.reader} asked for {request.algorithm} of {request.source!r:.60}"
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # disclosure through several releases is refused here
                outcome = release_requests.fulfil_request(
                    connection, request.reader, request.algorithm, request.source, request.parameters
                )
        except (DbanonError, duckdb.Error) as error:
            yield f"{request_label}: {str(error).splitlines()[0]}"
        else:
            result_text = (
                f"it is published as {'.'.join(outcome.release)}"
                if outcome.release
                else "it is refused; dbanon.release_request has the reason"
            )
            yield f"{outcome.request.description}, asked for by {request.reader}: {result_text}"


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
