"""The report's sections about the certificate: the release, its protection, and the limits of the protection."""

from collections.abc import Sequence

from dbanon.publishing.certificate import Line
from dbanon.publishing.report.blocks import CertificateLines, Section, format_cell, format_share
from dbanon.publishing.report.wording import count


def release_section(lines: Sequence[Line]) -> Section:
    """Return the report's section about the release: version, date, algorithm, counts, parameters and column roles.

    `lines` are the lines of the release's certificate.
    """
    values = {(line.section, line.label): line.value for line in lines}
    release_values = {label: value for (section, label), value in values.items() if section == "release"}
    columns = [line for line in lines if line.section == "roles"]
    n_published = sum(line.value in ("quasi", "sensitive", "insensitive") for line in columns)
    sentences = [
        f"Version {release_values['version']} of {format_cell(release_values['name'])} was "
        f"released at {release_values['released at']} by the algorithm "
        f"{release_values['algorithm']}: "
        f"{count(float(values['achieved', 'records']), 'record', 'records')} "
        f"with {count(n_published, 'column', 'columns')}.",
        "The ledger does not record who released it: a DuckDB database has no users.",
    ]
    return Section(
        "released",
        "What was released",
        sentences,
        [CertificateLines(_lines_of_sections(lines, "release", "parameters", "roles"))],
    )


def protection_section(lines: Sequence[Line]) -> Section:
    """Return the section about k, the privacy models, their verification, what was achieved, and other releases."""
    values = {(line.section, line.label): line.value for line in lines}
    constraints = [
        f"{line.label}: {line.value}" for line in lines if line.section == "model" and line.label != "verified"
    ]
    sentences = [
        "Requirements: " + "; ".join(map(_format_text, constraints)) + ".",
        f"Achieved: k = {values['achieved', 'k']} in "
        f"{count(float(values['achieved', 'classes']), 'class', 'classes')}; "
        f"{format_share(float(values['achieved', 'precision']))} of the quasi-identifiers' detail is kept (precision).",
    ]
    return Section(
        "model", "Privacy model and achieved values", sentences,
        [CertificateLines(_lines_of_sections(lines, "model", "achieved", "not published", "other releases"))],
    )  # fmt: skip


def limits_section(lines: Sequence[Line]) -> Section:
    """Return the section about what the release does not protect from, and about its withheld columns."""
    return Section(
        "limits",
        "Limits of the protection",
        ["No release protects from everything. The following limits apply to this one; the numbers show their extent."],
        [CertificateLines(_lines_of_sections(lines, "not protected", "withheld"))],
    )


def _lines_of_sections(lines: Sequence[Line], *sections: str) -> list[Line]:
    """Return the lines of the named sections, in the order of these names."""
    return [line for section in sections for line in lines if line.section == section]


def _format_text(value: str) -> str:
    """Return a text as a page shows it: in one line, shortened if it is too long."""
    return format_cell(value) or ""
