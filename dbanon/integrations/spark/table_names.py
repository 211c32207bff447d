"""Names of tables as a caller writes them for Spark or DuckDB."""

import re

from dbanon.sqltext import names
from dbanon.sqltext.quote import identifier

_PARTS = re.compile(r'(?:`(?:[^`]|``)+`|"(?:[^"]|"")+"|[^`".]+)(?:\.(?:`(?:[^`]|``)+`|"(?:[^"]|"")+"|[^`".]+))*')
_PART = re.compile(r"`((?:[^`]|``)+)`")


def duckdb_name(name: str) -> str:
    """Return a table's name with double quotes in place of Spark's backquotes; any other text unchanged.

    Examples:
        >>> duckdb_name("clinic.`odd name`"), duckdb_name("patients")
        ('clinic."odd name"', 'patients')
    """
    if "`" not in name or not _PARTS.fullmatch(name):
        return name
    return _PART.sub(lambda part: str(identifier(part[1].replace("``", "`"))), name)


def duckdb_parts(name: str) -> tuple[str, ...]:
    """Split a table's name, with backquotes or double quotes, into its one to three parts without quotes.

    A text that is no name is returned as one part.

    Examples:
        >>> duckdb_parts("clinic.`odd name`"), duckdb_parts("odd name")
        (('clinic', 'odd name'), ('odd name',))
    """
    spelled = duckdb_name(name)
    return names.table_parts(spelled) or (spelled,)


def joined_name(parts: tuple[str, ...]) -> str:
    """Join the parts of a name with dots, as DuckDB writes it: a part is in double quotes where necessary.

    Examples:
        >>> joined_name(("clinic", "odd name"))
        'clinic."odd name"'
    """
    return ".".join(part if names.table_parts(part) == (part,) else str(identifier(part)) for part in parts)
