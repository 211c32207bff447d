"""What privacy models a call asks for, of which sensitive columns."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import ROUND_CEILING, Context

import numpy as np

from dbanon import errors
from dbanon.encoding.encoded_table import Bools, Floats, Ints, SensitiveColumn
from dbanon.privacy_models import registry
from dbanon.privacy_models.model import SLACK, Form, Model, Rules, Settings


@dataclass(frozen=True)
class Demand:
    """One privacy model asked of one sensitive column: names of the model and its form, the column's number, and the
    values of the parameters."""

    model: str
    form: str
    sensitive: int
    settings: Settings

    @property
    def of(self) -> Model:
        return registry.find(self.model)

    @property
    def rule(self) -> Form:
        """The form."""
        return self.of.form(self.form)

    @property
    def parameter(self) -> str:
        """The parameter that asks for the model."""
        return self.of.parameter

    @property
    def bound(self) -> float:
        """What bounds the measure."""
        return float(self.settings[self.rule.bound.parameter])

    @property
    def least(self) -> int:
        """No class of fewer records can meet the demand."""
        return self.rule.least(self.settings)

    @property
    def said(self) -> str:
        """The demand as parameters of a call."""
        given = {name: str(v) if isinstance(v, int) else f"{v:g}" for name, v in self.settings.items()}
        if self.form != self.of.forms[0].name:
            given[self.of.chooses] = f"'{self.form}'"
        return ", ".join(f"{p.name} = {given[p.name]}" for p in self.of.parameters if p.name in given)

    @property
    def sentence(self) -> str:
        """The demand as the certificate says it."""
        return self.rule.sentence.format(form=self.form, **self.settings)

    def fields(self) -> dict[str, object]:
        """Return the demand as JSON."""
        return asdict(self)

    def best(self, measured: float) -> str:
        """Return a measure of the whole table as the most that a call may ask for; asking for that works."""
        bound = self.rule.bound.parameter
        if self.rule.is_higher:
            whole = int(measured + SLACK)
            return f"{bound} = {whole}" if whole > 1 else f"no {bound} above 1"
        if not np.isfinite(measured):
            return self.rule.bound.unreachable or f"no {self.parameter} in this form"
        return f"{bound} {'above' if self.rule.bound.strict else '='} {_rounded_up(measured)}"

    def measure(self, sensitive: SensitiveColumn, counts: Ints, sizes: Ints) -> Floats:
        """Return the measure of each class: counts (classes, values + 1), sizes (classes,)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.rule.measure(self.settings, sensitive, counts.astype(np.float64), sizes.astype(np.float64))

    def met(self, measured: Floats | np.float64) -> Bools:
        """Return whether measures are enough."""
        return self.rule.holds(measured, self.bound)

    def rules(self, sensitive: SensitiveColumn) -> Rules:
        """Return the demand as compiled code judges it."""
        return self.rule.rules(self.settings, sensitive)


def demands(function: str, table: str, options: Mapping[str, object], sensitive: Sequence[str]) -> tuple[Demand, ...]:
    """Return all models that parameters ask for, each for every sensitive column.

    What `options` does not name is not asked.

    Raises SensitiveColumnMissingError where there is none, and UnusedArgumentError for the form of a model that is not
    asked for.
    """
    every = registry.models()
    asked = [m for m in every if options.get(m.parameter) is not None]
    for model in every:
        for parameter in model.parameters[1:]:
            if options.get(parameter.name) is not None and model not in asked:
                raise errors.UnusedArgumentError(function, parameter.name, f"{model.parameter} is not given")
    for model in asked:
        refuse_other_forms(function, model, options)
    if options.get("multi") is not None and not asked:
        names = ", ".join(m.parameter for m in every)
        raise errors.UnusedArgumentError(function, "multi", f"none of {names} is given")
    if asked and not sensitive:
        raise errors.SensitiveColumnMissingError(function, asked[0].parameter, table)
    return tuple(_demand(m, options, i) for i in range(len(sensitive)) for m in asked)


def refuse_other_forms(function: str, model: Model, options: Mapping[str, object]) -> None:
    """Raise UnusedArgumentError for a parameter of a form that is not chosen."""
    chosen = model.form(options.get(model.chooses))
    for form in model.forms:
        for name in form.settings:
            if options.get(name) is not None and name not in chosen.settings:
                raise errors.UnusedArgumentError(function, name, f"{model.chooses} is not '{form.name}'")


def ordered(options: Mapping[str, object]) -> bool:
    """Return whether a model that is asked for depends on the order or the hierarchy of sensitive values."""
    return any(bool(m.form(options.get(m.chooses)).order) for m in registry.models() if options.get(m.chooses))


def _demand(model: Model, options: Mapping[str, object], sensitive: int) -> Demand:
    form = model.form(options.get(model.chooses))
    settings = {model.parameter: options[model.parameter]}
    settings |= {name: options.get(name) or default for name, default in form.settings.items()}
    return Demand(model.name, form.name, sensitive, settings)


def _rounded_up(number: float) -> str:
    """Return the least number of six digits that is not below, within SLACK."""
    six = Context(prec=6, rounding=ROUND_CEILING)
    return f"{float(six.create_decimal(max(number - SLACK, 0.0))):g}"
