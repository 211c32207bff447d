"""Check published files against the certificate next to them."""

import csv
import hashlib
from collections.abc import Mapping
from pathlib import Path

import duckdb

from dbanon import errors
from dbanon.publishing.certificate import FILES_SECTION
from dbanon.runtime.csv_formulas import unescape_cell
from dbanon.sqltext import names
from dbanon.sqltext.quote import one_line, text


def verify(path: str | Path) -> list[str]:
    """Return the problems of published files: an empty list if all are as they were published.

    The SHA-256 of each file is compared with the certificate. The certificate is not signed: anyone who changes the
    release can write a certificate for it. Compare it with one that you received another way.

    Args:
        path: The file of the release (.parquet, .csv), or a folder, in which every certificate is checked.

    Returns:
        One sentence per problem, beginning with the name of the certificate.

    Raises:
        InvalidArgumentError: There is no certificate.

    >>> import tempfile
    >>> from dbanon.api.connection import connect
    >>> from dbanon.api.publish import publish
    >>> from dbanon.views.materialize import create_release
    >>> con = connect()
    >>> _ = con.execute("CREATE TABLE people AS SELECT unnest([21, 23, 61, 65]) AS age")
    >>> _ = create_release(con, "safe", "mdav", "people", k=2, qi=["age"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     verify(publish(con, "safe", f"{folder}/safe.parquet")[0])
    []
    """
    target = Path(path)
    certificates = [target.with_name(f"{target.stem}_certificate{target.suffix}")]
    if target.is_dir():
        certificates = sorted(p for e in ("parquet", "csv") for p in target.glob(f"*_certificate.{e}"))
    certificates = [p for p in certificates if p.is_file() and p.suffix.lower() in (".parquet", ".csv")]
    if not certificates:
        accepts = "a .parquet or .csv file that publish wrote, beside its certificate, or a folder with such files"
        raise errors.InvalidArgumentError("verify", "path", accepts, str(path))
    return [
        f"{certificate.name}: {problem}"
        for certificate in certificates
        for problem in _certificate_problems(certificate)
    ]


def _certificate_problems(certificate: Path) -> list[str]:
    """Return how published files differ from what their certificate records; an empty list if nothing differs.

    Problems are: a file is missing or has another hash; the text form of the certificate is missing or names other
    hashes; the certificate names no files.
    """
    hashes = _certificate_hashes(certificate)
    if not hashes:
        return ["it names no files, as those of earlier versions of dbanon"]
    problems = []
    for name, expected in hashes.items():
        file = certificate.with_name(name) if name == Path(name).name else None
        if file is None or not file.is_file():
            problems.append(f"{name} is missing")
        elif _file_hash(file) != expected:
            problems.append(f"{name} is not the file that it was written for")
    read = certificate.with_name(f"{certificate.name}.txt")
    lines = read.read_text(encoding="utf-8").split("\n") if read.is_file() else []
    if not lines:
        problems.append(f"{read.name} is missing")
    elif any(f"  {one_line(f'{name}: {value}')}" not in lines for name, value in hashes.items()):
        problems.append(f"{read.name} is that of other files")
    return problems


def _certificate_hashes(certificate: Path) -> Mapping[str, str]:
    """Return the SHA-256 of the published files by their names, as a CSV or Parquet certificate records them."""
    if certificate.suffix.lower() == ".csv":
        with certificate.open(newline="", encoding="utf-8") as file:
            cells = [
                [unescape_cell(row[name]) for name in ("section", "item", "value")] for row in csv.DictReader(file)
            ]
            rows = [(section, label, value) for section, label, value in cells]
    else:
        with duckdb.connect() as connection:
            name = names.escape_glob(str(certificate))
            rows = connection.execute(f"SELECT section, item, value FROM read_parquet({text(name)})").fetchall()
    return {label: value for section, label, value in rows if section == FILES_SECTION}


def _file_hash(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
