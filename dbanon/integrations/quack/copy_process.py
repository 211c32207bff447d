"""The process that opens the source, makes what readers asked for, copies what is published, and ends."""

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb

from dbanon.errors import DbanonError
from dbanon.errors.exit_codes import outcome
from dbanon.integrations.quack import fulfil_requests, published_copy, request_files, subprocesses
from dbanon.runtime import storage_version
from dbanon.udf import install


def copied(database: Path, folder: Path) -> dict[str, Any]:
    """Copies in a process of its own; what came of it: `left_out` and what was `made`, or `error` and whether another
    process was in the way (`busy`)."""
    process = subprocesses.begun(__name__, {"database": str(database), "folder": str(folder)})
    said, _ = process.communicate()
    answer: dict[str, Any] = json.loads(said.strip().split("\n")[-1]) if said.strip() else {"error": "it ended early"}
    return answer


def main(job: Mapping[str, Any]) -> int:
    """Copies, and says what came of it. The database is opened for writing only where readers ask for a release."""
    database, folder = Path(job["database"]), Path(job["folder"])
    try:
        asks = request_files.waiting(folder)
        with storage_version.translate_version_errors(database):
            connection = duckdb.connect(str(database), read_only=not asks)
        install.attach(connection, catalog=asks)
        with request_files.taken(folder) if asks else contextlib.nullcontext(()) as waiting:
            made = list(fulfil_requests.made(connection, waiting))
            copies = published_copy.refreshed(connection, folder)
        connection.close()
    except (DbanonError, duckdb.Error, OSError) as error:
        said = str(error).split("\n")[0]
        print(json.dumps({"error": said, "busy": outcome(error) == "busy"}), flush=True)
        return 1
    print(json.dumps({"left_out": copies.left_out, "made": made}), flush=True)
    return 0
