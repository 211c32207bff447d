"""Log requests to a server: one JSON object per line, with functions and reasons, never statements or values."""

import json
import os
import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path


class AuditLog:
    """A file to which one JSON object per line is appended; without a path nothing is logged."""

    def __init__(self, path: Path | None) -> None:
        """Create the file, readable only by its owner, if it does not exist."""
        self.path = path
        self._lock = threading.Lock()
        if path is not None:
            os.close(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600))

    def record(
        self, event: str, token_name: str | None, session: str, functions: Sequence[str] = (), reason: str = ""
    ) -> None:
        """Append an entry with the current time in UTC; safe to call from several threads.

        The keys of the JSON object are `at`, `event`, `who`, `session`, and `functions` and `why` unless they are
        empty. Without a path, do nothing.

        Args:
            event: What happened.
            token_name: Name of the token; None if there is none.
            session: Identifier of the session. Only the first 8 characters are written, because anyone who has all of
                it could use the session.
            functions: Names of the functions that the statement calls.
            reason: Why the statement was refused or failed.
        """
        if self.path is None:
            return
        entry = {
            "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "event": event,
            "who": token_name,
            "session": session[:8],
        }
        if functions:
            entry["functions"] = list(functions)  # type: ignore[assignment]
        if reason:
            entry["why"] = reason
        with self._lock, self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
