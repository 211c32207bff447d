"""p-sensitive k-anonymity: every class has at least p different sensitive values (Truta and Vinay 2006).

A NULL never counts.
"""

from dbanon.privacy_models.l_diversity import distinct_values
from dbanon.privacy_models.model import AchievedMetric, KernelRules, ModelBound, ModelForm, PrivacyModel, TableMeasure
from dbanon.table_functions.parameter_types import Integer
from dbanon.table_functions.parameters import Parameter

MODEL = PrivacyModel(
    name="p_sensitivity",
    position=4,
    parameters=(
        Parameter(
            "p", Integer(2), "p-sensitive k-anonymity: least number of distinct sensitive values in every class."
        ),
    ),
    source="Truta and Vinay 2006",
    function="p_sensitive",
    description="distinct sensitive values in a class",
    example="",
    forms=(
        ModelForm(
            name="distinct",
            bound=ModelBound("p", "higher"),
            measure=distinct_values,
            metric=AchievedMetric(
                "p_sensitivity", "Achieved p of a sensitive column: least number of distinct values in a class."
            ),
            table_measure=TableMeasure("p_sensitive", "Least number of distinct values in a class."),
            sentence="at least {p} different sensitive values in every class",
            min_records=lambda settings: int(settings["p"]),
            kernel_rules=lambda settings, sensitive: KernelRules(min_distinct=int(settings["p"])),
            is_distinct_count=True,
        ),
    ),
)
