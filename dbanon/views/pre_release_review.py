"""The review before the first release of a name: the columns that its call publishes, generalizes and withholds.

It also lists conspicuous values. The session has the function that receives it; see `Session.on_review`.
"""

from collections.abc import Mapping
from typing import Any

from dbanon.policy.checks import review
from dbanon.policy.transforms.settings import TRANSFORM_SETTINGS
from dbanon.release import search_budget
from dbanon.release.plan import plan
from dbanon.release.spec import resolve
from dbanon.release.spec.release_spec import ReleaseSpec
from dbanon.runtime import session
from dbanon.source import stored_policy
from dbanon.sqltext.names import display_name
from dbanon.sqltext.qualify_builtins import qualify_builtins
from dbanon.sqltext.quote import one_line, text
from dbanon.table_functions.dispatch import make_call
from dbanon.table_functions.registry import check_algorithm
from dbanon.table_functions.table_function import Call
from dbanon.views import target as release_target

WITHHOLD_IN_CALL = "withhold = ['{}'] in the call"
"""The remedy for a column that only the call publishes."""


def review_rows(call: Call, spec: ReleaseSpec) -> list[review.ReviewRow]:
    """Return the rows of the review of a call: for each column of the source, its role in the release and its problems.

    The problems are conspicuous values. A withheld column has no role, or "identifier" if the policy declares that, or
    "by the call" if the policy publishes it and the call withholds it.
    """
    source = spec.source
    declared = {source.spelled(row.column): row for row in stored_policy.policy_rows(source, call.cursor)}
    settings = {quasi.column: quasi.settings for quasi in spec.roles.quasi}
    columns = []
    for name, role in plan.role_by_column(spec).items():
        row = declared.get(name)
        role_text = role if role != "withheld" else row.role.lower() if row is not None else None
        if role == "withheld" and role_text not in (None, "identifier"):
            role_text = "by the call"
        if role in TRANSFORM_SETTINGS and row is not None:
            settings[name] = row.settings
        is_calls = row is None and role not in ("withheld", "person")
        columns.append(
            review.ReviewedColumn(
                name,
                source.columns[name],
                role_text,
                settings.get(name, stored_policy.Settings()),
                row,
                WITHHOLD_IN_CALL if is_calls else "",
            )
        )
    query = qualify_builtins(review.review_sql(call, spec.cleaned_source, columns))
    return list(call.cursor.execute(query).fetchall())


def planned_rows(connection: Any, algorithm: str, source: str, parameters: Mapping[str, Any]) -> list[review.ReviewRow]:
    """Return the rows of the review of a release that is not made; nothing is clustered or written.

    What can be checked before the clustering is checked, such as whether the table has k records (persons).

    Args:
        connection: A connection of `dbanon.connect`.
        algorithm: The algorithm.
        source: The table.
        parameters: The parameters of the call.

    Raises the errors of a call of the table function that do not need its result.
    """
    check_algorithm("anonymize", algorithm)
    current_session = session.find_session(connection.duckdb_connection)
    with current_session.cursor() as cursor:
        limited_parameters = search_budget.replace_time_limit("anonymize", parameters)
        location = release_target.current_location(connection)
        call = make_call(current_session, cursor, algorithm, {"tbl": source}, limited_parameters, location)
        spec = resolve.resolve_spec(call)
        cursor.execute(plan.fill_release_template("release/plan/input_check.sql", spec)).fetchall()
        return review_rows(call, spec)


def review_lines(call: Call, spec: ReleaseSpec, target: tuple[str, str, str]) -> list[str]:
    """Return the review as lines of text, with a last line that names the function with statements to change roles.

    `target` is the database, schema and name of the release.
    """
    source_name = spec.source.shown
    title = f"First release of {source_name} as {display_name(target[1], target[2])}"
    lines = review.format_review(review_rows(call, spec), title)
    return [
        *lines,
        one_line(f"  FROM policy_review({text(source_name)}) lists the statements that change these findings."),
    ]
