"""What the certificate of a release says, in chapters: what was released, what protects it, and what does not."""

from collections.abc import Sequence

from dbanon.publishing.certificate import Line
from dbanon.publishing.report.blocks import Facts, Section, shown


def released(lines: Sequence[Line]) -> Section:
    """What was released, how and when, and what became of each column."""
    said = {(line.section, line.item): line.value for line in lines}
    own = {item: value for (section, item), value in said.items() if section == "release"}
    columns = [line for line in lines if line.section == "roles"]
    published = sum(line.value in ("quasi", "sensitive", "other") for line in columns)
    sentences = [
        f"Version {own['version']} of {shown(own['name'])} was released at {own['released at']} by the algorithm "
        f"{own['algorithm']}: {_number(said['achieved', 'records'])} records with {published} columns.",
        "The ledger keeps no name of a person who released it: a DuckDB database has no users.",
    ]
    return Section("released", "What was released", sentences, [Facts(_of(lines, "release", "parameters", "roles"))])


def protected(lines: Sequence[Line]) -> Section:
    """The privacy model, how it was verified, what was achieved and left out, and what the ledger knows of others."""
    said = {(line.section, line.item): line.value for line in lines}
    asked = [f"{line.item}: {line.value}" for line in lines if line.section == "model" and line.item != "verified"]
    sentences = [
        "What was asked for: " + "; ".join(map(_whole, asked)) + ".",
        f"What was achieved: k = {said['achieved', 'k']} in {_number(said['achieved', 'classes'])} classes; a share of "
        f"{shown(float(said['achieved', 'precision']))} of the quasi-identifiers' detail is kept (precision).",
    ]
    return Section(
        "model", "Privacy model and what was achieved", sentences,
        [Facts(_of(lines, "model", "achieved", "left out", "other releases"))],
    )  # fmt: skip


def unprotected(lines: Sequence[Line]) -> Section:
    """What the release does not protect from."""
    sentences = [
        "No release protects from everything. What follows holds of this one; the numbers say how much of it there is."
    ]
    return Section(
        "limits", "What it does not protect from", sentences, [Facts(_of(lines, "not protected", "withheld"))]
    )


def _of(lines: Sequence[Line], *sections: str) -> list[Line]:
    return [line for section in sections for line in lines if line.section == section]


def _number(value: str) -> str:
    return shown(float(value)) or ""


def _whole(value: str) -> str:
    return shown(value) or ""
