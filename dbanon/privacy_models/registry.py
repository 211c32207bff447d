"""All privacy models: every file of this folder that defines a MODEL."""

import importlib
import pkgutil
from functools import cache

from dbanon.privacy_models.model import AchievedMetric, ModelForm, PrivacyModel
from dbanon.table_functions.parameters import Parameter


@cache
def models() -> tuple[PrivacyModel, ...]:
    """Return all privacy models of sensitive columns, ordered by their positions; k is not one of them."""
    package = importlib.import_module(__package__)
    modules = (importlib.import_module(f"{__package__}.{m.name}") for m in pkgutil.iter_modules(package.__path__))
    return tuple(sorted((m.MODEL for m in modules if hasattr(m, "MODEL")), key=lambda model: model.position))


@cache
def find_model(name: str) -> PrivacyModel:
    """Return the model with this name.

    Raises:
        KeyError: If there is none.
    """
    return {m.name: m for m in models()}[name]


def parameters() -> tuple[Parameter, ...]:
    """Return the call parameters of all privacy models of sensitive columns (not k), in the order of the models."""
    return tuple(p for m in models() for p in m.parameters)


def metrics() -> tuple[tuple[PrivacyModel, ModelForm, AchievedMetric], ...]:
    """Return the release metrics of all privacy models, as (model, form, metric) for each metric.

    The form is the first one of the model that has the metric.
    """
    return tuple((m, next(f for f in m.forms if f.metric == metric), metric) for m in models() for metric in m.metrics)
