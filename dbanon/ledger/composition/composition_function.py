"""The table function composition(): people whom two releases together reveal."""

from dbanon import errors
from dbanon.errors.example import SAFE, Example
from dbanon.ledger import releases
from dbanon.ledger.releases import LedgerEntry
from dbanon.sqltext import templates
from dbanon.sqltext.names import fold_case
from dbanon.sqltext.quote import Sql
from dbanon.table_functions import registry
from dbanon.table_functions.parameter_types import Integer
from dbanon.table_functions.parameters import Parameter
from dbanon.table_functions.table_function import Call, TableFunction


def composition(call: Call) -> Sql:
    """Return the SQL of composition(): people whom two releases together narrow to too few candidates.

    Each of the arguments `a` and `b` of the call names a release; `version_a` and `version_b` select a version, by
    default the latest. People who are in one of the two versions only are included.
    """
    name = call.function.name
    first, second = (
        _version(call, releases.find_release(name, call.text(p), call.cursor, call.path), f"version_{p}") for p in "ab"
    )
    return composition_sql(name, first, second, with_unshared=True)


def _version(call: Call, latest: LedgerEntry, parameter: str) -> LedgerEntry:
    """Return the version of a release that the call requests, or the latest one if it requests none.

    Args:
        call: The call of composition().
        latest: The latest version of the release.
        parameter: The name of the call's parameter with the version number: `version_a` or `version_b`.

    Raises:
        UnknownVersionError: The ledger has no version of this release with the requested number.
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
    """Return the query that finds the people whom two versions together narrow to too few candidates.

    The query compares the number of candidates (people with the same pair of classes) with the greater k of both
    versions, and the number of sensitive values that remain possible with the greater l. Other privacy models are not
    used. Sensitive columns are compared only if both versions have them and store hashes of one format.

    Args:
        function: The name of the calling function, for the error message.
        first: One version.
        second: The other version.
        with_unshared: Whether people who are in only one of the versions are checked, too. Their candidates are the
            people of their class who are in only this version; the l is that of this version.

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
                {"raw_name": n, "a": sensitive_positions["a"][n], "b": sensitive_positions["b"][n]} for n in shared
            ],
            own={side: list(positions.values()) for side, positions in sensitive_positions.items()},
            alone=with_unshared,
            k=max(first.k, second.k),
            l=max(l_by_side.values()),
            least=l_by_side,
        )
    )


def _sensitive_positions(entry: LedgerEntry) -> dict[str, int]:
    """Map each sensitive column, in lower case, to its position (from 1) in the version's array of column hashes.

    Empty for versions that an earlier dbanon stored without hashes of single columns.
    """
    if entry.bases is None:
        return {}
    return {fold_case(c): i + 1 for i, c in enumerate(entry.values) if entry.roles[c] == "sensitive"}


def _release_l(entry: LedgerEntry) -> int:
    """Return the `l` of l-diversity of a release: that of its call, else the algorithm's default, else 1."""
    parameters = entry.call["parameters"]
    default_l = next(
        p.default for p in registry.resolve_function(entry.call["function"], parameters).parameters if p.name == "l"
    )
    return int(str(parameters.get("l") or default_l or 1))


FUNCTIONS = (
    TableFunction(
        "composition",
        ("a", "b"),
        tuple(Parameter(f"version_{p}", Integer(1), f"Version of {p}; default: the latest.") for p in "ab"),
        "Returns the people whose candidate set over two releases has fewer than k records, or whose sensitive "
        "values are fewer than l. A person may be in only one of the two.",
        handler=composition,
        example=Example(
            "SELECT * FROM composition('safe', 'safe_too') LIMIT 5;",
            (*SAFE, "CREATE MATERIALIZED ANONYMIZED VIEW safe_too AS SELECT * FROM mondrian('patients', k = 10);"),
        ),
    ),
)
