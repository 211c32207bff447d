"""The definition of a privacy model: one object in a Python file and one SQL file of the same name.

A class is a row of counts by sensitive value, the last one for NULL: the number of records (distinct persons) with
the value. Algorithms stay within bounds by SLACK, so that rounding in the release gate, which computes the
measures again in SQL, never fails a class.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dbanon.encoding.encoded_table import Bools, Floats, SensitiveColumn
from dbanon.table_functions.parameters import Parameter

ModelSettings = Mapping[str, Any]
"""Values of a model's parameters by name: numbers."""

SLACK = 1e-12

Measure = Callable[[ModelSettings, SensitiveColumn, Floats, Floats], Floats]
"""settings, column, counts (classes, values + 1), sizes (classes,) -> the measure of each class."""


@dataclass(frozen=True)
class KernelRules:
    """A requirement as compiled code checks it (dbanon.kernels.model_gathering); all rules must be met.

    Attributes:
        min_distinct: Least number of different values.
        min_exp_entropy: Least exp of the entropy.
        recursive: The parameters c and l of recursive diversity.
        distance: Greatest distance, and its kind (0 equal, 1 ordered, 2 hierarchical, -1 none).
        max_shares: Greatest share of each value in a class.
        target_share: Share of a known value to aim at.
        is_exact: Whether these rules imply the model; otherwise a class that passes may still violate it, and an exact
            check is used if there is one.
    """

    min_distinct: int = 0
    min_exp_entropy: float = 0.0
    recursive: tuple[float, int] = (0.0, 0)
    distance: tuple[float, int] = (0.0, -1)
    max_shares: Floats | None = None
    target_share: float = 1.0
    is_exact: bool = True


@dataclass(frozen=True)
class AchievedMetric:
    """A metric of NAME_metrics that states what a release achieves by some forms of a model."""

    name: str
    description: str


@dataclass(frozen=True)
class TableMeasure:
    """The measure by which `anonymity` reports a form for any table.

    Attributes:
        name: Name of the row.
        description: Meaning of the number.
        measure: Name in the SQL file, if it is not that of the form.
        better: Direction, if it is not that of the form.
    """

    name: str
    description: str
    measure: str = ""
    better: str = ""


@dataclass(frozen=True)
class ModelBound:
    """The comparison of a class's measure with a parameter.

    Attributes:
        parameter: The parameter that bounds the measure.
        better: 'higher' or 'lower'.
        strict: Whether the bound itself violates the model.
        slack: Distance that the algorithms keep from a strict bound.
        max_measure: Greatest possible measure, if lower is better.
        unreachable: What to request instead if no bound is high enough.
    """

    parameter: str
    better: str
    strict: bool = False
    slack: float = SLACK
    max_measure: float = math.inf
    unreachable: str = ""


@dataclass(frozen=True)
class ModelForm:
    """One form of a model: a measure of every class, and its bound.

    Attributes:
        name: Value of the parameter that chooses the form, and name of the measure in the SQL file.
        bound: The comparison of the measure with a parameter.
        measure: The measure of classes, given as counts.
        metric: The metric that a release reports.
        table_measure: The measure that `anonymity` reports.
        sentence: Sentence of the certificate, with {form} and the settings.
        settings: Parameters that only this form has, with their defaults.
        min_records: Least number of records of a class that can meet the model.
        kernel_rules: The form as compiled code checks it.
        uses_overall: Whether classes are compared with the whole table.
        is_distinct_count: Whether the form only requires a number of different values, which a union of classes has if
            one of them has it.
        is_closed_under_union: Whether a union of disjoint classes meets the model if each does and records are counted;
            if not, nothing is assumed.
        value_order: Structure of the values that the form uses: none, 'order' (of the leaves if the column has a
            hierarchy) or 'hierarchy'.
        order_columns: SQL columns that contain this structure.
        alternative: A form that is never met if this one is not, and that needs no hierarchy.
    """

    name: str
    bound: ModelBound
    measure: Measure
    metric: AchievedMetric
    table_measure: TableMeasure
    sentence: str
    settings: ModelSettings = field(default_factory=dict)
    min_records: Callable[[ModelSettings], int] = lambda settings: 0
    kernel_rules: Callable[[ModelSettings, SensitiveColumn], KernelRules] = lambda settings, sensitive: KernelRules(
        is_exact=False
    )
    uses_overall: bool = False
    is_distinct_count: bool = False
    is_closed_under_union: bool = True
    value_order: str = ""
    order_columns: tuple[str, ...] = ()
    alternative: str = ""

    @property
    def is_higher(self) -> bool:
        return self.bound.better == "higher"

    def is_satisfied(self, measures: Floats | np.float64, bound: float) -> Bools:
        """Return whether measures are enough."""
        if self.is_higher:
            return np.asarray(measures >= bound - SLACK)
        if self.bound.strict:
            return np.asarray(measures < bound - self.bound.slack)
        return np.asarray(measures <= bound + SLACK)


@dataclass(frozen=True)
class PrivacyModel:
    """One privacy model of sensitive columns.

    Attributes:
        name: The name of its Python file and its SQL file, also used in messages.
        position: Its position among the models in all lists.
        parameters: Its parameters; the first one requests the model.
        forms: Its forms; the first one is the default.
        source: The paper or standard that defines it.
        function: The table function that measures any table by it.
        description: What the function returns.
        example: A call of the function.
        form_parameter: The parameter that chooses the form; empty if there is only one.
    """

    name: str
    position: int
    parameters: tuple[Parameter, ...]
    forms: tuple[ModelForm, ...]
    source: str
    function: str
    description: str
    example: str
    form_parameter: str = ""

    @property
    def parameter(self) -> str:
        """The parameter that asks for the model."""
        return self.parameters[0].name

    @property
    def sql_file(self) -> str:
        """Its SQL file: macros measure(name, of, settings) and, for a form with an order, places(form, ...)."""
        return f"privacy_models/{self.name}.sql"

    def form(self, name: object) -> ModelForm:
        """Return the form with this name, such as entropy l-diversity; the default form for any other name."""
        return next((f for f in self.forms if f.name == name), self.forms[0])

    @property
    def metrics(self) -> tuple[AchievedMetric, ...]:
        """The metrics that a release reports for its forms."""
        return tuple(dict.fromkeys(f.metric for f in self.forms))


def shares(counts: Floats) -> Floats:
    """Counts of classes as shares."""
    return np.asarray(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))
