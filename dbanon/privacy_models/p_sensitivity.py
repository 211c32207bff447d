"""p-sensitive k-anonymity: every class has at least p different sensitive values (Truta and Vinay 2006).

A NULL never counts.
"""

from dbanon.privacy_models.l_diversity import distinct
from dbanon.privacy_models.model import Form, Listed, Metric, Model, ModelBound, Rules
from dbanon.table_functions.parameter_types import Integer
from dbanon.table_functions.parameters import Parameter

MODEL = Model(
    name="p_sensitivity",
    place=4,
    parameters=(
        Parameter(
            "p", Integer(2), "p-sensitive k-anonymity: least number of different sensitive values in every class."
        ),
    ),
    source="Truta and Vinay 2006",
    function="p_sensitive",
    gives="different sensitive values in a class",
    example="",
    forms=(
        Form(
            name="distinct",
            bound=ModelBound("p", "higher"),
            measure=distinct,
            metric=Metric(
                "p_sensitivity", "Achieved p of a sensitive column: least number of different values in a class."
            ),
            listed=Listed("p_sensitive", "Least number of different values in a class."),
            sentence="at least {p} different sensitive values in every class",
            least=lambda settings: int(settings["p"]),
            rules=lambda settings, sensitive: Rules(least=int(settings["p"])),
            counts_values=True,
        ),
    ),
)
