"""What the name of a column says about its role, and the limits by which its values are judged.

A proposal is a start, not a verdict: it errs to the safe side, and the custodian decides. What neither its name nor its
values tell is withheld and left for review; nothing is published as it is because nothing speaks
against it.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from dataclasses import dataclass, fields
from functools import cache

from dbanon.vocabulary import VOCABULARY

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
"""Average length from which texts of several words may be prose, which may name people."""

PROSE_SHARE = 0.5
"""Least distinct values a record of prose that is short of PROSE_TEXTS: canned phrases repeat more often."""

PROSE_TEXTS = 100
"""So many different long texts are prose though each repeats, if they are more than PROSE_REPEATED of the records."""

PROSE_REPEATED = 0.02
"""Least distinct values a record of such prose: descriptions of codes stay below it in all but small tables."""

SENTENCES = 0.25
"""Share of values that end or go on as sentences do, from which a column is prose however often each repeats."""

FEW_VALUES = 50
"""Most values of a column that is published as it is by its name alone: departments, products, units. What has more is
generalized."""

NAMELIKE = 0.5
"""Least share of values that are written as names of people are, for a column to be taken for names."""

CONTACTS = 0.05
"""Share of values that hold a telephone number or an e-mail address, from which generalized columns are withheld. What
would be published as it is must hold none."""

COVERED = 0.5
"""Least share of a column's values in a hierarchy of like name for it to be named at all. Without a like name it is
NEARLY: codes of two letters are countries by accident."""

SAMPLE = 2000
"""Distinct values that are compared with patterns: a share of 0.95 is then known to one percent."""

SAMPLE_UNCHANGED = 50_000
"""The same of columns that their name would publish as they are: there a single telephone number counts."""

PATTERNS = {
    "e-mail addresses": r"[^@\s]+@[^@\s]+\.[^@\s]+",
    "social security numbers": r"\d{3}-\d{2}-\d{4}",
    "phone numbers": r"(\+\d{1,3}[ .-]?(\(?\d{1,5}\)?[ .-]?)?|\(?\d{3}\)?[ .-])\d{3,4}[ .-]?\d{3,5}"
    r"|(\+|00)\d{1,3}([ ./()-]{0,2}\d{1,5}){2,6}"
    r"|\(?0\d{1,5}\)?( ?[/-] ?| )\d{2,8}([ -]\d{2,5}){0,4}|0\d{9,10}|1[3-9]\d{9}",
    "web addresses": r"(?i)(https?|ftp)://\S+",
    "UUIDs": r"(?i)[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}",
    "IP addresses": r"(\d{1,3}\.){3}\d{1,3}",
}
"""Values that identify a person or a record by their form, whatever the column is called."""

CONTACT = (
    r"[^\s@]+@[^\s@]+\.\pL{2,}"
    r"|(\+|\b00)\d{1,3}([ ./()-]{0,2}\d{1,5}){3,6}"
    r"|\(?\b0\d{1,5}\)?( ?[/-] ?| )\d{3,8}([ -]\d{2,5}){0,4}"
    r"|\(?\b\d{3}\)?[ .-]\d{3}[ .-]\d{4}\b"
    r"|(?i:\b(tel|telefon|phone|fon|mobil|mobile|handy|cell|call|fax|whatsapp)[\pL]*[ .:]{0,3}\+?[\d(][\d ()/.-]{4,})"
    r"|\b1[3-9]\d{9}\b"
)
"""A telephone number or an e-mail address inside a text."""

DATE = (
    r"(\d{4}[./-]\d{1,2}[./-]\d{1,2}|\d{1,2}[./-]\d{1,2}[./-](\d{4}|\d{2})"
    r"|\d{1,2}[. /-]{0,2}\pL+\.?[, /-]{0,2}(\d{4}|\d{2})"
    r"|\pL+\.? \d{1,2}(st|nd|rd|th)?,? \d{4}|\d{4}[年년] ?\d{1,2}[月월] ?\d{1,2}[日일])"
    r"([ T,]+\d{1,2}[:.]\d{2}([:.]\d{2}([.,]\d+)?)?( ?[AaPp][Mm])?( ?(Z|UTC|[+-]\d{2}:?\d{0,2}))?)?"
)
"""Dates as text: ISO, d.m.y, m/d/y, d-Mon-y, with a time of day or without."""

SURNAME_FIRST = r"\p{Lu}[\pL'’-]+( \p{Lu}[\pL'’-]+)?, ?\p{Lu}[\pL'’.-]*( \p{Lu}[\pL'’.-]*){0,3}"
TITLED = (
    r"(?i:dr|prof|mr|mrs|ms|miss|mx|sir|herr|frau|hr|fr|sr|sra|srta|dott|sig|sigra|mme|mlle|dhr|mevr|pan|pani|bay|bayan|"
    r"г-н|г-жа|shri|smt|bapak|ibu)\.? \p{Lu}[\pL'’. -]+"
)
GIVEN_FIRST = (
    r"\p{Lu}[\pL'’-]*\.?( \p{Lu}\.?)?( (von|van|vom|zu|de|del|della|da|dos|di|du|la|le|bin|ibn|al|el|der|den|ter|y|e))*"
    r"( \p{Lu}[\pL'’-]+){1,3}"
)
"""How names of people are written. Places, professions and diseases are written like the last, too."""

SENTENCE = r"\pL{2,}[^.!?]* \pL+[^.!?]*[.!?]+(\s|$)|\p{Han}+[，。！？；]"
"""Several words with a full stop."""

DIAGNOSIS = r"[A-TV-Z]\d[0-9A-Z](\.[0-9A-Z]{1,4})?"
"""The form of ICD-10 codes. Codes without a point behind the third character look like much else."""

DIAGNOSES = 10
"""Distinct values of that form that are no accident: room and shelf numbers look alike, but few at a time."""

SENSITIVE_HIERARCHIES = ("adult_salary", "icd10")
"""Shipped hierarchies of what must not be learned; all others are of what somebody could know from elsewhere."""

# --- words -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Named:
    """The words in a column's name that speak for a role; None where nothing does.

    `number`: a number that a person has for life; `direct`: a name, an address, what reaches a person; `prose`: free
    text; `subject`: the key of a person; `key`: a key of whatever; `sensitive` and `quasi`: as the roles; of these,
    `proper` says that values may be written as names are (places, professions), `event` that it is only when or how
    something happened; `neutral`: an establishment, a thing or a measurement, and nothing else.
    """

    number: str | None = None
    direct: str | None = None
    prose: str | None = None
    subject: str | None = None
    key: str | None = None
    sensitive: str | None = None
    quasi: str | None = None
    proper: str | None = None
    event: str | None = None
    neutral: str | None = None


KINDS = tuple(field.name for field in fields(Named))

_QUASI = ("trait", "proper", "event")
_THINGS = frozenset({"sensitive", "neutral", *_QUASI})
"""What a word can be about that is no person."""


def words(name: str) -> tuple[str, ...]:
    """The words of a column's name, in lower case and without accents.

    >>> words('patientNbr'), words('ZIP_code'), words('diag_1'), words('Größe')
    (('patient', 'nbr'), ('zip', 'code'), ('diag',), ('grosse',))
    """
    apart = re.sub(
        r"(?<=[a-zß-ÿ])(?=[A-ZÀ-Þ])|(?<=[A-ZÀ-Þ])(?=[A-ZÀ-Þ][a-zß-ÿ])", " ", unicodedata.normalize("NFC", name)
    )
    letters = "".join(c if unicodedata.category(c)[0] in "LM" else " " for c in apart)
    return tuple(_plain(word) for word in letters.split())


def named(name: str) -> Named:
    """What a column's name says.

    >>> named('patient_nbr').subject, named('Name des Patienten').direct, named('dateOfBirth').quasi
    ('patient nbr', 'name patienten', 'birth')
    """
    parts = words(name)
    kinds = {part: _kinds(part) for part in parts}
    meant = [part for part in parts if kinds[part] != {"filler"}]

    def first(*wanted: str) -> str | None:
        return next((part for kind in wanted for part in meant if kind in kinds[part]), None)

    def only(*allowed: str) -> bool:
        return bool(meant) and all(kinds[part] & {*allowed, "filler"} for part in meant)

    thing = any(kinds[part] & _THINGS for part in meant)
    called = first("name") is not None and (first("subject") is not None or (only("name") and not thing))
    keyed = bool(meant) and ("key" in kinds[meant[-1]] or "key" in kinds[meant[0]])
    return Named(
        number=first("number"),
        direct=first("full") or (" ".join(meant) if called else None) or first("direct"),
        prose=first("prose"),
        subject=" ".join(meant) if first("subject") and only("subject", "key") and not thing else None,
        key=first("key") if keyed else None,
        sensitive=first("sensitive"),
        quasi=first(*_QUASI),
        proper=first("proper"),
        event=None if first("trait", "proper") else first("event"),
        neutral=first("neutral") if only("neutral", "name", "key", "generic") else None,
    )


_LETTERS = str.maketrans({"ł": "l", "ø": "o", "đ": "d", "ı": "i", "æ": "ae", "œ": "oe", "ð": "d", "þ": "th"})


def _plain(word: str) -> str:
    """A word in lower case; letters of Latin, Greek and Cyrillic lose their accents, since tables often lack them."""
    folded = unicodedata.normalize("NFD", word.casefold().translate(_LETTERS))
    return unicodedata.normalize("NFC", _ACCENTS.sub("", folded))


_ACCENTS = re.compile("(?<!и)[\u0300-\u036f]")
"""Of Cyrillic, й is a letter of its own."""


@cache
def _vocabulary() -> tuple[dict[str, frozenset[str]], tuple[tuple[str, re.Pattern[str]], ...]]:
    """The kinds of each word that stands for itself, and for each kind a pattern of the others."""
    whole: dict[str, set[str]] = {}
    patterns: list[tuple[str, re.Pattern[str]]] = []
    for kind, listed in VOCABULARY.items():
        parts: list[str] = []
        for word in (w for w in listed.split() if not w.endswith(":")):
            plain = _plain(word.strip("*"))
            if _JOINED.search(plain):
                parts.append(f".*{re.escape(plain)}.*")
            elif "*" in word:
                parts.append(f"{'.*' * word.startswith('*')}{re.escape(plain)}{'.*' * word.endswith('*')}")
            else:
                whole.setdefault(plain, set()).add(kind)
        patterns.append((kind, re.compile("|".join(parts) or r"(?!)")))
    return {word: frozenset(kinds) for word, kinds in whole.items()}, tuple(patterns)


_JOINED = re.compile(r"[\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
"""Scripts that write words together."""

_DIGRAPHS = (("ae", "a"), ("oe", "o"), ("ue", "u"))


@cache
def _kinds(word: str) -> frozenset[str]:
    """What a word can be: what it stands for by itself, else what it holds. `groesse` is read as `grosse`, too."""
    whole, patterns = _vocabulary()
    spelled = {word, functools.reduce(lambda w, pair: w.replace(*pair), _DIGRAPHS, word)}
    found = [whole[w] for w in spelled if w in whole]
    if found:
        return frozenset().union(*found)
    return frozenset(kind for kind, pattern in patterns if any(pattern.fullmatch(w) for w in spelled))


def affinity(column: str, hierarchy: str) -> int:
    """How many words a column and a hierarchy share in their names; gender is sex."""
    return len(_alike(column) & _alike(hierarchy))


def _alike(name: str) -> set[str]:
    return {"sex" if word == "gender" else word.rstrip("s") for word in words(name)}
