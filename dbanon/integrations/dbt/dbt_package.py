"""The dbt package that comes with the plugin: materialization, tests and macros, which dbt reads from a folder."""

import json
import re
from pathlib import Path

from dbanon.runtime import output_files

FOLDER = Path(__file__).parent / "package"


def packages_yml(folder: str | Path) -> str:
    """Return the text of a dbt project's packages.yml that names the local package in `folder`.

    A path with characters other than letters, digits, `_`, `.`, `/` and `-` is quoted as JSON text, which YAML accepts.
    """
    place = str(folder)
    if not re.fullmatch(r"[\w./-]+", place):  # YAML takes a JSON text for what it is
        place = json.dumps(place, ensure_ascii=False)
    return f"packages:\n  - local: {place}\n"


def copy_package(folder: str | Path, *, overwrite: bool = False) -> list[Path]:
    """Copy dbanon's dbt package into a folder, which is created if missing, and return the paths of the new files.

    Raises:
        TargetNotLocalError: The folder is not on this machine.
        TargetExistsError: A file exists, and `overwrite` is false; nothing is written then.
        WriteFailedError: A file could not be written.
    """
    files = sorted(path.relative_to(FOLDER) for path in FOLDER.rglob("*") if path.is_file())
    texts = {
        output_files.local_target("dbt", folder) / file: (FOLDER / file).read_text(encoding="utf-8") for file in files
    }
    output_files.write_texts("dbt", folder, texts, overwrite=overwrite)
    return list(texts)
