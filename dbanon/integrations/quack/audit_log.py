"""Who asked when: one JSON object a line. Names of functions and reasons, never statements or values."""

import json
import os
import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path


class Journal:
    """A file that is written to its end; None: nothing is kept."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._lock = threading.Lock()
        if path is not None:
            os.close(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600))

    def note(self, event: str, who: str | None, session: str, functions: Sequence[str] = (), why: str = "") -> None:
        """Write what happened; `session` is shortened, as whoever knows the whole of it can use the session."""
        if self.path is None:
            return
        line = {
            "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "event": event,
            "who": who,
            "session": session[:8],
        }
        if functions:
            line["functions"] = list(functions)  # type: ignore[assignment]
        if why:
            line["why"] = why
        with self._lock, self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
