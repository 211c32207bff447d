"""The table function composition(): people whom two releases together reveal."""

from dbanon import errors
from dbanon.errors.example import SAFE, Example
from dbanon.ledger import releases
from dbanon.ledger.releases import LedgerEntry
from dbanon.sqltext import templates
from dbanon.sqltext.quote import Sql
from dbanon.table_functions import registry
from dbanon.table_functions.parameter_types import Integer
from dbanon.table_functions.parameters import Parameter
from dbanon.table_functions.table_function import Call, TableFunction


def composition(call: Call) -> Sql:
    """Return the SQL of the function composition: people whom two releases together narrow to too few candidates."""
    name = call.function.name
    first, second = (
        _version(call, releases.find_release(name, call.text(p), call.cursor, call.path), f"version_{p}") for p in "ab"
    )
    return composition_sql(name, first, second, with_unshared=True)


def _version(call: Call, latest: LedgerEntry, parameter: str) -> LedgerEntry:
    """Return the version of a release that a parameter requests, by default the latest.

    Raises:
        UnknownVersionError: There is no such version.
    """
    version = call.options.integer(parameter)
    if version is None:
        return latest
    versions = releases.entries(
        call.cursor, latest.database, "(schema_name, name) = (?, ?)", [latest.schema, latest.name]
    )
    entry = next((e for e in versions if e.version == version), None)
    if entry is None:
        raise errors.UnknownVersionError(
            latest.display_name, version, [(e.version, e.status) for e in versions], call.function.name
        )
    return entry


def composition_sql(function: str, first: LedgerEntry, second: LedgerEntry, with_unshared: bool = False) -> Sql:
    """Return the query of composition() for two versions; `with_unshared` adds people in one of them only.

    Raises:
        CompositionUnknownError: A version has no column that identifies people.
    """
    for entry in (first, second):
        if entry.person_key is None:
            raise errors.CompositionUnknownError(function, entry.display_name)
    sides = {"a": first, "b": second}
    sensitive_positions = {side: _sensitive_positions(entry) for side, entry in sides.items()}
    shared = (
        sorted(sensitive_positions["a"].keys() & sensitive_positions["b"].keys())
        if first.hash_format == second.hash_format
        else []
    )
    l_by_side = {side: _release_l(entry) for side, entry in sides.items()}
    return Sql(
        templates.fill(
            "ledger/composition/composition.sql",
            members={side: entry.members for side, entry in sides.items()},
            shared=[
                {"i": i, "a": sensitive_positions["a"][n], "b": sensitive_positions["b"][n]}
                for i, n in enumerate(shared)
            ],
            own={side: list(positions.values()) for side, positions in sensitive_positions.items()},
            alone=with_unshared,
            k=max(first.k, second.k),
            l=max(l_by_side.values()),
            least=l_by_side,
        )
    )


def _sensitive_positions(entry: LedgerEntry) -> dict[str, int]:
    """Return the position of each sensitive column among the column hashes of a version, by lower-case name."""
    if entry.bases is None:
        return {}
    return {c.lower(): i + 1 for i, c in enumerate(entry.values) if entry.roles[c] == "sensitive"}


def _release_l(entry: LedgerEntry) -> int:
    """Return the l of a release: the parameter of its call, or the default of its algorithm."""
    parameters = entry.call["parameters"]
    default_l = next(
        p.default for p in registry.resolve_function(entry.call["function"], parameters).parameters if p.name == "l"
    )
    return int(str(parameters.get("l") or default_l or 1))


FUNCTIONS = (
    TableFunction(
        "composition",
        ("a", "b"),
        tuple(Parameter(f"version_{p}", Integer(1), f"Which version of {p}; default the latest.") for p in "ab"),
        "People whose candidate set over two releases falls below k, or whose sensitive values below l; they may be in "
        "one of the two only.",
        handler=composition,
        example=Example(
            "SELECT * FROM composition('safe', 'safe_too') LIMIT 5;",
            (*SAFE, "CREATE MATERIALIZED ANONYMIZED VIEW safe_too AS SELECT * FROM mondrian('patients', k = 10);"),
        ),
    ),
)
