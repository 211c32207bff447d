"""The privacy models that a call requests, and the sensitive columns that they apply to."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import ROUND_CEILING, Context

import numpy as np

from dbanon import errors
from dbanon.encoding.encoded_table import Bools, Floats, Ints, SensitiveColumn
from dbanon.privacy_models import registry
from dbanon.privacy_models.model import SLACK, KernelRules, ModelForm, ModelSettings, PrivacyModel


@dataclass(frozen=True)
class ModelRequirement:
    """One privacy model asked of one sensitive column: names of the model and its form, the column's number, and the
    values of the parameters."""

    model: str
    form: str
    sensitive: int
    settings: ModelSettings

    @property
    def privacy_model(self) -> PrivacyModel:
        return registry.find_model(self.model)

    @property
    def form_definition(self) -> ModelForm:
        """The form."""
        return self.privacy_model.form(self.form)

    @property
    def parameter(self) -> str:
        """The parameter that asks for the model."""
        return self.privacy_model.parameter

    @property
    def bound(self) -> float:
        """The bound of the measure."""
        return float(self.settings[self.form_definition.bound.parameter])

    @property
    def min_records(self) -> int:
        """No class of fewer records can meet the demand."""
        return self.form_definition.min_records(self.settings)

    @property
    def parameter_text(self) -> str:
        """The demand as parameters of a call."""
        values = {name: str(v) if isinstance(v, int) else f"{v:g}" for name, v in self.settings.items()}
        if self.form != self.privacy_model.forms[0].name:
            values[self.privacy_model.form_parameter] = f"'{self.form}'"
        return ", ".join(f"{p.name} = {values[p.name]}" for p in self.privacy_model.parameters if p.name in values)

    @property
    def sentence(self) -> str:
        """The demand as the certificate says it."""
        return self.form_definition.sentence.format(form=self.form, **self.settings)

    def as_dict(self) -> dict[str, object]:
        """Return the demand as JSON."""
        return asdict(self)

    def best_request(self, overall_measure: float) -> str:
        """Return a measure of the whole table as the most that a call may ask for; asking for that works."""
        bound = self.form_definition.bound.parameter
        if self.form_definition.is_higher:
            max_whole = int(overall_measure + SLACK)
            return f"{bound} = {max_whole}" if max_whole > 1 else f"no {bound} above 1"
        if not np.isfinite(overall_measure):
            return self.form_definition.bound.unreachable or f"no {self.parameter} in this form"
        return f"{bound} {'above' if self.form_definition.bound.strict else '='} {_rounded_up(overall_measure)}"

    def measure(self, sensitive: SensitiveColumn, counts: Ints, sizes: Ints) -> Floats:
        """Return the measure of each class: counts (classes, values + 1), sizes (classes,)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.form_definition.measure(
                self.settings, sensitive, counts.astype(np.float64), sizes.astype(np.float64)
            )

    def is_satisfied(self, measures: Floats | np.float64) -> Bools:
        """Return whether measures are enough."""
        return self.form_definition.is_satisfied(measures, self.bound)

    def kernel_rules(self, sensitive: SensitiveColumn) -> KernelRules:
        """Return the demand as compiled code judges it."""
        return self.form_definition.kernel_rules(self.settings, sensitive)


def model_requirements(
    function: str, table: str, options: Mapping[str, object], sensitive: Sequence[str]
) -> tuple[ModelRequirement, ...]:
    """Return all models that parameters ask for, each for every sensitive column.

    What `options` does not name is not asked.

    Raises SensitiveColumnMissingError where there is none, and UnusedArgumentError for the form of a model that is not
    asked for.
    """
    all_models = registry.models()
    requested = [m for m in all_models if options.get(m.parameter) is not None]
    for model in all_models:
        for parameter in model.parameters[1:]:
            if options.get(parameter.name) is not None and model not in requested:
                raise errors.UnusedArgumentError(function, parameter.name, f"{model.parameter} is not given")
    for model in requested:
        refuse_other_forms(function, model, options)
    if options.get("multi_sensitive") is not None and not requested:
        names = ", ".join(m.parameter for m in all_models)
        raise errors.UnusedArgumentError(function, "multi_sensitive", f"none of {names} is given")
    if requested and not sensitive:
        raise errors.SensitiveColumnMissingError(function, requested[0].parameter, table)
    return tuple(_requirement(m, options, i) for i in range(len(sensitive)) for m in requested)


def refuse_other_forms(function: str, model: PrivacyModel, options: Mapping[str, object]) -> None:
    """Raise UnusedArgumentError for a parameter of a form that is not chosen."""
    chosen_form = model.form(options.get(model.form_parameter))
    for form in model.forms:
        for name in form.settings:
            if options.get(name) is not None and name not in chosen_form.settings:
                raise errors.UnusedArgumentError(function, name, f"{model.form_parameter} is not '{form.name}'")


def uses_value_order(options: Mapping[str, object]) -> bool:
    """Return whether a model that is asked for depends on the order or the hierarchy of sensitive values."""
    return any(
        bool(m.form(options.get(m.form_parameter)).value_order)
        for m in registry.models()
        if options.get(m.form_parameter)
    )


def _requirement(model: PrivacyModel, options: Mapping[str, object], sensitive: int) -> ModelRequirement:
    form = model.form(options.get(model.form_parameter))
    settings = {model.parameter: options[model.parameter]}
    settings |= {name: options.get(name) or default for name, default in form.settings.items()}
    return ModelRequirement(model.name, form.name, sensitive, settings)


def _rounded_up(number: float) -> str:
    """Return the least number of six digits that is not below, within SLACK."""
    six = Context(prec=6, rounding=ROUND_CEILING)
    return f"{float(six.create_decimal(max(number - SLACK, 0.0))):g}"
