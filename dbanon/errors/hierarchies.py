"""Errors about generalization hierarchies."""

from collections.abc import Iterable

from dbanon.errors.base import DbanonError, did_you_mean
from dbanon.errors.example import FEW, SHAPES, Example
from dbanon.sqltext.messages import plural_form
from dbanon.sqltext.quote import text


class UnknownHierarchyError(DbanonError):
    """A hierarchy that is neither stored nor built in."""

    example = Example("FROM kacpc('few', k = 10, qi = ['zip'], hierarchies = {'zip': 'zip55'});", (FEW,))

    def __init__(self, function: str, name: str, location: str, hierarchies: Iterable[str]) -> None:
        """Build the message, with the most similar of the known hierarchies as a hint.

        Args:
            function: The function that was called.
            name: The name that was given.
            location: Where it was given, such as a parameter.
            hierarchies: The names of all known hierarchies.
        """
        super().__init__(
            f"{function}: there is no hierarchy '{name}' ({location}).{did_you_mean(name, hierarchies)} Hint: load it "
            "with INSERT INTO dbanon.hierarchy FROM hierarchy_from_file('name', 'file.csv'); FROM hierarchies() lists "
            "those that exist."
        )


class MalformedHierarchyError(DbanonError):
    """A hierarchy that is not a single tree."""

    example = Example("FROM kacpc('few', k = 10, qi = ['sex'], hierarchies = {'sex': E'F;f\\nM;m'});", (FEW,))

    def __init__(self, name: str, why: str, is_stored: bool = True) -> None:
        """Build the message.

        Args:
            name: The name of the hierarchy.
            why: What is wrong with it, as a sentence.
            is_stored: Whether the hierarchy is in `dbanon.hierarchy`, rather than read from a file or text. The hint
                differs.
        """
        hint = (
            "FROM hierarchy_problems() lists what is wrong."
            if is_stored
            else "one line per leaf, from the leaf to the root: value;level1;...;*, as in FROM hierarchy_to_arx('sex')."
        )
        super().__init__(f"hierarchy '{name}' is not well-formed: {why} Hint: {hint}")


class UncoveredValueError(DbanonError):
    """Values that the hierarchy does not contain."""

    example = Example("FROM kacpc('few', k = 10, qi = ['sex'], hierarchies = {'sex': 'us_state'});", (FEW,))

    def __init__(
        self,
        table: str,
        column: str,
        count: object,
        hierarchy: str,
        call_hierarchy: str | None,
        is_of_zone: bool = False,
        values_call: str | None = None,
    ) -> None:
        """Build the message.

        Args:
            table: The source.
            column: The column of the source with the values.
            count: The number of distinct values that the hierarchy does not contain.
            hierarchy: The name of the hierarchy.
            call_hierarchy: The hierarchy that the call names, if it is not the declared one; the hint repeats it.
            is_of_zone: Whether the hierarchy has timestamps as texts in the session's time zone, where UTC is needed.
            values_call: The call that lists the values; None: as `uncovered_values_call` writes it.
        """
        call = values_call or uncovered_values_call(table, column, call_hierarchy)
        super().__init__(
            f"{table}.{column}: {count} distinct {plural_form(count, 'value is', 'values are')} missing from "
            f"hierarchy '{hierarchy}'. "
            + (
                "It has values written in the session's time zone, but timestamps are looked up in UTC (2020-01-01 "
                "00:00:00+00). Hint: delete it from dbanon.hierarchy and create it again. "
                if is_of_zone
                else "Hint: "
            )
            + f"FROM {call}{' lists the values' if is_of_zone else ''}."
        )


def uncovered_values_call(table: str, column: str, hierarchy: str | None) -> str:
    """Return the call that lists the values of a column that are missing from its hierarchy, or from the named one."""
    hierarchy_argument = [f"hierarchy := {text(hierarchy)}"] if hierarchy else []
    return f"uncovered_values({', '.join([text(table), text(column), *hierarchy_argument])})"


class ReservedValueError(DbanonError):
    """Values that a reader could not distinguish from generalized ones."""

    message = (
        "{table}.{column}: {count} distinct {count:value is|values are} '*' or equal to the label of an inner node, "
        "so a reader could "
        "not distinguish {count:it|them} from generalized values. Hint: rename {count:it|them}, declare a '*' that "
        "means a missing value in "
        "missing_codes, or pass escape_labels = true to publish such values with a backslash in front."
    )
    example = Example("FROM kacpc('shapes', k = 10, qi = ['star']);", (SHAPES,))


class AmbiguousValueError(DbanonError):
    """Values that match several inner nodes."""

    message = (
        "{table}.{column}: {count} distinct {count:value is not a leaf|values are not leaves} of the hierarchy but "
        "{count:the label|labels} of several inner nodes, so it is unclear which node is meant. Hint: add a leaf for "
        "each of these values, or give the nodes different "
        "labels."
    )
    example = Example(
        "FROM kacpc('wards', k = 2, qi = ['ward'], escape_labels = true, "
        "hierarchies = {'ward': E'3A;other;north;*\\n3B;other;south;*'});",
        ("CREATE TABLE wards AS SELECT IF(i = 1, 'other', '3A') AS ward FROM range(9) AS r (i);",),
    )
