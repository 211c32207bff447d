"""The first page of a report: what the checks of a release showed, what they did not, and who signs for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dbanon.ledger.published_files import Handover
from dbanon.publishing.certificate import Certificate, Line
from dbanon.publishing.report.blocks import format_cell
from dbanon.publishing.report.wording import count, listing, odds, percent
from dbanon.sqltext.quote import Sql, one_line

_SKEWNESS_PARAMETERS = ("t", "beta", "delta_disclosure")
"""Parameters of the models that bound how far a class differs from the whole release."""

_MODEL_NAMES = {
    "l": "{bound}-diversity", "t": "{bound}-closeness", "alpha": "share of a value at most {bound}",
    "p": "{bound}-sensitivity", "beta": "{bound}-likeness", "delta_disclosure": "{bound}-disclosure privacy",
}  # fmt: skip
_MAX_NAME_LENGTH = 40
"""Characters of the name of a column that a sentence shows."""

_MAX_LIST_LENGTH = 90
"""Characters of all names of columns that a sentence shows."""


@dataclass(frozen=True)
class Statement:
    """A sentence of the first page, with the queries that recompute its numbers."""

    text: str
    sql: Sequence[Sql] = ()
    title: str | None = None


@dataclass(frozen=True)
class Verdict:
    """The first page.

    Attributes:
        statements: What was checked, as sentences.
        facts: What was released, for whom and why: pairs of a label and a text; None for a text to be written by hand.
        limits: What the release does not protect from.
    """

    statements: Sequence[Statement]
    facts: Sequence[tuple[str, str | None]]
    limits: Sequence[Statement]


class VerdictWriter:
    """Writer of the verdict from the lines of a certificate.

    It states nothing that is not in these lines, so that a recipient's page follows from the recipient's certificate.
    """

    def __init__(self, certificate: Certificate, lines: Sequence[Line], handover: Handover, *, outgoing: bool) -> None:
        """Store the certificate, its lines for this reader, and who gets the release."""
        self.certificate, self.handover, self.outgoing = certificate, handover, outgoing
        self.lines = {(line.section, line.label): line for line in lines}
        self.shape = certificate.shape
        self.has_persons = self.shape.persons is not None

    @property
    def unit(self) -> tuple[str, str]:
        """The singular and the plural of what the privacy models count."""
        return ("person", "people") if self.has_persons else ("record", "records")

    def write(self) -> Verdict:
        """Return the first page."""
        return Verdict(list(self._statements()), list(self._facts()), list(self._limits()))

    def number(self, section: str, label: str) -> float | None:
        """Return the number in a line of the certificate; None if it has no such line."""
        line = self.lines.get((section, label))
        return None if line is None else float(line.value)

    def queries(self, *places: tuple[str, str]) -> list[Sql]:
        """Return the SQL of lines, given by section and label, as far as they have some."""
        return [line.sql for place in places if (line := self.lines.get(place)) is not None and line.sql is not None]

    def _statements(self) -> Iterator[Statement]:
        """Yield the sentences about what was checked."""
        n_records, n_persons = self.number("achieved", "records"), self.number("achieved", "persons")
        people = count(n_persons if self.has_persons and n_persons is not None else n_records or 0, *self.unit)
        if self.has_persons and n_persons != n_records:
            people += f" in {count(n_records or 0, 'record', 'records')}"
        smallest, highest = self.number("achieved", "k") or 0, self.number("risk", "prosecutor, highest") or 1
        names = _column_list([column for column, role in self.certificate.roles.items() if role == "quasi"])
        others = count(smallest - 1, f"other {self.unit[0]}", "others")
        yield Statement(
            f"{people}. Each shares the published quasi-identifiers ({names}) with at least {others}.",
            self.queries(("achieved", "persons" if self.has_persons else "records"), ("achieved", "k")),
        )
        average = percent(self.number("risk", "prosecutor, average") or 0)
        yield Statement(
            f"The risk of being picked out by these is at most {odds(highest)} ({percent(highest)}), "
            f"on average {average}.",
            self.queries(("risk", "prosecutor, highest"), ("risk", "prosecutor, average")),
        )
        for demand in self.certificate.demands:
            column = self.shape.sensitive[demand.sensitive][0]
            yield Statement(f"{format_cell(column)}: {demand.sentence}.")
        unchanged = (
            "Since then, its tables have not changed."
            if self.certificate.row.get("hashes")
            else "Whether its tables have changed since then is unknown: an earlier version of dbanon created it."
        )
        yield Statement(f"dbanon checked this before it stored the release. {unchanged}")

    def _facts(self) -> list[tuple[str, str | None]]:
        """Return what was released, for whom and why."""
        entry, row = self.certificate.entry, self.certificate.row
        name = entry.name if self.outgoing else entry.display_name
        return [
            ("Release", f"{format_cell(name)}, version {entry.version}, {row['released_at']:%d %B %Y %H:%M} UTC"),
            *([] if self.outgoing else [("Source", format_cell(row["source"]))]),
            ("Privacy model", "; ".join(self._models())),
            ("Columns", self._columns()),
            ("Removed", self._removed()),
            ("Purpose", self.handover.purpose),
            ("Recipient", self.handover.recipient),
            ("Legal basis", self.handover.legal_basis),
        ]

    def _models(self) -> Iterator[str]:
        """Yield the privacy models that the release was made with."""
        yield f"{self.certificate.entry.k}-anonymity of {self.unit[1]}"
        for demand in self.certificate.demands:
            column = self.shape.sensitive[demand.sensitive][0]
            bound = f"{demand.bound:g}"
            template = _MODEL_NAMES.get(demand.parameter, demand.parameter + " = {bound}")
            yield f"{template.format(bound=bound)} of {format_cell(column)}"

    def _columns(self) -> str:
        """Return how many columns are published in which form, and how many are withheld."""
        roles = list(self.certificate.roles.values())
        kinds = {
            "generalized": roles.count("quasi"),
            "sensitive, unchanged": roles.count("sensitive"),
            "insensitive, unchanged": roles.count("insensitive"),
            "transformed": sum(role in ("pseudonym", "mask", "shift") for role in roles),
            "withheld": len(self.certificate.row["withheld"]),
        }
        return "; ".join(f"{number} {kind}" for kind, number in kinds.items() if number)

    def _removed(self) -> str:
        """Return how many records were suppressed and dropped."""
        labels = {"as outliers": "suppressed as outliers", "for a NULL": "dropped for a missing value",
                  "beyond bounds": "dropped beyond bounds", "as duplicates": "dropped as duplicates",
                  "withheld since an erasure": "withheld after an erasure"}  # fmt: skip
        counts = {text: self.number("not published", label) for label, text in labels.items()}
        removed = [f"{count(number, 'record', 'records')} {text}" for text, number in counts.items() if number]
        return "; ".join(removed) or "no record was suppressed or dropped"

    # --- limits ------------------------------------------------------------------------------------------------------

    def _limits(self) -> Iterator[Statement]:
        """Yield what the release does not protect from, by its models, its roles and its metrics."""
        yield from self._unchanged_limits()
        yield from self._inference_limits()
        yield Statement("no model of this release limits what a reader learns about whether a person is in the data.",
                        title="Membership")  # fmt: skip
        yield Statement(
            "other releases and other data about the same people can narrow a class down to fewer people. "
            f"{self.composition()} Data that others have cannot be compared.",
            title="Combination",
        )
        yield Statement(
            "ranges end at values of the class, and a reader who knows the algorithm can sometimes undo part of the "
            "generalization.",
            title="Knowledge of the algorithm",
        )
        if self.shape.pseudonyms:
            names = _column_list([name for name, _ in self.shape.pseudonyms])
            yield Statement(f"readers see which records share a pseudonym ({names}).", title="Linked records")
        yield from self._person_limits()

    def composition(self) -> str:
        """Return a sentence about the comparison with other releases of the same people.

        A recipient sees neither the names nor the number of other releases.
        """
        row = self.certificate.row
        if row["composition"] is None:
            return "Other releases were not compared: nothing identifies the people of the source."
        if self.outgoing or row.get("source_tables") is None:
            return (
                "Other releases in the custodian's database were compared, where the people are known to be the same."
            )
        compared, narrowed = row["composition"], {n: people for n, people in row["composition"].items() if people}
        unknown = [line.value for (_, label), line in self.lines.items() if label.startswith("not compared")]
        sentence = f"{count(len(compared), 'other version', 'other versions')} of the same people in this database"
        if narrowed:
            people = listing(
                [f"{count(n, 'person', 'people')} with {format_cell(name)}" for name, n in narrowed.items()]
            )
            sentence = f"Compared with {sentence}, these fall below k or l: {people}."
        elif compared:
            sentence = f"Compared with {sentence}, no one falls below k or l."
        else:
            sentence = "There was no other release of the same people in this database."
        if unknown:
            sentence += f" Not compared, because it is unknown whether the people are the same: {'; '.join(unknown)}."
        return sentence

    def _unchanged_limits(self) -> Iterator[Statement]:
        """Yield the limit that follows from columns that are published unchanged."""
        smallest = self.number("risk", "smallest group by everything published")
        if not self.shape.unchanged or smallest is None:
            return
        names = _column_list([name for name, _ in self.shape.unchanged])
        text = f"for a reader who also knows a person's {names}, "
        if smallest == 1:
            text += f"some {self.unit[1]} are unique"
        else:
            text += f"at least {count(smallest, *self.unit)} fit"
        yield Statement(
            text + ".", self.queries(("risk", "smallest group by everything published")),
            "Knowledge of unchanged columns",
        )  # fmt: skip

    def _inference_limits(self) -> Iterator[Statement]:
        """Yield the limits of what a class reveals about its members."""
        demands = self.certificate.demands
        place = ("not protected", "share of records in homogeneous classes")
        homogeneous = self.number(*place)
        free = [
            name
            for number, (name, _) in enumerate(self.shape.sensitive)
            if not any(demand.sensitive == number for demand in demands)
        ]
        if not self.shape.sensitive:
            text = "no column is declared sensitive, and no model limits what a class reveals about its members."
            yield Statement(text, title="Inference")
        if free:
            yield Statement(f"no model limits what a class reveals about {_column_list(free)}.", title="Inference")
        if homogeneous:
            yield Statement(
                f"{percent(homogeneous)} of the records are in classes in which all records share a sensitive value.",
                self.queries(place), "Homogeneous classes",
            )  # fmt: skip
        skewed = [
            name
            for number, (name, _) in enumerate(self.shape.sensitive)
            if not any(d.sensitive == number and d.parameter in _SKEWNESS_PARAMETERS for d in demands)
        ]
        if self.shape.sensitive:
            names = _column_list([name for name, _ in self.shape.sensitive])
            yield Statement(
                f"a reader who can rule out values of {names} for a person has fewer values left to guess from.",
                title="Background knowledge",
            )
        if skewed:
            yield Statement(
                f"a value of {_column_list(skewed)} can be far more frequent in a class than in the whole release.",
                title="Skewed classes",
            )

    def _person_limits(self) -> Iterator[Statement]:
        """Yield the limit that follows from people who have several records."""
        if not self.has_persons:
            yield Statement(
                "the policy names no column that identifies people. Records were counted: a class can have fewer "
                "people than records.",
                title="People with several records",
            )
        elif self.number("achieved", "persons") != self.number("achieved", "records"):
            yield Statement(
                "the numbers count people. A reader who picks a record is right more often for a person with many "
                "records in a class.",
                title="People with several records",
            )


def _column_list(names: Sequence[str]) -> str:
    """Return names of columns for a sentence; of many, only the first, and of long ones, only the beginning."""
    shown: list[str] = []
    for name in map(one_line, names):
        short = name if len(name) <= _MAX_NAME_LENGTH else name[: _MAX_NAME_LENGTH - 1] + "…"
        if shown and sum(map(len, shown)) + len(short) > _MAX_LIST_LENGTH:
            return listing([*shown, f"{len(names) - len(shown)} more"])
        shown.append(short)
    return listing(shown) if shown else "none"
