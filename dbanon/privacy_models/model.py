"""The definition of a privacy model: one object in a Python file and one SQL file of the same name.

For a measure, a class is a row of counts by sensitive value, the last one for NULL: the number of records (distinct
persons) with the value. Algorithms stay within bounds by SLACK, so that rounding in the release gate, which computes
the measures again in SQL, never fails a class.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dbanon.encoding.encoded_table import Bools, Floats, SensitiveColumn
from dbanon.table_functions.parameters import Parameter

ModelSettings = Mapping[str, Any]
"""Values of a model's parameters, by name: numbers."""

SLACK = 1e-12

Measure = Callable[[ModelSettings, SensitiveColumn, Floats, Floats], Floats]
"""Function of settings, column, counts (classes, values + 1) and sizes (classes,) that returns the measure of each
class."""


@dataclass(frozen=True)
class KernelRules:
    """The rules by which compiled code checks a privacy model on a class (dbanon.kernels.model_gathering).

    A class must meet all of them; the defaults require nothing.

    Attributes:
        min_distinct: Least number of different values.
        min_exp_entropy: Least exp of the entropy.
        recursive: The parameters c and l of recursive diversity.
        distance: Greatest earth mover's distance, and its kind (0 equal, 1 ordered, 2 hierarchical, -1 none).
        max_shares: (values + 1,) greatest share of each value in a class; None for no limit.
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
    """A metric of a release (in NAME_metrics) that states what it achieves by some forms of a privacy model."""

    name: str
    description: str


@dataclass(frozen=True)
class TableMeasure:
    """The row by which the table function `anonymity` reports a form of a privacy model for any table.

    Attributes:
        name: Name of the row.
        description: Meaning of the number.
        measure: Name of the measure in the SQL file, if it is not that of the form; else empty.
        better: 'higher' or 'lower', if it is not that of the form; else empty.
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
        better: 'higher' (the parameter is the least allowed measure) or 'lower' (the greatest).
        strict: Whether a measure equal to the bound violates the model.
        slack: Distance that the algorithms keep from a strict bound.
        max_measure: Greatest possible measure, if lower is better.
        unreachable: Hint what to request instead if no bound is high enough; empty for a general hint.
    """

    parameter: str
    better: str
    strict: bool = False
    slack: float = SLACK
    max_measure: float = math.inf
    unreachable: str = ""


@dataclass(frozen=True)
class ModelForm:
    """One form of a privacy model: a measure of every class, and its bound.

    Attributes:
        name: Value of the parameter that selects the form, and name of the measure in the SQL file.
        bound: The comparison of the measure with a parameter.
        measure: The function that measures classes, given as counts (see `Measure`).
        metric: The metric that a release reports.
        table_measure: The measure that `anonymity` reports.
        sentence: Sentence of a release's certificate, with {form} and the settings as fields.
        settings: Parameters that only this form has, with their defaults.
        min_records: Function of the settings: least number of records of a class that can meet the model.
        kernel_rules: Function of settings and column: the rules by which compiled code checks the form.
        uses_overall: Whether classes are compared with the whole table.
        is_distinct_count: Whether the form only requires a number of different values, which a union of classes has if
            one of them has it.
        is_closed_under_union: Whether a union of disjoint classes meets the model if each does and records are counted;
            if not, nothing is assumed.
        value_order: Structure of the values that the form uses: '' for none, 'order' (of the leaves if the column has a
            hierarchy) or 'hierarchy'.
        order_columns: SQL columns that contain this structure.
        alternative: Name of a form that needs no hierarchy and is stricter: a class that meets it meets this form; or
            ''.
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
        """Whether the bound is the least allowed measure (higher is better)."""
        return self.bound.better == "higher"

    def is_satisfied(self, measures: Floats | np.float64, bound: float) -> Bools:
        """Return, for each measure, whether it meets the bound.

        A bound that is not strict may be missed by SLACK, because of rounding. If lower is better and the bound is
        strict, the measure must be less than the bound by more than `self.bound.slack`.
        """
        if self.is_higher:
            return np.asarray(measures >= bound - SLACK)
        if self.bound.strict:
            return np.asarray(measures < bound - self.bound.slack)
        return np.asarray(measures <= bound + SLACK)


@dataclass(frozen=True)
class PrivacyModel:
    """One privacy model of sensitive columns, such as l-diversity.

    Attributes:
        name: The name of its Python file and its SQL file, also used in messages.
        position: Its position among the models in all lists.
        parameters: Its parameters in a call; the first one requests the model.
        forms: Its forms; the first one is the default.
        source: The paper or standard that defines it.
        function: The table function that measures any table by it.
        description: What that function returns.
        example: Further parameters for an example call of that function; may be empty.
        form_parameter: The parameter that selects the form; empty if there is only one.
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
        """The name of the parameter that requests the model, such as l for l-diversity."""
        return self.parameters[0].name

    @property
    def sql_file(self) -> str:
        """Path of the model's SQL template below `sql/`.

        The file defines the macros measure(name, of, settings) and, for a form with an order, places(form, ...).
        """
        return f"privacy_models/{self.name}.sql"

    def form(self, name: object) -> ModelForm:
        """Return the form (variant) with this name, such as 'entropy' of l-diversity.

        The default form is returned for None and for any other name.
        """
        return next((f for f in self.forms if f.name == name), self.forms[0])

    @property
    def metrics(self) -> tuple[AchievedMetric, ...]:
        """The metrics that releases report for the model's forms (variants, such as entropy), without duplicates."""
        return tuple(dict.fromkeys(f.metric for f in self.forms))


def shares(counts: Floats) -> Floats:
    """Return the (classes, values) counts as shares of each class's sum; a class without records has zeros."""
    return np.asarray(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))
