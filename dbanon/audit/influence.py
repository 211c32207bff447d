"""influence('table'): what each quasi-identifier tells of the sensitive columns, by a random forest."""

from __future__ import annotations

from dataclasses import replace

from dbanon import errors
from dbanon.functions.call import Call
from dbanon.functions.parameters import COMMON
from dbanon.release import plan, prepare
from dbanon.sqltext.quote import Sql


def statement(call: Call) -> Sql:
    """The SQL of one call: a row an attribute and sensitive column. NoSensitive where there is none.

    Roles are those of the policy and the call, as for a release; `k` and the models play no part.
    """
    usual = {p.name: p.default for p in COMMON} | {"k": 2}
    made = prepare.prepared(call, usual | dict(call.options), call.function.name, "influence")
    if not made.roles.sensitive:
        raise errors.NoSensitive(made.function, made.source.shown, "influence")
    made = replace(
        made,
        roles=replace(made.roles, other=(), person=None),
        reads=("sensitive",),
        forest=prepare.forest_of(made, call.options),
    )
    return Sql(plan.statement(made))
