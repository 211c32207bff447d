"""List the kinds of attacks, each with a template in sql/audit/attacks/."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Attack:
    """A kind of attack on a release.

    Attributes:
        target: What is guessed: values of "sensitive" or of "quasi" columns, "both" (then sensitive columns are
            optional), or "person": which person a record is about.
        template: The name of its file in sql/audit/attacks/; default: the name of the attack.
        threshold: Default confidence from which a person counts as exposed (for skewness: gain in confidence).
        own_parameters: Parameters that this attack uses and not all others do.
        calls_python: Whether its SQL calls a Python function; the text of an error is then column `message` of a CTE
            `computation_errors`.
        weighs_people: Whether a guess counts once per person that was tried, instead of once per record of its class.
    """

    name: str
    target: str = "sensitive"
    template: str | None = None
    threshold: float = 0.5
    own_parameters: tuple[str, ...] = ()
    calls_python: bool = False
    weighs_people: bool = False

    @property
    def template_path(self) -> str:
        """The path, below sql/, of the SQL template that finds the people whom the attack exposes."""
        return f"audit/attacks/{self.template or self.name}.sql"


_CLASS_TEMPLATE = "guesses"
"""The template of attacks that infer a sensitive value from the class alone."""

KINDS = {
    attack.name: attack
    for attack in (
        Attack("homogeneity", template=_CLASS_TEMPLATE, threshold=1.0),
        Attack("skewness", template=_CLASS_TEMPLATE, threshold=0.2),
        Attack("similarity", template=_CLASS_TEMPLATE, threshold=1.0),
        Attack("background", template=_CLASS_TEMPLATE, threshold=1.0, own_parameters=("known_negatives",)),
        Attack("majority", own_parameters=("sample",), weighs_people=True),
        Attack("linkage", target="person", own_parameters=("register", "sample"), weighs_people=True),
        Attack("membership", target="person", own_parameters=("register",), weighs_people=True),
        Attack("prediction", own_parameters=("register", "seed", "train"), calls_python=True, weighs_people=True),
        Attack("reconstruction"),
        Attack("minimality", own_parameters=("k", "l", "alpha"), calls_python=True),
        Attack("downcoding", target="quasi"),
        Attack("refinement", target="both", own_parameters=("k",), calls_python=True),
    )
}
"""All kinds of attacks by name."""
