"""What the name of a column says about its role."""

import functools
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cache

from dbanon.policy.column_names.hint_words import VOCABULARY


@dataclass(frozen=True)
class Named:
    """The words in a column's name that speak for a role; None where nothing does.

    `number`: a number that a person has for life; `direct`: a name, an address, what reaches a person; `prose`: free
    text; `subject`: the key of a person; `key`: a key or a number of whatever, wherever in the name it occurs;
    `count`: such a number that may say how many; `category`: a kind of thing, whose key is a code of a list;
    `coordinate`: a position on earth; `sensitive` and `quasi`: as the roles; of these, `proper` says that values may be
    written as names are (places, professions), `event` that it is only when or how something happened; `neutral`: an
    establishment, a thing or a measurement, and nothing else; `ambiguous`: a word that would be generalized in one
    language and published unchanged in another.
    """

    number: str | None = None
    direct: str | None = None
    prose: str | None = None
    subject: str | None = None
    key: str | None = None
    count: str | None = None
    category: str | None = None
    coordinate: str | None = None
    sensitive: str | None = None
    quasi: str | None = None
    proper: str | None = None
    event: str | None = None
    neutral: str | None = None
    ambiguous: str | None = None


HINTS = tuple(field.name for field in fields(Named))

_QUASI = ("trait", "proper", "event")
_UNCHANGED = ("sensitive", "neutral")
_THINGS = frozenset({*_UNCHANGED, "coordinate", *_QUASI})
"""What a word can be about that is no person."""

GROUPS = {
    **dict.fromkeys(("number", "full", "name", "direct", "prose", "subject", "key", "count"), "withheld"),
    **dict.fromkeys(("coordinate", *_QUASI), "generalized"),
    **dict.fromkeys(_UNCHANGED, "unchanged"),
}
"""How columns are published that are named by words of a kind; of the other kinds nothing follows."""


def words(name: str) -> tuple[str, ...]:
    """Return the words of a column's name, in lower case and without accents.

    >>> words('patientNbr'), words('ZIP_code'), words('diag_1'), words('Größe')
    (('patient', 'nbr'), ('zip', 'code'), ('diag',), ('grosse',))
    """
    apart = re.sub(
        r"(?<=[a-zß-ÿ])(?=[A-ZÀ-Þ])|(?<=[A-ZÀ-Þ])(?=[A-ZÀ-Þ][a-zß-ÿ])", " ", unicodedata.normalize("NFC", name)
    )
    letters = "".join(c if unicodedata.category(c)[0] in "LM" else " " for c in _NUMBER_SIGN.sub(" no ", apart))
    return tuple(_plain(word) for word in letters.split())


_NUMBER_SIGN = re.compile("[#№]|[Nn][°º]")


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
    return Named(
        number=first("number"),
        direct=first("full") or (" ".join(meant) if called else None) or first("direct"),
        prose=first("prose"),
        subject=" ".join(meant) if first("subject") and only("subject", "key") and not thing else None,
        key=first("key", "count"),
        count=first("count") if len(meant) > 1 and "count" in kinds[meant[0]] else None,
        category=first("category") if first("key") else None,
        coordinate=first("coordinate"),
        sensitive=first("sensitive"),
        quasi=first(*_QUASI),
        proper=first("proper"),
        event=None if first("trait", "proper") else first("event"),
        neutral=first("neutral") if only("neutral", "name", "key", "count", "generic", "category") else None,
        ambiguous=next((part for part in meant if is_ambiguous(part)), None),
    )


def suggested_quasi_identifier(columns: Iterable[str]) -> str | None:
    """Return the first column that is a quasi-identifier by its name and identifies no one directly, or None.

    >>> suggested_quasi_identifier(["patient_number", "zip", "sex"])
    'zip'
    """
    hints = ((column, named(column)) for column in columns)
    return next((column for column, hint in hints if hint.quasi and not (hint.direct or hint.number)), None)


_LETTERS = str.maketrans({"ł": "l", "ø": "o", "đ": "d", "ı": "i", "æ": "ae", "œ": "oe", "ð": "d", "þ": "th"})


def _plain(word: str) -> str:
    """A word in lower case; letters of Latin, Greek and Cyrillic lose their accents, since tables often lack them."""
    folded = unicodedata.normalize("NFD", word.casefold().translate(_LETTERS))
    return unicodedata.normalize("NFC", _ACCENTS.sub("", folded))


_ACCENTS = re.compile("(?<!и)[\u0300-\u036f]")
"""Of Cyrillic, й is a letter of its own."""


@dataclass(frozen=True)
class Match:
    """A word of the vocabulary that a word of a name is (`is_whole`) or holds; `stem` is what they share."""

    kind: str
    language: str
    stem: str
    is_whole: bool


@cache
def _vocabulary() -> tuple[dict[str, tuple[Match, ...]], tuple[tuple[re.Pattern[str], Match], ...]]:
    """Return the matches of each word that is listed for itself, and a pattern of each of the others with its match."""
    whole: dict[str, tuple[Match, ...]] = {}
    patterns: list[tuple[re.Pattern[str], Match]] = []
    for kind, listed in VOCABULARY.items():
        language = ""
        for word in listed.split():
            if word.endswith(":"):
                language = word[:-1]
                continue
            stem = _plain(word.strip("*"))
            starts, ends = ("*", "*") if _JOINED.search(stem) else (word[0], word[-1])
            match = Match(kind, language, stem, "*" not in (starts, ends))
            if not match.is_whole:
                pattern = f"{'.*' if starts == '*' else ''}{re.escape(stem)}{'.*' if ends == '*' else ''}"
                patterns.append((re.compile(pattern), match))
            else:
                whole[stem] = (*whole.get(stem, ()), match)
    return whole, tuple(patterns)


@cache
def _any_stem() -> re.Pattern[str]:
    """What a word holds that matches any pattern: comparing each pattern with each word costs more."""
    return re.compile("|".join(map(re.escape, sorted({match.stem for _, match in _vocabulary()[1]}))))


_JOINED = re.compile(r"[\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
"""Scripts that write words together."""

_DIGRAPHS = (("ae", "a"), ("oe", "o"), ("ue", "u"))

_KEY_ENDS = re.compile(r"(.{3,})(?:ids?|no|nr|nbr|num|numb|key|ref|pk)|(?:id|no|nr|num)(.{4,})")
"""A word that is written together with a word for a key, as in `planno`, where the rest is a word of its own."""


@cache
def all_matches(word: str) -> tuple[Match, ...]:
    """Return every word of the vocabulary that a word is or holds. `groesse` is read as `grosse`, too."""
    whole, patterns = _vocabulary()
    spelled = {word, functools.reduce(lambda w, pair: w.replace(*pair), _DIGRAPHS, word)}
    listed = [match for w in spelled for match in whole.get(w, ())]
    if any(_any_stem().search(w) for w in spelled):
        listed += [match for pattern, match in patterns if any(pattern.fullmatch(w) for w in spelled)]
    return tuple(listed)


def matches(word: str) -> tuple[Match, ...]:
    """The matches that count: what a word stands for by itself, else what it holds, but for what a longer match
    explains, as that of `postnummer` explains its `nummer`."""
    found = all_matches(word)
    if own := tuple(match for match in found if match.is_whole):
        return own
    stems = {match.stem for match in found}
    return tuple(m for m in found if not any(m.stem != longer and m.stem in longer for longer in stems))


@cache
def _kinds(word: str) -> frozenset[str]:
    """What a word can be."""
    found = matches(word)
    kinds = {match.kind for match in found}
    if not any(match.is_whole for match in found) and (joined := _KEY_ENDS.fullmatch(word)):
        rest = next(part for part in joined.groups() if part)
        if {match.kind for match in matches(rest)} & {*_THINGS, "subject", "generic"}:
            kinds.add("key")
    return frozenset(kinds)


def is_ambiguous(word: str) -> bool:
    """Return whether a word is published generalized by what it means in one language, unchanged by what in another."""
    found = matches(word)
    generalized = {match.language for match in found if GROUPS.get(match.kind) == "generalized"}
    unchanged = {match.language for match in found if GROUPS.get(match.kind) == "unchanged"}
    return bool(generalized and unchanged) and not generalized & unchanged


def affinity(column: str, hierarchy: str) -> int:
    """How many words a column and a hierarchy share in their names; gender is sex."""
    return len(_alike(column) & _alike(hierarchy))


def _alike(name: str) -> set[str]:
    return {"sex" if word == "gender" else word.rstrip("s") for word in words(name)}
