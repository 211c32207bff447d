"""influence('table'): how much each quasi-identifier reveals about the sensitive columns, by a random forest."""

from dataclasses import replace

from dbanon import errors
from dbanon.algorithms import influence_forest
from dbanon.algorithms.base.common_parameters import COMMON
from dbanon.errors.example import Example
from dbanon.release.plan import plan
from dbanon.release.spec import resolve
from dbanon.release.spec.release_spec import RunSettings
from dbanon.sqltext.quote import Sql
from dbanon.table_functions.options import Options
from dbanon.table_functions.parameter_types import MAX_SEED, Integer
from dbanon.table_functions.parameters import Parameter
from dbanon.table_functions.table_function import Call, TableFunction


def influence_sql(call: Call) -> Sql:
    """Return the SQL of influence(): one row per quasi-identifier and sensitive column.

    Roles come from the policy and the call, as for a release; k and the other privacy models have no effect. Records
    are not counted by person.

    Raises:
        SensitiveColumnMissingError: There is no sensitive column.
    """
    defaults = {p.name: p.default for p in COMMON} | {"k": 2}
    spec = resolve.resolve_base_spec(call, Options(defaults | dict(call.options)), call.function.name, "influence")
    if not spec.roles.sensitive:
        raise errors.SensitiveColumnMissingError(spec.function, "influence", spec.source.shown)
    spec = replace(
        spec,
        roles=replace(spec.roles, insensitive=(), person=None),
        run=RunSettings(
            session=spec.run.session, reads_sensitive=True, forest=resolve.forest_request(spec, call.options)
        ),
    )
    return Sql(plan.release_sql(spec))


_RELEASE_PARAMETERS = (
    "qi",
    "sensitive",
    "hierarchies",
    "nulls",
    "missing_codes",
    "withhold",
    "min_level",
    "top",
    "bottom",
    "escape_labels",
)
"""Parameters of a release that have an effect."""

FUNCTIONS = (
    TableFunction(
        "influence",
        ("tbl",),
        (
            *(p for p in COMMON if p.name in _RELEASE_PARAMETERS),
            influence_forest.SCORE,
            *influence_forest.PARAMETERS,
            Parameter("seed", Integer(0, MAX_SEED), "Seed of the samples.", 0),
        ),
        "Returns how much each quasi-identifier reveals about each sensitive column: the drop in a random forest's "
        "accuracy when its values are shuffled. It is computed once for the same data and parameters; weights = "
        "'influence' uses it.",
        handler=influence_sql,
        example=Example("SELECT attribute, influence, rank FROM influence('patients', sensitive = ['disease']);"),
    ),
)
