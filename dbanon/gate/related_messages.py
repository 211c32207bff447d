"""Messages of the release gate about related tables, as SQL that makes the text while the statement runs."""

from collections.abc import Mapping

from dbanon import errors
from dbanon.sqltext.quote import Sql, text
from dbanon.sqltext.templates import later, message

TOGETHER = {
    "people": ("people are missing or published twice, of", "(SELECT count(*) FROM reader)"),
    "small": ("classes below k over all tables", "classes.small"),
    "confused": ("classes that several class_ids have, or class_ids that several classes have", "classes.confused"),
    "pseudonyms": ("pseudonyms that do not follow from what is published", "pseudonyms.people"),
    "stated": ("figures that do not follow from the released rows, people", "(SELECT count(*) FROM reader)"),
}
"""What the gate refuses of all tables together, and SQL that counts it."""

OF_A_TABLE = {
    "columns": ("other columns than the policy lets out, or in another order, of rows", "judged{i}.rows"),
    "unknown": ("rows that stand for none of the source, or for one that another row stands for", "judged{i}.unknown"),
    "untrue": ("rows with another unchanged value than the source", "judged{i}.untrue"),
    "uncovered": ("rows with published values that do not cover the original", "judged{i}.uncovered"),
    "finer": ("values that the policy does not let out as they are", "judged{i}.finer"),
    "order": ("rows that are not in the order of what they publish", "ordered{i}.rows"),
    "foreign": ("rows under the pseudonym of nobody or of another person", "foreign{i}.rows"),
    "lost": ("classes with fewer or more rows of a person than all of the class have", "classes.lost{i}"),
}
"""The same of one table, the one with the number i."""

UNDIVERSE = "classes in which a value of {} is held by too many, or that have too few"
"""What the gate refuses of a sensitive column."""


def diversity_refusal(function: str, shown: str, column: str) -> Sql:
    """Return the message about classes that are not diverse enough."""
    return text(str(errors.GateRefusedError(function, f"{shown}: {UNDIVERSE.format(column)}", "l")))


def refusals(function: str, refused: Mapping[str, tuple[str, str]], shown: str, i: int = 0) -> dict[str, Sql]:
    """Return the messages about a table, by a word for each check."""
    return {
        name: message(errors.GateRefusedError(function, f"{shown}: {what}", later(count.format(i=i))))
        for name, (what, count) in refused.items()
    }
