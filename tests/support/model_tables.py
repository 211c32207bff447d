"""Random tables with sensitive columns and a constraint, in three forms: for models.py, the clustering, and SQL."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from oracle import models, reference
from oracle.models import Class, Value
from oracle.reference import Category, Number

from dbanon import algorithms
from dbanon.encoding import encoded_table
from dbanon.privacy_models import model_request
from dbanon.privacy_models.constraint import Constraint
from dbanon.privacy_models.model_request import ModelRequirement
from dbanon.sqltext.quote import text
from support.tables import Table, encoded_column, groups_of, published_classes

Asked = dict[str, Any]

ALGORITHMS = [algorithm.name for algorithm in algorithms.algorithms()]

INFECTIOUS = [["Flu", "Infectious", "*"], ["HIV", "Infectious", "*"], ["Cancer", "Oncology", "*"]]
AREA = [
    ["a1", "A", "*"],
    ["a2", "A", "*"],
    ["b1", "B", "*"],
    ["b2", "B2", "B", "*"],
    ["b3", "B2", "B", "*"],
    ["c", "*"],
]
ILLNESS = [
    ["TB", "Infectious", "*"],
    ["Flu", "Viral", "Infectious", "*"],
    ["HIV", "Viral", "Infectious", "*"],
    ["Stroke", "*"],
    ["Cancer", "Oncology", "*"],
]
CAUSE = [["work", "Accident", "*"], ["home", "Accident", "*"], ["other", "*"]]


@dataclass(frozen=True)
class SensitiveColumn:
    """A sensitive column: its values in their order, and its hierarchy, which then defines the order."""

    type: str
    values: tuple[Value, ...]
    hierarchy: str | None = None
    rows: list[list[str]] | None = None

    @property
    def order(self) -> list[str] | None:
        return None if self.rows is None else [row[0] for row in self.rows]


SENSITIVE = {
    "disease": SensitiveColumn("VARCHAR", ("Flu", "HIV", "TB", "Cancer", "Stroke"), "illness", ILLNESS),
    "cause": SensitiveColumn("VARCHAR", ("home", "work", "other"), "cause", CAUSE),
    "plan": SensitiveColumn("VARCHAR", ("b", "a", "Z", "none")),
    "score": SensitiveColumn("INTEGER", (10, 9, -1, 300, 0)),
}

SHARES = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7)
ASKS: dict[str, Callable[[random.Random], Asked]] = {
    "k": lambda rng: {},
    "l": lambda rng: {"l": rng.choice([2, 2, 3, 4])},
    "entropy": lambda rng: {"l": rng.choice([2, 2, 3]), "diversity": "entropy"},
    "recursive": lambda rng: {"l": rng.choice([2, 2, 3]), "diversity": "recursive", "c": rng.choice([0.5, 1, 1.5, 3])},
    "recursive, c not given": lambda rng: {"l": rng.choice([2, 3]), "diversity": "recursive"},
    "t": lambda rng: {"t": rng.choice(SHARES)},
    "ordered t": lambda rng: {"t": rng.choice(SHARES), "ground_distance": "ordered"},
    "hierarchical t": lambda rng: {"t": rng.choice(SHARES), "ground_distance": "hierarchical"},
    "alpha": lambda rng: {"alpha": rng.choice([0.4, 0.5, 0.6, 0.75, 0.8, 0.9])},
    "p": lambda rng: {"p": rng.choice([2, 2, 3, 4])},
    "beta": lambda rng: {"beta": rng.choice([0.25, 0.5, 1, 2, 4])},
    "enhanced beta": lambda rng: {"beta": rng.choice([0.5, 1, 2, 4]), "likeness": "enhanced"},
}


def _several(rng: random.Random) -> Asked:
    """Return two or three models; a later one of a kind replaces the earlier."""
    parameters: Asked = {}
    for name in rng.sample([name for name in ASKS if name != "k"], rng.choice([2, 3])):
        extra = ASKS[name](rng)
        forms = {"l": ("diversity", "c"), "t": ("ground_distance",), "beta": ("likeness",)}
        parameters = {
            key: value for key, value in parameters.items() if not any(key in forms.get(new, ()) for new in extra)
        }
        parameters |= extra
    return parameters


MODELS = {**ASKS, "several": _several}


@dataclass(frozen=True)
class ModelCase:
    """A random table and its constraint."""

    name: str
    attributes: list[reference.Attribute]
    named: list[bool]
    max_levels: list[int | None]
    records: list[tuple[Value, ...]]
    sensitive: list[str]
    values: list[tuple[Value, ...]]
    persons: list[int | None] | None
    asked: Asked

    def __str__(self) -> str:
        return (
            f"{self.name}: {self.asked}, {len(self.records)} records, {self.sensitive}, persons: {bool(self.persons)}, "
            f"max_level: {self.max_levels}"
        )

    @property
    def columns(self) -> list[SensitiveColumn]:
        return [SENSITIVE[name] for name in self.sensitive]

    @property
    def trees(self) -> list[models.Rows | None]:
        return [column.rows for column in self.columns]

    @property
    def orders(self) -> list[list[str] | None]:
        return [column.order for column in self.columns]

    def block(self, record: int) -> tuple[str | None, ...]:
        """Return the highest nodes that a record may be published as, for the columns with a max_level."""
        lines = {row[0]: row for row in AREA}
        values = [(self.records[record][j], level) for j, level in enumerate(self.max_levels) if level is not None]
        return tuple(None if v is None else lines[str(v)][min(level, len(lines[str(v)]) - 1)] for v, level in values)

    def blocks(self, records: Sequence[int]) -> list[list[int]]:
        """Return records that no max_level separates."""
        result: dict[tuple[str | None, ...], list[int]] = {}
        for record in records:
            result.setdefault(self.block(record), []).append(record)
        return list(result.values())

    def classes(self, groups: Sequence[Sequence[int]]) -> list[Class]:
        """Return groups of record numbers in the form of models.py."""
        persons = range(len(self.records)) if self.persons is None else self.persons
        return [[(self.values[r], persons[r]) for r in group] for group in groups]

    def unmet(self, groups: Sequence[Sequence[int]]) -> list[str]:
        """Return the parameters whose model these classes miss."""
        return models.unmet(self.classes(groups), self.asked, self.orders, self.trees)

    def meets(self, group: Sequence[int]) -> bool:
        """Return whether this class of the table meets the constraint."""
        rest = sorted(set(range(len(self.records))) - set(group))
        return models.first_meets(self.classes([group, rest]), self.asked, self.orders, self.trees)


def random_case(model: str, seed: int, least_k: int = 1) -> ModelCase:
    """Return a case of 8 to 60 records with few distinct values.

    Sensitive values are skewed, in half of the tables in homogeneous runs.
    """
    rng = random.Random(f"{model} {seed}")
    parameters = MODELS[model](rng)
    attributes, name_text, pools = _quasi(rng)
    n = rng.randint(8, 60)
    records = [tuple(rng.choice(pool) for pool in pools) for _ in range(n)]
    records[0] = tuple(pool[0] for pool in pools)
    one_set = ["disease", "cause"] if parameters.get("ground_distance") == "hierarchical" else list(SENSITIVE)
    sensitive = rng.sample(one_set, rng.choice([1, 1, 2]))
    columns = [_sensitive(rng, SENSITIVE[name], n) for name in sensitive]
    if rng.random() < 0.5:
        records.sort(key=str)
        columns = [sorted(column, key=str) for column in columns]
    persons: list[int | None] | None = None
    if rng.random() < 0.3:
        people = rng.randint(n // 3, n)
        persons = [None if rng.random() < 0.1 else rng.randrange(people) for _ in range(n)]
    values = list(zip(*columns, strict=True))
    multi = rng.choice(["joint", "joint", "independent", None]) if len(sensitive) == 2 and parameters else None
    parameters = {"k": max(rng.choice([1, 2, 2, 3, 4, 5]), least_k), **parameters} | (
        {"multi_sensitive": multi} if multi else {}
    )
    levels = [rng.choice([None, None, None, 1, 2]) if has_name else None for has_name in name_text]
    return ModelCase(f"{model} {seed}", attributes, name_text, levels, records, sensitive, values, persons, parameters)


def _quasi(rng: random.Random) -> tuple[list[reference.Attribute], list[bool], list[list[Value]]]:
    """Return the quasi-identifiers.

    Attributes, whether each has a named hierarchy, and the values of each column; NULL is never first.
    """
    attributes: list[reference.Attribute] = []
    name_text: list[bool] = []
    pools: list[list[Value]] = []
    for _ in range(rng.randint(1, 3)):
        kind = rng.choice(["number", "number", "tree", "flat"])
        if kind == "number":
            attributes.append(Number())
            pools.append([rng.randint(0, 50) for _ in range(rng.randint(2, 20))])
        elif kind == "tree":
            attributes.append(Category(reference.Tree(AREA)))
            pools.append(rng.sample([row[0] for row in AREA], rng.randint(2, len(AREA))))
        else:
            pools.append(rng.sample(["m", "f", "x", "y"], rng.randint(2, 4)))
            attributes.append(Category(reference.flat(pools[-1])))
        name_text.append(kind == "tree")
        pools[-1] += [None] * rng.choice([0, 0, 0, 1])
    return attributes, name_text, pools


def _sensitive(rng: random.Random, column: SensitiveColumn, n: int) -> list[Value]:
    """Return n skewed values of a sensitive column, some of them NULL."""
    values = column.values[: rng.randint(2, len(column.values))]
    skew = rng.choice([1.0, 0.7, 0.4])
    null = rng.choice([0.0, 0.0, 0.1, 0.3])
    sampled_choices = rng.choices(values, [skew**i for i in range(len(values))], k=n)
    return [None if rng.random() < null else value for value in sampled_choices]


# For the clustering


def encode_case(case: ModelCase) -> tuple[encoded_table.EncodedTable, list[int]]:
    """Return the encoded table of a case, and its canonical order."""
    columns = [encoded_column(a, [r[j] for r in case.records]) for j, a in enumerate(case.attributes)]
    quasi = [
        (replace(a, max_level=level) if isinstance(a, encoded_table.CategoricalAttribute) else a, codes)
        for (a, codes), level in zip(columns, case.max_levels, strict=True)
    ]
    persons = None if case.persons is None else np.array([-1 if p is None else p for p in case.persons], np.int64)
    sensitive: list[tuple[encoded_table.Codes, int, encoded_table.CategoricalAttribute | None]] = []
    for i, column in enumerate(case.columns):
        values = [row[i] for row in case.values]
        kind: reference.Attribute = Number() if column.type == "INTEGER" else Category(reference.flat(values))
        if column.rows is not None:
            kind = Category(reference.Tree(column.rows))
        attribute, codes = encoded_column(kind, values)
        tree = (
            attribute if isinstance(attribute, encoded_table.CategoricalAttribute) and column.rows is not None else None
        )
        sensitive.append((codes, attribute.values, tree))
    ties = np.random.default_rng(len(case.records)).integers(0, 2**63, len(case.records)).astype(np.uint64)
    built, order = encoded_table.encode_table(
        [a for a, _ in quasi], [c for _, c in quasi], ties, persons, sensitive=sensitive
    )
    return built, order.tolist()


def constraint(case: ModelCase) -> Constraint:
    """Return the constraint in the form of the package."""
    model_requirements = model_request.model_requirements("a test", "t", case.asked, case.sensitive)
    return Constraint(case.asked["k"], model_requirements, case.asked.get("multi_sensitive") == "joint")


def model_requirement(**options: object) -> ModelRequirement:
    """Return the requirements of parameters on the first sensitive column."""
    return model_request.model_requirements("a test", "t", options, ["s"])[0]


# For SQL


def literal(value: object) -> str:
    """Return a value as SQL."""
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return str(text(value))
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{literal(key)}: {literal(element)}" for key, element in value.items()) + "}"
    return "[" + ", ".join(map(literal, value)) + "]" if isinstance(value, list) else repr(value)


def create_table(con: Any, columns: Mapping[str, str], rows: Sequence[Sequence[Value]], name: str = "t") -> None:
    """Create a table of these columns with these rows."""
    con.execute(f"CREATE OR REPLACE TABLE {name} ({', '.join(f'{c} {type_}' for c, type_ in columns.items())})")
    con.execute(f"INSERT INTO {name} VALUES " + ", ".join(f"({', '.join(map(literal, row))})" for row in rows))


def call_text(function: str, arguments: Mapping[str, object], name: str = "t") -> str:
    return f"{function}('{name}', " + ", ".join(f"{key} := {literal(value)}" for key, value in arguments.items()) + ")"


def create_case_table(con: Any, case: ModelCase) -> list[str]:
    """Create the table of a case; return the names of its quasi-identifiers."""
    quasi = [f"q{j}" for j in range(len(case.attributes))]
    types = ["BIGINT" if isinstance(a, Number) else "VARCHAR" for a in case.attributes]
    columns = {"rid": "INTEGER", **dict(zip(quasi, types, strict=True)), "person": "INTEGER"}
    columns |= {name: SENSITIVE[name].type for name in case.sensitive}
    persons = case.persons or [None] * len(case.records)
    parts = zip(case.records, persons, case.values, strict=True)
    create_table(con, columns, [(rid, *record, person, *values) for rid, (record, person, values) in enumerate(parts)])
    return quasi


def case_arguments(case: ModelCase, quasi: list[str]) -> dict[str, object]:
    """Return the arguments of a call with the constraint of the case."""
    hierarchies = {q: "area" for q, name_text in zip(quasi, case.named, strict=True) if name_text}
    if case.asked.get("ground_distance") in ("ordered", "hierarchical"):
        hierarchies |= {name: str(SENSITIVE[name].hierarchy) for name in case.sensitive if SENSITIVE[name].hierarchy}
    arguments: dict[str, object] = {"qi": quasi, "sensitive": case.sensitive, **case.asked}
    if hierarchies:
        arguments["hierarchies"] = hierarchies
    levels = {q: level for q, level in zip(quasi, case.max_levels, strict=True) if level is not None}
    if levels:
        arguments["max_level"] = levels
    if case.persons is not None:
        arguments["person"] = "person"
    return arguments


def unmet_parameter(error: Exception) -> str | None:
    """Return the parameter that an error names as impossible; None for another error.

    It is `max_level` where that separates the records.
    """
    if "k must be " in str(error):
        return "k"
    if re.search(r"max_level of .* separates \d+ records into groups that cannot meet k = ", str(error)):
        return "max_level"
    match = re.search(r"all records together do not meet (\w+) = ", str(error))
    return match[1] if match else None


def published_groups(case: ModelCase, order: Sequence[int], labels: Sequence[int]) -> list[list[int]]:
    """Return the records of each published class: clusters with equal published values are one."""
    table = Table(case.records, case.attributes)
    classes: dict[tuple[Any, ...], list[int]] = {}
    for members in groups_of(labels):
        group = [order[row] for row in members]
        (values,) = published_classes(table, case.records, [group])
        classes.setdefault(values, []).extend(group)
    return list(classes.values())


def missed_models(case: ModelCase, records: Sequence[int]) -> set[str]:
    """Return the models that these records miss together; `max_level` if only a block that it separates misses one."""
    unmet = case.unmet([records])
    return set(unmet) or {"max_level" for _ in case.unmet(case.blocks(records))}
