"""What the name of a column says about its role."""

import functools
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cache

from dbanon.policy.column_names.hint_words import VOCABULARY


@dataclass(frozen=True)
class NameHints:
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


HINTS = tuple(field.name for field in fields(NameHints))

_QUASI_KINDS = ("trait", "proper", "event")
_UNCHANGED_KINDS = ("sensitive", "neutral")
_NON_PERSON_KINDS = frozenset({*_UNCHANGED_KINDS, "coordinate", *_QUASI_KINDS})
"""What a word can be about that is no person."""

TREATMENT_BY_KIND = {
    **dict.fromkeys(("number", "full", "name", "direct", "prose", "subject", "key", "count"), "withheld"),
    **dict.fromkeys(("coordinate", *_QUASI_KINDS), "generalized"),
    **dict.fromkeys(_UNCHANGED_KINDS, "unchanged"),
}
"""How columns are published that are named by words of a kind; of the other kinds nothing follows."""


def split_words(name: str) -> tuple[str, ...]:
    """Return the words of a column's name, in lower case and without accents.

    >>> split_words('patientNbr'), split_words('ZIP_code'), split_words('diag_1'), split_words('Größe')
    (('patient', 'nbr'), ('zip', 'code'), ('diag',), ('grosse',))
    """
    spaced = re.sub(
        r"(?<=[a-zß-ÿ])(?=[A-ZÀ-Þ])|(?<=[A-ZÀ-Þ])(?=[A-ZÀ-Þ][a-zß-ÿ])", " ", unicodedata.normalize("NFC", name)
    )
    letters = "".join(c if unicodedata.category(c)[0] in "LM" else " " for c in _NUMBER_SIGN.sub(" no ", spaced))
    return tuple(_normalize(word) for word in letters.split())


_NUMBER_SIGN = re.compile("[#№]|[Nn][°º]")


def hints_from_name(name: str) -> NameHints:
    """What a column's name says.

    >>> hints_from_name('patient_nbr').subject, hints_from_name('dateOfBirth').quasi
    ('patient nbr', 'birth')
    >>> hints_from_name('Name des Patienten').direct
    'name patienten'
    """
    parts = split_words(name)
    kinds = {word: _word_kinds(word) for word in parts}
    meaningful = [word for word in parts if kinds[word] != {"filler"}]

    def first_word(*wanted: str) -> str | None:
        return next((part for kind in wanted for part in meaningful if kind in kinds[part]), None)

    def has_only(*allowed: str) -> bool:
        return bool(meaningful) and all(kinds[part] & {*allowed, "filler"} for part in meaningful)

    names_thing = any(kinds[word] & _NON_PERSON_KINDS for word in meaningful)
    is_person_name = first_word("name") is not None and (
        first_word("subject") is not None or (has_only("name") and not names_thing)
    )
    return NameHints(
        number=first_word("number"),
        direct=first_word("full") or (" ".join(meaningful) if is_person_name else None) or first_word("direct"),
        prose=first_word("prose"),
        subject=" ".join(meaningful)
        if first_word("subject") and has_only("subject", "key") and not names_thing
        else None,
        key=first_word("key", "count"),
        count=first_word("count") if len(meaningful) > 1 and "count" in kinds[meaningful[0]] else None,
        category=first_word("category") if first_word("key") else None,
        coordinate=first_word("coordinate"),
        sensitive=first_word("sensitive"),
        quasi=first_word(*_QUASI_KINDS),
        proper=first_word("proper"),
        event=None if first_word("trait", "proper") else first_word("event"),
        neutral=first_word("neutral") if has_only("neutral", "name", "key", "count", "generic", "category") else None,
        ambiguous=next((word for word in meaningful if is_ambiguous(word)), None),
    )


def suggested_quasi_identifier(columns: Iterable[str]) -> str | None:
    """Return the first column that is a quasi-identifier by its name and identifies no one directly, or None.

    >>> suggested_quasi_identifier(["patient_number", "zip", "sex"])
    'zip'
    """
    hints = ((column, hints_from_name(column)) for column in columns)
    return next((column for column, hint in hints if hint.quasi and not (hint.direct or hint.number)), None)


_LETTER_REPLACEMENTS = str.maketrans(
    {"ł": "l", "ø": "o", "đ": "d", "ı": "i", "æ": "ae", "œ": "oe", "ð": "d", "þ": "th"}
)


def _normalize(word: str) -> str:
    """A word in lower case; letters of Latin, Greek and Cyrillic lose their accents, since tables often lack them."""
    folded = unicodedata.normalize("NFD", word.casefold().translate(_LETTER_REPLACEMENTS))
    return unicodedata.normalize("NFC", _ACCENTS.sub("", folded))


_ACCENTS = re.compile("(?<!и)[\u0300-\u036f]")
"""Of Cyrillic, й is a letter of its own."""


@dataclass(frozen=True)
class VocabularyMatch:
    """A word of the vocabulary that a word of a name is (`is_whole`) or holds; `stem` is what they share."""

    kind: str
    language: str
    stem: str
    is_whole: bool


@cache
def _vocabulary() -> tuple[dict[str, tuple[VocabularyMatch, ...]], tuple[tuple[re.Pattern[str], VocabularyMatch], ...]]:
    """Return the matches of each word that is listed for itself, and a pattern of each of the others with its match."""
    full_words: dict[str, tuple[VocabularyMatch, ...]] = {}
    patterns: list[tuple[re.Pattern[str], VocabularyMatch]] = []
    for kind, word_list in VOCABULARY.items():
        language = ""
        for word in word_list.split():
            if word.endswith(":"):
                language = word[:-1]
                continue
            stem = _normalize(word.strip("*"))
            starts, ends = ("*", "*") if _UNSPACED_SCRIPTS.search(stem) else (word[0], word[-1])
            match = VocabularyMatch(kind, language, stem, "*" not in (starts, ends))
            if not match.is_whole:
                pattern = f"{'.*' if starts == '*' else ''}{re.escape(stem)}{'.*' if ends == '*' else ''}"
                patterns.append((re.compile(pattern), match))
            else:
                full_words[stem] = (*full_words.get(stem, ()), match)
    return full_words, tuple(patterns)


@cache
def _stem_pattern() -> re.Pattern[str]:
    """What a word holds that matches any pattern: comparing each pattern with each word costs more."""
    return re.compile("|".join(map(re.escape, sorted({match.stem for _, match in _vocabulary()[1]}))))


_UNSPACED_SCRIPTS = re.compile(r"[\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
"""Scripts that write words together."""

_DIGRAPHS = (("ae", "a"), ("oe", "o"), ("ue", "u"))

_JOINED_KEY_WORD = re.compile(r"(.{3,})(?:ids?|no|nr|nbr|num|numb|key|ref|pk)|(?:id|no|nr|num)(.{4,})")
"""A word that is written together with a word for a key, as in `planno`, where the rest is a word of its own."""


@cache
def all_matches(word: str) -> tuple[VocabularyMatch, ...]:
    """Return every word of the vocabulary that a word is or holds. `groesse` is read as `grosse`, too."""
    full_words, patterns = _vocabulary()
    spellings = {word, functools.reduce(lambda w, pair: w.replace(*pair), _DIGRAPHS, word)}
    found_matches = [match for w in spellings for match in full_words.get(w, ())]
    if any(_stem_pattern().search(w) for w in spellings):
        found_matches += [match for pattern, match in patterns if any(pattern.fullmatch(w) for w in spellings)]
    return tuple(found_matches)


def best_matches(word: str) -> tuple[VocabularyMatch, ...]:
    """The matches that count: what a word stands for by itself, else what it holds, but for what a longer match
    explains, as that of `postnummer` explains its `nummer`."""
    candidates = all_matches(word)
    if full_matches := tuple(match for match in candidates if match.is_whole):
        return full_matches
    stems = {match.stem for match in candidates}
    return tuple(m for m in candidates if not any(m.stem != longer and m.stem in longer for longer in stems))


@cache
def _word_kinds(word: str) -> frozenset[str]:
    """What a word can be."""
    word_matches = best_matches(word)
    kinds = {match.kind for match in word_matches}
    if not any(match.is_whole for match in word_matches) and (joined_word := _JOINED_KEY_WORD.fullmatch(word)):
        rest = next(part for part in joined_word.groups() if part)
        if {match.kind for match in best_matches(rest)} & {*_NON_PERSON_KINDS, "subject", "generic"}:
            kinds.add("key")
    return frozenset(kinds)


def is_ambiguous(word: str) -> bool:
    """Return whether a word is published generalized by what it means in one language, unchanged by what in another."""
    word_matches = best_matches(word)
    generalized = {match.language for match in word_matches if TREATMENT_BY_KIND.get(match.kind) == "generalized"}
    unchanged = {match.language for match in word_matches if TREATMENT_BY_KIND.get(match.kind) == "unchanged"}
    return bool(generalized and unchanged) and not generalized & unchanged


def n_shared_words(column: str, hierarchy: str) -> int:
    """How many words a column and a hierarchy share in their names; gender is sex."""
    return len(_comparable_words(column) & _comparable_words(hierarchy))


def _comparable_words(name: str) -> set[str]:
    return {"sex" if word == "gender" else word.rstrip("s") for word in split_words(name)}
