"""What the name of a column says about its role, and the limits by which its values are judged.

A proposal is a start, not a verdict: it errs to the safe side (withhold, generalize), and the custodian decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, fields

# --- limits ----------------------------------------------------------------------------------------------

RARE = 10
"""Records below which a value is rare: the usual k, at which an `other` column with such a value is refused."""

NEARLY = 0.95
"""Share of distinct values, or of values of one pattern, that counts as nearly all: typing errors must not hide it."""

KEY_SHARE = 0.05
"""Least distinct values a record of a column that is a key though it repeats: 20 records a key on average. A code list
stays below it in all but tiny tables."""

KEYS = 100
"""So many distinct values make a column that is named like a person's number a key, however often they repeat."""

FEW_ROWS = 20
"""Below so many records everything looks unique, so that uniqueness alone says nothing."""

WHOLE_ROWS = 100
"""From so many records on, a whole number of its own in each of them is a key; measured numbers coincide by then."""

PROSE = 40
"""Average length from which texts of several words that seldom repeat are prose, which may name people."""

PROSE_SHARE = 0.5
"""Least distinct values a record of prose: canned phrases repeat more often."""

COVERED = 0.5
"""Least share of a column's values in a hierarchy of like name for it to be named at all. Without a like name it is
NEARLY: codes of two letters are countries by accident."""

SAMPLE = 2000
"""Distinct values that are compared with patterns: a share of 0.95 is then known to one percent."""

PATTERNS = {
    "e-mail addresses": r"[^@\s]+@[^@\s]+\.[^@\s]+",
    "social security numbers": r"\d{3}-\d{2}-\d{4}",
    "phone numbers": r"(\+\d{1,3}[ .-]?(\(?\d{1,5}\)?[ .-]?)?|\(?\d{3}\)?[ .-])\d{3,4}[ .-]?\d{3,5}",
    "web addresses": r"(?i)(https?|ftp)://\S+",
    "UUIDs": r"(?i)[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}",
    "IP addresses": r"(\d{1,3}\.){3}\d{1,3}",
}
"""Values that identify a person or a record by their form, whatever the column is called."""

DIAGNOSIS = r"[A-TV-Z]\d[0-9A-Z](\.[0-9A-Z]{1,4})?"
"""The form of ICD-10 codes. Codes without a point behind the third character look like much else."""

DIAGNOSES = 10
"""Distinct values of that form that are no accident: room and shelf numbers look alike, but few at a time."""

SENSITIVE_HIERARCHIES = ("adult_salary", "icd10")
"""Shipped hierarchies of what must not be learned; all others are of what somebody could know from elsewhere."""

# --- words -----------------------------------------------------------------------------------------------


def _set(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


_NUMBERS = _set("ssn mrn nhs nino nin hic mbi sin aadhaar cpr bsn")
"""Numbers that a person has for life; they identify, and where they repeat they tell persons apart."""

_DIRECT = _set(
    "passport licence license drivers email mail phone tel telephone mobile cell cellphone fax address addr street url "
    "website ip mac iban card vin plate login username password photo signature fingerprint"
)
_DIRECT_STEMS = ("email", "phone", "address", "passport", "surname", "firstname", "lastname", "fullname", "username")
_NAMES = _set("name names first last maiden surname forename lastname firstname fullname")
_NAMED = _set(
    "full given family middle patient person people user nick display customer client employee student member contact "
    "doctor physician nurse provider mother father spouse partner guardian legal preferred emergency suffix"
)
"""Beside these words a name is a person's; the name of a hospital or a product is not."""

_SUBJECTS = _set(
    "patient person subject member customer client employee student user respondent participant beneficiary insured "
    "citizen resident voter donor applicant individual people"
)
_KEYS = _set("id ids nbr no nr num number key uuid guid rowid identifier pk serial ref reference")

_SENSITIVE = _set(
    "icd diag dx hiv aids drug drugs lab labs glu result results wage wages pay bonus debt credit loan balance capital "
    "party crime offence offense verdict cause reason readmitted outcome insulin"
)
_SENSITIVE_STEMS = (
    "disease", "diagnos", "reasoncode", "reasondesc", "illness", "disorder", "symptom", "condition", "medication",
    "prescription", "treatment",
    "therapy", "procedure", "surgery", "allerg", "genetic", "genotype", "pregnan", "mental", "salar", "income",
    "earning", "religi", "belief", "politic", "orientation", "convict", "abuse", "addict",
)  # fmt: skip
_QUASI = _set(
    "age dob born birth sex gender zip zip5 postal postcode plz city town village state county country region district "
    "province race job work language height weight death died ward lat lon lng veteran children"
)
_QUASI_STEMS = (
    "birth", "gender", "postal", "postcode", "zipcode", "municipal", "nation", "citizen", "ethnic", "marital",
    "relationship", "household", "educat", "degree", "occupation", "profession", "workclass", "employ", "deceased",
    "death", "country", "county", "latitude", "longitude", "language",
)  # fmt: skip


@dataclass(frozen=True)
class Named:
    """The words in a column's name that speak for a role; None where nothing does.

    `number`: a number that a person has for life; `direct`: a name, an address; `subject`: the key of a person;
    `key`: a key of whatever; `sensitive` and `quasi`: as the roles.
    """

    number: str | None = None
    direct: str | None = None
    subject: str | None = None
    key: str | None = None
    sensitive: str | None = None
    quasi: str | None = None


KINDS = tuple(field.name for field in fields(Named))


def words(name: str) -> tuple[str, ...]:
    """The words of a column's name, in lower case.

    >>> words('patientNbr'), words('ZIP_code'), words('diag_1')
    (('patient', 'nbr'), ('zip', 'code'), ('diag',))
    """
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    return tuple(word.lower() for word in re.split(r"[\W_\d]+", apart) if word)


def named(name: str) -> Named:
    """What a column's name says.

    >>> named('patient_nbr').subject, named('hospital_name').direct, named('dateOfBirth').quasi
    ('patient nbr', None, 'birth')
    """
    parts = words(name)
    person = set(parts) <= _NAMES | _NAMED and any(part in _NAMES for part in parts)
    keyed = bool(parts) and parts[-1] in _KEYS
    subject = any(part in _SUBJECTS for part in parts) and all(part in _SUBJECTS or part in _KEYS for part in parts)
    return Named(
        number=_word(parts, _NUMBERS),
        direct=" ".join(parts) if person else _word(parts, _DIRECT) or _stem(parts, _DIRECT_STEMS),
        subject=" ".join(parts) if subject else None,
        key=parts[-1] if keyed else None,
        sensitive=_word(parts, _SENSITIVE) or _stem(parts, _SENSITIVE_STEMS),
        quasi=_word(parts, _QUASI) or _stem(parts, _QUASI_STEMS),
    )


def _word(parts: Iterable[str], known: frozenset[str]) -> str | None:
    return next((part for part in parts if part in known), None)


def _stem(parts: Iterable[str], known: Iterable[str]) -> str | None:
    """The first word that has a stem in it: stems are long, so that no other word has them by accident."""
    stems = tuple(known)
    return next((part for part in parts if any(stem in part for stem in stems)), None)


def affinity(column: str, hierarchy: str) -> int:
    """How many words a column and a hierarchy share in their names; gender is sex."""
    return len(_alike(column) & _alike(hierarchy))


def _alike(name: str) -> set[str]:
    return {"sex" if word == "gender" else word.rstrip("s") for word in words(name)}
