"""What two releases of the same people tell together."""

from dbanon import errors
from dbanon.errors.example import SAFE, Example
from dbanon.ledger import releases
from dbanon.ledger.releases import Entry
from dbanon.sqltext import templates
from dbanon.sqltext.quote import Sql
from dbanon.table_functions import registry
from dbanon.table_functions.parameter_types import Integer
from dbanon.table_functions.parameters import Parameter
from dbanon.table_functions.table_function import Call, TableFunction


def composition(call: Call) -> Sql:
    """composition(a, b): people of whom two releases together tell too little apart, who may be in one of them only."""
    name = call.function.name
    first, second = (
        _version(call, releases.find(name, call.text(p), call.cursor, call.path), f"version_{p}") for p in "ab"
    )
    return composed(name, first, second, alone=True)


def _version(call: Call, latest: Entry, parameter: str) -> Entry:
    """Return the version of a release that a parameter asks for; UnknownVersionError."""
    wanted = call.options.whole(parameter)
    if wanted is None:
        return latest
    every = releases.entries(call.cursor, latest.database, "(schema_name, name) = (?, ?)", [latest.schema, latest.name])
    found = next((e for e in every if e.version == wanted), None)
    if found is None:
        raise errors.UnknownVersionError(
            latest.shown, wanted, [(e.version, e.status) for e in every], call.function.name
        )
    return found


def composed(function: str, first: Entry, second: Entry, alone: bool = False) -> Sql:
    """Return the same for two versions that are known; `alone`: with who is in one of them only.

    CompositionUnknownError where people cannot be told apart.
    """
    for entry in (first, second):
        if entry.person_key is None:
            raise errors.CompositionUnknownError(function, entry.shown)
    sides = {"a": first, "b": second}
    known = {side: _sensitive(entry) for side, entry in sides.items()}
    shared = sorted(known["a"].keys() & known["b"].keys()) if first.hash_format == second.hash_format else []
    least = {side: _least(entry) for side, entry in sides.items()}
    return Sql(
        templates.fill(
            "ledger/composition/composition.sql",
            members={side: entry.members for side, entry in sides.items()},
            shared=[{"i": i, "a": known["a"][n], "b": known["b"][n]} for i, n in enumerate(shared)],
            own={side: list(of.values()) for side, of in known.items()},
            alone=alone,
            k=max(first.k, second.k),
            l=max(least.values()),
            least=least,
        )
    )


def _sensitive(entry: Entry) -> dict[str, int]:
    """Where the hash of each sensitive column stands among those of a version, by lower-case name."""
    if entry.bases is None:
        return {}
    return {c.lower(): i + 1 for i, c in enumerate(entry.values) if entry.roles[c] == "sensitive"}


def _least(entry: Entry) -> int:
    """l of a release: as its call asks, or as its algorithm does."""
    given = entry.call["parameters"]
    usual = next(
        p.default for p in registry.resolve_function(entry.call["function"], given).parameters if p.name == "l"
    )
    return int(str(given.get("l") or usual or 1))


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
