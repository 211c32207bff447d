"""Publish the releases that readers request, in a process that has the database."""

import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import duckdb

from dbanon.errors import DbanonError
from dbanon.integrations.quack.request_files import RequestFile
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
