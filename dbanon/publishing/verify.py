"""Whether the files that lie beside a certificate are those that it was written for."""

import csv
import hashlib
from collections.abc import Mapping
from pathlib import Path

import duckdb

from dbanon import errors
from dbanon.publishing.certificate import FILES
from dbanon.runtime.csv_formulas import unescape_cell
from dbanon.sqltext import names
from dbanon.sqltext.quote import one_line, text


def verify(path: str | Path) -> list[str]:
    """What is wrong with published files, beginning with their certificate: nothing if all is as it was published.

    `path` is the file of the release (.parquet, .csv), or a folder, of which every certificate is looked at. Compared
    are the files' SHA-256 and those that the certificate names. It is not signed: who changes the release can write a
    certificate for it; compare with one that came another way. InvalidArgumentError where there is no certificate.
    """
    given = Path(path)
    found = [given.with_name(f"{given.stem}_certificate{given.suffix}")]
    if given.is_dir():
        found = sorted(p for e in ("parquet", "csv") for p in given.glob(f"*_certificate.{e}"))
    found = [p for p in found if p.is_file() and p.suffix.lower() in (".parquet", ".csv")]
    if not found:
        accepts = "a .parquet or .csv file that publish wrote, beside its certificate, or a folder with such files"
        raise errors.InvalidArgumentError("verify", "path", accepts, str(path))
    return [f"{certificate.name}: {problem}" for certificate in found for problem in _problems(certificate)]


def _problems(certificate: Path) -> list[str]:
    hashes = _hashes(certificate)
    if not hashes:
        return ["it names no files, as those of earlier versions of dbanon"]
    found = []
    for name, expected in hashes.items():
        beside = certificate.with_name(name) if name == Path(name).name else None
        if beside is None or not beside.is_file():
            found.append(f"{name} is missing")
        elif _hashed(beside) != expected:
            found.append(f"{name} is not the file that it was written for")
    read = certificate.with_name(f"{certificate.name}.txt")
    said = read.read_text(encoding="utf-8").split("\n") if read.is_file() else []
    if not said:
        found.append(f"{read.name} is missing")
    elif any(f"  {one_line(f'{name}: {value}')}" not in said for name, value in hashes.items()):
        found.append(f"{read.name} is that of other files")
    return found


def _hashes(certificate: Path) -> Mapping[str, str]:
    """Return the SHA-256 of files by their names, as a certificate has them."""
    if certificate.suffix.lower() == ".csv":
        with certificate.open(newline="", encoding="utf-8") as file:
            cells = [
                [unescape_cell(row[name]) for name in ("section", "item", "value")] for row in csv.DictReader(file)
            ]
            rows = [(section, item, value) for section, item, value in cells]
    else:
        with duckdb.connect() as plain:
            name = names.escape_glob(str(certificate))
            rows = plain.execute(f"SELECT section, item, value FROM read_parquet({text(name)})").fetchall()
    return {item: value for section, item, value in rows if section == FILES}


def _hashed(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
