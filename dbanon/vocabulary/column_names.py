"""What the name of a column says about its role."""

from __future__ import annotations

import functools
import re
import unicodedata
from dataclasses import dataclass, fields
from functools import cache

from dbanon.vocabulary.words import VOCABULARY


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


HINTS = tuple(field.name for field in fields(Named))

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
