"""The dbt package that comes with the plugin: materialization, tests and macros, which dbt reads from a folder."""

from __future__ import annotations

import shutil
from pathlib import Path

FOLDER = Path(__file__).parent / "package"


def packages_yml(folder: str | Path) -> str:
    """What the packages.yml of a project says of the package in a folder."""
    return f"packages:\n  - local: {str(folder)!r}\n"


def copy(to: Path) -> int:
    """Copies the package into a folder, over what is there of another version; the number of files."""
    files = sorted(path.relative_to(FOLDER) for path in FOLDER.rglob("*") if path.is_file())
    for file in files:
        (to / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(FOLDER / file, to / file)
    return len(files)
