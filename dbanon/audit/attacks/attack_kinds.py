"""The attacks, each a row of a table and a file in sql/audit/attacks/."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Attack:
    """One attack: what sets it apart beside its SQL.

    `guesses` is what is guessed: 'sensitive' values, 'quasi' values, 'both', where sensitive columns may be missing, or
    'person', whose record it is. `template` is its file in sql/audit/attacks/, by default of its name; `threshold` the
    confidence from which on somebody counts as exposed where the call does not say (of skewness: the gain in
    confidence); `uses` are parameters that are about it and not about all attacks. `calls_python`: its SQL asks a
    function of ours, whose error is `message` of a CTE `failed`; `weighs_people`: a guess counts as often as people
    were tried, not as its class has records.
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
        """The template that finds what it exposes."""
        return f"audit/attacks/{self.template or self.name}.sql"


_CLASS_TEMPLATE = "guesses"
"""The template of attacks that read a sensitive value off a class."""

KINDS = {
    attack.name: attack
    for attack in (
        Attack("homogeneity", template=_CLASS_TEMPLATE, threshold=1.0),
        Attack("skewness", template=_CLASS_TEMPLATE, threshold=0.2),
        Attack("similarity", template=_CLASS_TEMPLATE, threshold=1.0),
        Attack("background", template=_CLASS_TEMPLATE, threshold=1.0, own_parameters=("facts",)),
        Attack("majority", own_parameters=("sample",), weighs_people=True),
        Attack("linkage", target="person", own_parameters=("register", "sample"), weighs_people=True),
        Attack("prediction", own_parameters=("register", "seed", "train"), calls_python=True, weighs_people=True),
        Attack("reconstruction"),
        Attack("minimality", own_parameters=("k", "l", "alpha"), calls_python=True),
        Attack("downcoding", target="quasi"),
        Attack("refinement", target="both", own_parameters=("k",), calls_python=True),
    )
}
"""All attacks by name."""
