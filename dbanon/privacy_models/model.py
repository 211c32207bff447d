"""What a privacy model is: one object that its file in this folder defines, and one SQL file of the same name.

A class is a row of counts by sensitive value, the last one for NULL: how many records (distinct persons) have the
value. Bounds are kept to within SLACK, so that the release gate, which computes them anew in SQL, never meets a class
that is a rounding error short.
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
    """A demand as compiled code judges it (dbanon.kernels.model_gathering): all that is given must hold.

    least: number of different values; entropy: least exp of the entropy; recursive: c and l; distance: the greatest,
    and its kind (0 equal, 1 ordered, 2 hierarchical, -1 none); most: greatest share of each value in a class; aim: the
    share of a known value that is worth aiming at. Not `exact`: a class that these rules let pass may still miss the
    model, and another way than the compiled one is taken where there is one.
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
    """What a release achieves by some forms of a model: name and meaning of a measure in `NAME_metrics`."""

    name: str
    description: str


@dataclass(frozen=True)
class TableMeasure:
    """What a form shows of any table: its name in `anonymity`, and the meaning of the number.

    `measure` is what its SQL file calls the number and `better` its direction, where they are not those of the form.
    """

    name: str
    description: str
    measure: str = ""
    better: str = ""


@dataclass(frozen=True)
class ModelBound:
    """How the measure of a class is compared with a parameter.

    parameter: the one that bounds the measure; better: 'higher' or 'lower'; strict: the bound itself is not enough;
    slack: how far the algorithms stay from the bound on the safe side where it is strict. most: the most there can be,
    where less is better. unreachable: what else to ask for where no bound is high enough.
    """

    parameter: str
    better: str
    strict: bool = False
    slack: float = SLACK
    max_measure: float = math.inf
    unreachable: str = ""


@dataclass(frozen=True)
class ModelForm:
    """One form of a model: a measure of every class, and what of it is enough.

    name: what the parameter that chooses the form is given, and what the SQL file calls the measure. settings:
    parameters that only this form has, with their defaults. least: no class of fewer records can meet the model.
    sentence: what the certificate says, with {form} and the settings.

    compares: whether classes are compared with the whole table. counts_values: whether a number of different values is
    asked for and nothing else, which a union of classes has wherever one of them has it. kept_by_union: whether a union
    of disjoint classes meets the model where each does and records are counted; otherwise nothing is taken for granted.

    order: what is asked of the values beside that they differ: nothing, their 'order' (of the leaves of the hierarchy
    where the column has one) or their 'hierarchy'; places: names of the columns that tell it in SQL; instead: a form
    that is never met where this is not, and needs no hierarchy.
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

    name: of its Python file, of its SQL file, and in messages; place: among the models in all lists. parameters: the
    first asks for the model; `chooses` names the one that chooses among `forms`, the first of which is the default.
    function: the table function that measures any table, with what it `gives` and an `example` call of it.
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
        """Return the form of a name; None: the default."""
        return next((f for f in self.forms if f.name == name), self.forms[0])

    @property
    def metrics(self) -> tuple[AchievedMetric, ...]:
        """What a release achieves by its forms."""
        return tuple(dict.fromkeys(f.metric for f in self.forms))


def shares(counts: Floats) -> Floats:
    """Counts of classes as shares."""
    return np.asarray(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))
