"""Find columns of a DataFrame that are computed from others and that its policy would take for columns of the table."""

from typing import Any

from pyspark.sql import DataFrame

from dbanon import errors
from dbanon.integrations.spark.session_call import PortableCall, thread_planner
from dbanon.sqltext.names import fold_case

_EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions."


def check_computed_columns(df: DataFrame, call: PortableCall, table_columns: frozenset[str] | None) -> None:
    """Refuse columns that a release reads and that are computed from other columns of the policy's table.

    Args:
        df: The DataFrame of the call.
        call: The call, which says what columns are read.
        table_columns: Folded names of the columns of the table that the policy is about; None if it was written for
            this DataFrame, whatever that is computed from.

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
    """The columns that were read, from files, tables or Python, by the columns of a DataFrame that contain them.

    It follows Spark's analyzed plan. What a function of several columns returns is computed from all of them.
    """

    def __init__(self, df: DataFrame) -> None:
        self._names = df.columns
        self._sources_by_id: dict[int, frozenset[str]] = {}
        self._expressions: dict[int, Any] = {}
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
        """Return the columns that a column of the DataFrame is computed from."""
        return self._sources_by_id[self._output[self._names.index(name)]]

    def _follow(self, plan: Any) -> list[int]:
        """Record the sources of all columns of a plan, and return the expression ids of its output."""
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
        """Record what a plan computes: by alias if an expression has one, else from all columns that it refers to."""
        used: set[str] = set()
        for expression in _scala_items(plan.expressions()):
            used |= self._sources_of(expression)
        if not used:
            used = {name for child in children for number in child for name in self._sources_by_id[number]}
        for number in numbers:
            if number not in self._sources_by_id:
                self._add(number, used)

    def _add_by_position(self, numbers: list[int], children: list[list[int]]) -> None:
        for place, number in enumerate(numbers):
            for child in children:
                self._add(number, self._sources_by_id[child[place]])

    def _add(self, number: int, sources: set[str] | frozenset[str]) -> None:
        self._sources_by_id[number] = self._sources_by_id.get(number, frozenset()) | sources

    def _sources_of(self, expression: Any) -> set[str]:
        """Return the columns that an expression is computed from; record them for the aliases that it defines."""
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
        return bool(self._class[name].isInstance(expression))


def _scala_items(sequence: Any) -> list[Any]:
    return [sequence.apply(i) for i in range(sequence.size())]
