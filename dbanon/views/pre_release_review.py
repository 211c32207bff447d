"""The review before the first release of a name: what its call publishes, generalizes and withholds, and what stands
out. Who wants to see it is told on the session; see `Session.on_first_release`."""

from dbanon.policy.checks import review
from dbanon.release.plan import plan
from dbanon.release.spec.release_spec import ReleaseSpec
from dbanon.source import stored_policy
from dbanon.sqltext.qualify_builtins import qualify_builtins
from dbanon.sqltext.quote import one_line, text
from dbanon.table_functions.table_function import Call

CALL = "withhold = ['{}'] in the call"
"""What withholds a column that only the call publishes."""


def review_of(call: Call, publication: ReleaseSpec) -> list[review.Row]:
    """Return the rows of the review of a call, by the roles that its columns have in the end."""
    source = publication.source
    declared = {source.spelled(row.declared.column): row for row in stored_policy.policy_rows(source, call.cursor)}
    settings = {quasi.column: quasi.settings for quasi in publication.roles.quasi}
    columns = []
    for name, role in plan.roles(publication).items():
        row = declared.get(name)
        said = role if role != "withheld" else row.declared.role.lower() if row is not None else None
        if role == "withheld" and said not in (None, "identifier"):
            said = "by the call"
        is_calls = row is None and role not in ("withheld", "person")
        columns.append(
            review.Reviewed(
                name,
                source.columns[name],
                said,
                settings.get(name, stored_policy.Settings()),
                row,
                CALL if is_calls else "",
            )
        )
    rows: list[review.Row] = call.cursor.execute(
        qualify_builtins(review.reviewed(call, publication.cleaned, columns))
    ).fetchall()
    return rows


def lines(call: Call, publication: ReleaseSpec, name: str) -> list[str]:
    """Return the same as lines of text, under the name of the release."""
    shown = publication.source.shown
    made = review.lines(review_of(call, publication), f"First release of {shown} as {name}")
    return [*made, one_line(f"  FROM policy_review({text(shown)}) has a statement that changes each.")]
