"""Find columns of a DataFrame that are computed from others and that its policy would take for columns of the table."""

from typing import Any

from pyspark.sql import DataFrame

from dbanon import errors
from dbanon.integrations.spark.session_call import PortableCall, thread_planner
from dbanon.sqltext.names import fold_case

_EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions."


def check_computed_columns(df: DataFrame, call: PortableCall, table_columns: frozenset[str] | None) -> None:
    """Raise an error if a column that the release reads is computed from another column of the policy's table.

    A policy for the table would otherwise be applied to other values under the same name.

    Args:
        df: The DataFrame of the call.
        call: The call, which determines what columns are read.
        table_columns: Folded names of the columns of the table that the policy is about; None if it was written for
            this DataFrame: then nothing is checked.

    Raises:
        ComputedColumnError: A column is computed from another column of the table, or replaces the one of its name.
    """
    if table_columns is None:
        return
    lineage = _Lineage(df)
    for name in thread_planner(call).read_columns:
        folded_name = fold_case(name)
        sources = lineage.sources(name)
        others = {
            source for source in sources if fold_case(source) != folded_name and fold_case(source) in table_columns
        }
        is_replaced = folded_name in lineage.read_names and folded_name not in map(fold_case, sources)
        if others or is_replaced:
            raise errors.ComputedColumnError(call.function, call.name, name, others)


class _Lineage:
    """The source columns (of files, tables or Python data) from which each column of a DataFrame is computed.

    They are found in Spark's analyzed plan. The result of a function of several columns is computed from all of them.
    """

    def __init__(self, df: DataFrame) -> None:
        """Read the analyzed plan of the DataFrame; nothing is computed by Spark."""
        self._names = df.columns
        self._sources_by_id: dict[int, frozenset[str]] = {}
        self._ctes: dict[int, list[int]] = {}
        self.read_names: set[str] = set()
        """The folded names of all columns that were read."""
        jvm: Any = df.sparkSession._jvm
        self._class = {
            name: jvm.java.lang.Class.forName(_EXPRESSIONS + name)
            for name in ("Alias", "AttributeReference", "OuterReference", "PlanExpression")
        }
        self._output = self._follow(df._jdf.queryExecution().analyzed())

    def sources(self, name: str) -> frozenset[str]:
        """Return the names of the source columns from which the DataFrame's column `name` is computed."""
        return self._sources_by_id[self._output[self._names.index(name)]]

    def _follow(self, plan: Any) -> list[int]:
        """Record the source columns of all output columns of a plan node and its children.

        Return their expression ids.
        """
        children = [self._follow(child) for child in _scala_items(plan.children())]
        output = _scala_items(plan.output())
        numbers = [attribute.exprId().id() for attribute in output]
        kind = plan.getClass().getSimpleName()
        if kind == "CTERelationRef" and plan.cteId() in self._ctes:
            self._add_by_position(numbers, [self._ctes[plan.cteId()]])
        elif not children:
            for number, attribute in zip(numbers, output, strict=True):
                self._add(number, {attribute.name()})
                self.read_names.add(fold_case(attribute.name()))
        elif kind == "Union":
            self._add_by_position(numbers, children)
        else:
            self._add_computed(plan, numbers, children)
        if kind == "CTERelationDef":
            self._ctes[plan.id()] = numbers
        return numbers

    def _add_computed(self, plan: Any, numbers: list[int], children: list[list[int]]) -> None:
        """Record the source columns of the outputs of a plan node that computes expressions.

        The sources of an expression with an alias are the columns in it. Any other new output gets the sources of all
        expressions of the node, or of all outputs of its children if the expressions have none.

        Args:
            plan: The plan node.
            numbers: The expression ids of its outputs.
            children: The expression ids of the outputs of each child.
        """
        used = set().union(*map(self._sources_of, _scala_items(plan.expressions())))
        if not used:
            used = {name for child in children for number in child for name in self._sources_by_id[number]}
        for number in numbers:
            if number not in self._sources_by_id:
                self._add(number, used)

    def _add_by_position(self, numbers: list[int], children: list[list[int]]) -> None:
        """Add to the sources of each output column those of the columns at its position in all children.

        Args:
            numbers: The expression ids of the output columns.
            children: The expression ids of the output columns of each child, in order.
        """
        for place, number in enumerate(numbers):
            for child in children:
                self._add(number, self._sources_by_id[child[place]])

    def _add(self, number: int, sources: set[str] | frozenset[str]) -> None:
        """Add source columns to those recorded for an expression id."""
        self._sources_by_id[number] = self._sources_by_id.get(number, frozenset()) | sources

    def _sources_of(self, expression: Any) -> set[str]:
        """Return the source columns of an expression, subqueries included; record them for each alias in it."""
        if self._is(expression, "OuterReference"):
            return self._sources_of(expression.e())
        if self._is(expression, "AttributeReference"):
            return set(self._sources_by_id.get(expression.exprId().id(), ()))
        sources: set[str] = set()
        if self._is(expression, "PlanExpression"):
            for number in self._follow(expression.plan()):
                sources |= self._sources_by_id[number]
        for child in _scala_items(expression.children()):
            sources |= self._sources_of(child)
        if self._is(expression, "Alias"):
            self._add(expression.exprId().id(), sources)
        return sources

    def _is(self, expression: Any, name: str) -> bool:
        """Return whether a JVM expression is an instance of the Catalyst class of this name."""
        return bool(self._class[name].isInstance(expression))


def _scala_items(sequence: Any) -> list[Any]:
    """Return the items of a Scala sequence as a list."""
    return [sequence.apply(i) for i in range(sequence.size())]
