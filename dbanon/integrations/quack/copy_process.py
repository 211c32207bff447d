"""The process that opens the source, publishes requested releases, copies what is published, and ends."""

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb

from dbanon.errors import DbanonError
from dbanon.errors.exit_codes import error_outcome
from dbanon.integrations.quack import custodian_work, published_copy, request_files, subprocesses
from dbanon.runtime import storage_version
from dbanon.udf import install


def run_copy_process(database: Path, folder: Path) -> dict[str, Any]:
    """Publish requested releases and copy what is published, in a process of its own; return its result.

    Returns:
        A dictionary: `left_out` (releases that are not served, with reasons) and `made` (messages about requests); or
            `error`, and `busy`: whether another process had the database.
    """
    output, _ = subprocesses.start(__name__, {"database": str(database), "folder": str(folder)}).communicate()
    return json.loads(output.strip().split("\n")[-1]) if output.strip() else {"error": "it ended early"}


def main(job: Mapping[str, Any]) -> int:
    """Publish requested releases, copy what is published, and print the result as JSON; return 0, or 1 after an error.

    The database is opened for writing only if there are requests; then the readers are recorded, too. `job` has the
    paths `database` and `folder`.
    """
    database, folder = Path(job["database"]), Path(job["folder"])
    try:
        has_requests = request_files.has_requests(folder)
        with storage_version.translate_version_errors(database):
            connection = duckdb.connect(str(database), read_only=not has_requests)
        install.attach(connection, catalog=has_requests)
        with request_files.take_requests(folder) if has_requests else contextlib.nullcontext(()) as requests:
            messages = list(custodian_work.fulfil(connection, requests))
            copy = published_copy.refresh_copy(connection, folder)
        if has_requests:
            custodian_work.record_readers(connection, database, [name for name, _ in copy.omitted])
        connection.close()
    except (DbanonError, duckdb.Error, OSError) as error:
        print(json.dumps({"error": str(error).split("\n")[0], "busy": error_outcome(error) == "busy"}), flush=True)
        return 1
    print(json.dumps({"left_out": copy.omitted, "made": messages}), flush=True)
    return 0
