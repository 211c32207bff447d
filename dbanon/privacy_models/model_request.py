"""The privacy models that a call requests, and the sensitive columns that they apply to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context

import numpy as np

from dbanon import errors
from dbanon.encoding.encoded_table import Bools, Floats, Ints, SensitiveColumn
from dbanon.privacy_models import registry
from dbanon.privacy_models.model import SLACK, KernelRules, ModelForm, ModelSettings, PrivacyModel


@dataclass(frozen=True)
class ModelRequirement:
    """One privacy model required of one sensitive column.

    Attributes:
        model: Name of the model.
        form: Name of the model's form.
        sensitive: Index of the sensitive column.
        settings: Values of the model's parameters, without the one that selects the form.
    """

    model: str
    form: str
    sensitive: int
    settings: ModelSettings

    @property
    def privacy_model(self) -> PrivacyModel:
        """The definition of the model; KeyError if its name is unknown."""
        return registry.find_model(self.model)

    @property
    def form_definition(self) -> ModelForm:
        """The definition of the form (variant) of the model, by its name; the default form if the name is unknown."""
        return self.privacy_model.form(self.form)

    @property
    def parameter(self) -> str:
        """The name of the parameter that requests the model, such as l for l-diversity."""
        return self.privacy_model.parameter

    @property
    def bound(self) -> float:
        """The value of the parameter that bounds the measure of every class.

        This is l, or c for recursive diversity, t, alpha, p, beta or delta_disclosure.
        """
        return float(self.settings[self.form_definition.bound.parameter])

    @property
    def min_records(self) -> int:
        """Least number of records of a class that can meet the requirement; 0 if the model's form states none."""
        return self.form_definition.min_records(self.settings)

    @property
    def parameter_text(self) -> str:
        """The requirement written as parameters of a call, such as `l = 2, diversity = 'entropy'`.

        The form is named only if it is not the default form.
        """
        values = {name: str(v) if isinstance(v, int) else f"{v:g}" for name, v in self.settings.items()}
        if self.form != self.privacy_model.forms[0].name:
            values[self.privacy_model.form_parameter] = f"'{self.form}'"
        return ", ".join(f"{p.name} = {values[p.name]}" for p in self.privacy_model.parameters if p.name in values)

    @property
    def sentence(self) -> str:
        """The sentence about this requirement in a release's certificate."""
        return self.form_definition.sentence.format(form=self.form, **self.settings)

    def best_request(self, overall_measure: float) -> str:
        """Return, as text for a hint, the strictest bound that a release of the whole table as one class would meet.

        `overall_measure` is the measure of the whole table. The result is one of these:

        - Higher is better: `l = 3` with the measure rounded down, or `no l above 1` if that is at most 1.
        - Lower is better: `t = 0.2`, or `c above 2` for a strict bound, with the measure rounded up.
        - Lower is better, but the measure is infinite: the hint of the form, or `no t in this form` if it has none.
        """
        bound = self.form_definition.bound.parameter
        if self.form_definition.is_higher:
            max_whole = int(overall_measure + SLACK)
            return f"{bound} = {max_whole}" if max_whole > 1 else f"no {bound} above 1"
        if not np.isfinite(overall_measure):
            return self.form_definition.bound.unreachable or f"no {self.parameter} in this form"
        return f"{bound} {'above' if self.form_definition.bound.strict else '='} {_rounded_up(overall_measure)}"

    def measure(self, sensitive: SensitiveColumn, counts: Ints, sizes: Ints) -> Floats:
        """Return the (classes,) measure of each class; higher or lower is better, depending on the form.

        Args:
            sensitive: The sensitive column.
            counts: (classes, values + 1) records with each value, NULL last.
            sizes: (classes,) number of records of each class.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.form_definition.measure(
                self.settings, sensitive, counts.astype(np.float64), sizes.astype(np.float64)
            )

    def is_satisfied(self, measures: Floats | np.float64) -> Bools:
        """Return, for each measure of a class, whether it meets the bound of this requirement.

        A bound that is not strict may be missed by SLACK; a strict one must be kept by a margin (see
        `ModelForm.is_satisfied`).
        """
        return self.form_definition.is_satisfied(measures, self.bound)

    def kernel_rules(self, sensitive: SensitiveColumn) -> KernelRules:
        """Return the rules (see `KernelRules`) by which compiled code checks the requirement on a class.

        `sensitive` is the sensitive column that the requirement applies to.
        """
        return self.form_definition.kernel_rules(self.settings, sensitive)


def model_requirements(
    function: str, table: str, options: Mapping[str, object], sensitive: Sequence[str]
) -> tuple[ModelRequirement, ...]:
    """Return the requirements of all privacy models but k that a call requests, for every sensitive column.

    A model is requested if its main parameter is in `options` and not None. The requirements are ordered by sensitive
    column, then by model.

    Args:
        function: Name of the called function, for messages.
        table: Name of the source, for messages.
        options: The parameters of the call.
        sensitive: Names of the sensitive columns.

    Raises:
        SensitiveColumnMissingError: If a model is requested and there is no sensitive column.
        UnusedArgumentError: If a further parameter of a model is given that is not requested, a parameter of a form
            that is not selected, or `multi_sensitive` without any model.
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
    """Raise UnusedArgumentError if a given parameter belongs only to forms (variants) of a model that are not selected.

    Parameters that are missing or None are not given. Otherwise nothing is done.

    Args:
        function: Name of the called function, for the message.
        model: The privacy model.
        options: The parameters of the call.
    """
    chosen_form = model.form(options.get(model.form_parameter))
    for form in model.forms:
        for name in form.settings:
            if options.get(name) is not None and name not in chosen_form.settings:
                raise errors.UnusedArgumentError(function, name, f"{model.form_parameter} is not '{form.name}'")


def uses_value_order(options: Mapping[str, object]) -> bool:
    """Return whether the call selects by name a form of a model that depends on the order of sensitive values.

    A form (variant of a model) that depends on the hierarchy counts, too. `options` are the parameters of the call.
    Models whose form parameter is absent or None do not count.
    """
    return any(
        bool(m.form(options.get(m.form_parameter)).value_order)
        for m in registry.models()
        if options.get(m.form_parameter)
    )


def _requirement(model: PrivacyModel, options: Mapping[str, object], sensitive: int) -> ModelRequirement:
    """Return the requirement that `options` request of a model, for the sensitive column with index `sensitive`.

    Its settings are the model's main parameter and the parameters of the selected form, with defaults for missing ones.
    """
    form = model.form(options.get(model.form_parameter))
    settings = {model.parameter: options[model.parameter]}
    settings |= {name: options.get(name) or default for name, default in form.settings.items()}
    return ModelRequirement(model.name, form.name, sensitive, settings)


def _rounded_up(number: float) -> str:
    """Return `number`, less SLACK, rounded up to six significant digits, as text; a negative number gives '0'."""
    six = Context(prec=6, rounding=ROUND_CEILING)
    return f"{float(six.create_decimal(max(number - SLACK, 0.0))):g}"
