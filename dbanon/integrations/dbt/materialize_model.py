"""The release of a model: its first version, the next one with the same call, or with another when dbt says so."""

import contextlib
import json
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

from dbanon import errors
from dbanon.api.connection import Connection
from dbanon.errors import redaction
from dbanon.errors.warnings import DisclosureWarning, UtilityWarning
from dbanon.integrations.dbt.model import FIRST, NEXT, Model
from dbanon.ledger import releases
from dbanon.ledger.releases import LedgerEntry
from dbanon.release import search_budget
from dbanon.release.spec import related_parameters as related
from dbanon.runtime import session
from dbanon.sqltext.quote import qualified
from dbanon.table_functions.dispatch import make_call
from dbanon.table_functions.registry import table_functions
from dbanon.views import materialize, statement_parser, target


def released(connection: Connection, model: Model) -> list[str]:
    """Make the next version of a model's release, on a connection in no transaction; what there is to warn of.

    Without a published release it is the first; with one it is a refresh, and with `full_refresh` the next version with
    the call as it is now, all clustered anew. The ledger holds it against all versions either way. Raises
    DbtModelChangedError where the call is not that of the release, and what `materialize` and `refresh` raise.
    """
    with _heard() as said:
        name = str(qualified(*model.place))
        function, source, given = connection.parse_call(_call(connection, name, model.query))
        related.refuse_related_tables(function, given)
        with redaction.redact_values(function, lambda: [source]):
            entry = _published(connection, model)
            if entry is None or model.full_refresh:
                options = {option: model.options[option] for option in FIRST if option in model.options}
                replace = entry is not None
                materialize.create_release(
                    connection.raw, name, function, source, key=model.key, replace=replace, **options, **given
                )
            else:
                _check_same(connection, entry, model, (function, source, given))
                options = {option: model.options[option] for option in NEXT if option in model.options}
                materialize.refresh_release(connection.raw, name, **options)
    return said


def _call(connection: Connection, name: str, query: str) -> str:
    """Return the query of a model, without what stands around it; NotASingleCallError, UnreadableStatementError."""
    steps = statement_parser.split_statements(
        f"{statement_parser.CREATE} {name} AS {query}", connection.raw.extract_statements
    )
    if len(steps) > 1:
        publishing = [f.name for f in table_functions().values() if f.kind == "release"]
        raise errors.NotASingleCallError("another statement follows it", publishing, statement_parser.CREATE)
    return str(steps[0].query)


def _published(connection: Connection, model: Model) -> LedgerEntry | None:
    """Return the published version of the model's release."""
    database, *rest = model.place
    with session.find_session(connection.raw).cursor() as cursor:
        where = "schema_name = ? AND lower(name) = lower(?) AND status = 'published'"
        found = releases.entries(cursor, database, where, rest)
    return found[-1] if found else None


def _check_same(
    connection: Connection, entry: LedgerEntry, model: Model, called: tuple[str, str, Mapping[str, Any]]
) -> None:
    """DbtModelChangedError where the release was made by another call, or tells people apart by other columns."""
    function, source, given = called
    now = json.loads(json.dumps(dict(given), default=str))
    then = dict(entry.call["parameters"])
    current = session.find_session(connection.raw)
    with current.cursor() as cursor:
        untimed = search_budget.replace_time_limit(function, now)
        call = make_call(current, cursor, function, {"tbl": source}, untimed, target.current_location(connection.raw))
        table = target.stored_source_name(call.source(), source)
    if search_budget.time_limit_s(function, now) is not None:  # the ledger has the moves that were made in that time
        now, then = _without_improve(now), _without_improve(then)
    differs = [] if function == entry.call["function"] else ["the function"]
    differs += [] if table == entry.call["source"] else ["the source"]
    differs += [n for n in sorted({*now, *then}) if n not in now or n not in then or now[n] != then[n]]
    key = {column.casefold() for column in model.key or ()}
    if key and entry.person_key and "person" not in entry.roles.values():
        differs += [] if key == {column.casefold() for column in entry.person_key} else ["key"]
    if differs:
        raise errors.DbtModelChangedError(entry.display_name, differs)


def _without_improve(given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name.lower() != "improve"}


@contextlib.contextmanager
def _heard() -> Iterator[list[str]]:
    """What is warned of meanwhile about releases. Other warnings are given again."""
    said: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield said
    for one in caught:
        if issubclass(one.category, DisclosureWarning | UtilityWarning):
            said.append(str(one.message))
        else:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
