"""Makes what readers ask to be released, in a process that has the database."""

import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import duckdb

from dbanon.errors import DbanonError
from dbanon.integrations.quack.request_files import Request
from dbanon.views import release_requests


def made(connection: Any, waiting: Iterable[Request]) -> Iterator[str]:
    """Answer requests one by one; return what came of each, for whoever runs the server."""
    for request in waiting:
        who = f"{request.reader} asked for {request.algorithm} of {request.source!r:.60}"
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what a release discloses beside others is refused, not warned of
                found = release_requests.fulfil_request(
                    connection, request.reader, request.algorithm, request.source, request.given
                )
        except (DbanonError, duckdb.Error) as error:
            yield f"{who}: {str(error).splitlines()[0]}"
        else:
            came = f"it is {'.'.join(found.release)}" if found.release else "it is refused, dbanon.asked says why"
            yield f"{found.asking.said}, asked for by {request.reader}: {came}"
