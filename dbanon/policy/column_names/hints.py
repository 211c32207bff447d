"""Infer from the name of a column which role it may have, by a vocabulary of words in many languages."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cache, reduce

from dbanon.policy.column_names.hint_words import VOCABULARY


@dataclass(frozen=True)
class NameHints:
    """The words in a column's name that suggest a role; None for each kind without such a word.

    Attributes:
        number: A number that a person has for life.
        direct: A name, an address or another way to reach a person.
        prose: Free text.
        subject: The key of a person.
        key: A key or number of anything, anywhere in the name.
        count: A first word such as `number`, which may be a count, as in number of visits.
        category: A type of things, whose key is a code from a list.
        coordinate: A position on earth.
        sensitive: A sensitive value; None in names such as `age_at_diagnosis`, which say when it occurred.
        quasi: A quasi-identifier.
        proper: A quasi-identifier whose values look like names (places, professions).
        event: A quasi-identifier that is only when or how something happened.
        neutral: An establishment, a thing, a measurement or a type of these, and nothing else.
        ambiguous: A word that would be generalized in one language and published unchanged in another.
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

_QUASI_KINDS = ("trait", "proper", "relative", "event")
_UNCHANGED_KINDS = ("sensitive", "neutral")
_NON_PERSON_KINDS = frozenset({*_UNCHANGED_KINDS, "coordinate", *_QUASI_KINDS})
"""Kinds of words that are not about persons."""

TREATMENT_BY_KIND = {
    **dict.fromkeys(("number", "full", "name", "direct", "prose", "subject", "key", "count"), "withheld"),
    **dict.fromkeys(("coordinate", *_QUASI_KINDS), "generalized"),
    **dict.fromkeys(_UNCHANGED_KINDS, "unchanged"),
}
"""How columns named by words of a kind are published; other kinds imply nothing."""


def split_words(name: str) -> tuple[str, ...]:
    """Return the words of a column's name, in lower case and without accents; digits and signs separate words.

    `#`, `№` and `Nº` become the word `no`, and names such as `cd4` or `hba1c` the word `lab`.

    >>> split_words('patientNbr'), split_words('ZIP_code'), split_words('diag_1'), split_words('Größe')
    (('patient', 'nbr'), ('zip', 'code'), ('diag',), ('grosse',))
    """
    spaced = re.sub(
        r"(?<=[a-zß-ÿ])(?=[A-ZÀ-Þ])|(?<=[A-ZÀ-Þ])(?=[A-ZÀ-Þ][a-zß-ÿ])", " ", unicodedata.normalize("NFC", name)
    )
    with_words = _LABORATORY_VALUE.sub(" lab ", _NUMBER_SIGN.sub(" no ", spaced))
    letters = "".join(c if unicodedata.category(c)[0] in "LM" else " " for c in with_words)
    return tuple(_normalize(word) for word in letters.split())


_NUMBER_SIGN = re.compile("[#№]|[Nn][°º]")

_LABORATORY_VALUE = re.compile(r"(?i)(?<![^\W\d_])(?:hba1c|a1c|cd[48]|vo2|spo2|pao2|fio2|pco2|ca125|ft[34]|fev1)")
"""Names of laboratory values that are only recognizable with their digits."""


def hints_from_name(name: str) -> NameHints:
    """Return the words in a column's name that suggest its role.

    >>> hints_from_name('patient_nbr').subject, hints_from_name('dateOfBirth').quasi
    ('patient nbr', 'birth')
    >>> hints_from_name('Name des Patienten').direct
    'name patienten'
    """
    parts = split_words(name)
    kinds = {word: _word_kinds(word) for word in parts}
    meaningful = [word for word in parts if kinds[word] != {"filler"}]

    def first_word(*wanted: str) -> str | None:
        """Return the first word of the name of the first kind in `wanted` that occurs in the name; None without one."""
        return next((part for kind in wanted for part in meaningful if kind in kinds[part]), None)

    def has_only(*allowed: str) -> bool:
        """Return whether all words of the name, except fillers, have a kind in `allowed`; false without words."""
        return bool(meaningful) and all(kinds[part] & {*allowed, "filler"} for part in meaningful)

    names_thing = any(kinds[word] & _NON_PERSON_KINDS for word in meaningful)
    is_person_name = first_word("name") is not None and (
        first_word("subject", "relative") is not None or (has_only("name") and not names_thing)
    )
    return NameHints(
        number=first_word("number"),
        direct=first_word("full") or (" ".join(meaningful) if is_person_name else None) or first_word("direct"),
        prose=first_word("prose"),
        subject=" ".join(meaningful)
        if first_word("subject") and has_only("subject", "key", "count") and not names_thing
        else None,
        key=first_word("key", "count"),
        count=first_word("count") if len(meaningful) > 1 and "count" in kinds[meaningful[0]] else None,
        category=first_word("category") if first_word("key") else None,
        coordinate=first_word("coordinate"),
        sensitive=None if _is_moment(parts, kinds) else first_word("sensitive"),
        quasi=first_word(*_QUASI_KINDS),
        proper=first_word("proper"),
        event=None if first_word("trait", "proper", "relative") else first_word("event"),
        neutral=first_word("neutral", "category")
        if has_only("neutral", "name", "key", "count", "generic", "category")
        else None,
        ambiguous=next((word for word in meaningful if is_ambiguous(word)), None),
    )


def _is_moment(parts: tuple[str, ...], kinds: dict[str, frozenset[str]]) -> bool:
    """Return whether a name begins with a quasi-identifier and a preposition, as `age_at_diagnosis` does.

    Args:
        parts: The words of the name.
        kinds: The kinds of each word.
    """
    return (
        len(parts) > 2
        and bool(kinds[parts[0]] & {*_QUASI_KINDS})
        and _TIME_PREPOSITIONS.fullmatch(parts[1]) is not None
    )


_TIME_PREPOSITIONS = re.compile(
    "at|of|to|from|since|before|after|until|bei|seit|bis|vor|nach|au|depuis|avant|apres|al|desde|ate|da|bij|sinds|vid"
)
"""Prepositions between a quasi-identifier and what it says the time of."""


def suggested_quasi_identifier(columns: Iterable[str]) -> str | None:
    """Return the first column that is a quasi-identifier by its name and does not identify a person directly, or None.

    >>> suggested_quasi_identifier(["patient_number", "zip", "sex"])
    'zip'
    """
    hints = ((column, hints_from_name(column)) for column in columns)
    return next((column for column, hint in hints if hint.quasi and not (hint.direct or hint.number)), None)


_LETTER_REPLACEMENTS = str.maketrans(
    {"ł": "l", "ø": "o", "đ": "d", "ı": "i", "æ": "ae", "œ": "oe", "ð": "d", "þ": "th"}
)


def _normalize(word: str) -> str:
    """Return a word in lower case and without accents of Latin, Greek and Cyrillic, which column names often omit."""
    folded = unicodedata.normalize("NFD", word.casefold().translate(_LETTER_REPLACEMENTS))
    return unicodedata.normalize("NFC", _ACCENTS.sub("", folded))


_ACCENTS = re.compile("(?<!и)[\u0300-\u036f]")
"""Accents to remove; in Cyrillic, й is a letter of its own."""


@dataclass(frozen=True)
class VocabularyMatch:
    """A word of the vocabulary that equals a word of a column's name or, because of its wildcard, occurs in it.

    Attributes:
        kind: The kind of the vocabulary word, such as `subject`.
        language: Its language.
        stem: The letters of the vocabulary word without the wildcards, without accents.
        is_whole: Whether it has no wildcard, so that it equals the word.
    """

    kind: str
    language: str
    stem: str
    is_whole: bool


@cache
def _vocabulary() -> tuple[dict[str, tuple[VocabularyMatch, ...]], tuple[tuple[re.Pattern[str], VocabularyMatch], ...]]:
    """Return the matches by vocabulary word without a wildcard, and (pattern, match) for each with one; cached.

    Words in scripts without spaces count as words with wildcards on both sides.
    """
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
    """Return one pattern that finds the stem of any vocabulary word with a wildcard (`diagnos*`); cached.

    A word in which it finds nothing need not be matched with the patterns of single vocabulary words.
    """
    return re.compile("|".join(map(re.escape, sorted({match.stem for _, match in _vocabulary()[1]}))))


_UNSPACED_SCRIPTS = re.compile(r"[\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
"""Scripts without spaces between words."""

_DIGRAPHS = (("ae", "a"), ("oe", "o"), ("ue", "u"))

_JOINED_KEY_WORD = re.compile(r"(.{3,})(?:ids?|no|nr|nbr|num|numb|key|ref|pk)|(?:id|no|nr|num)(.{4,})")
"""A word joined with a word for a key, as in `planno`, where the rest is a word of its own."""

_JOINED_CATEGORY_WORD = re.compile(
    r"(.{2,}?)(?:cat|grp|group|(?:re)?code|cd|class|lvl|level|type|stat(?:us)?|band|bin)"
)
"""A word joined with a word for a list of codes, as in `agegrp`, where the rest is a word of its own."""


@cache
def all_matches(word: str) -> tuple[VocabularyMatch, ...]:
    """Return every word of the vocabulary that equals a word or occurs in it as its wildcard allows; cached.

    `groesse` is also read as `grosse`. `word` is normalized, as by `split_words`.
    """
    full_words, patterns = _vocabulary()
    spellings = {word, reduce(lambda w, pair: w.replace(*pair), _DIGRAPHS, word)}
    found_matches = [match for w in spellings for match in full_words.get(w, ())]
    if any(_stem_pattern().search(w) for w in spellings):
        found_matches += [match for pattern, match in patterns if any(pattern.fullmatch(w) for w in spellings)]
    return tuple(found_matches)


def best_matches(word: str) -> tuple[VocabularyMatch, ...]:
    """Return the vocabulary words that equal a word; if there are none, the longest ones that occur in it.

    A match whose stem is part of the stem of another match is omitted: in `postnummer`, `postnummer*` makes `nummer`
    irrelevant. Empty if there is no match.
    """
    candidates = all_matches(word)
    if full_matches := tuple(match for match in candidates if match.is_whole):
        return full_matches
    stems = {match.stem for match in candidates}
    return tuple(m for m in candidates if not any(m.stem != longer and m.stem in longer for longer in stems))


@cache
def _word_kinds(word: str) -> frozenset[str]:
    """Return the kinds, such as `subject` or `key`, that a word of a name can have; empty if it is unknown. Cached.

    A word that consists of a known word and a word for a key, such as `planno`, is also a `key`, unless the vocabulary
    has it itself. An unknown word that consists of a known word and a word for a list of codes, such as `agegrp`, has
    the kinds of the known word. A single letter qualifies another word, as in `p_class`.
    """
    if re.fullmatch("[a-z]", word):
        return frozenset({"filler"})
    word_matches = best_matches(word)
    if not word_matches and (coded_word := _JOINED_CATEGORY_WORD.fullmatch(word)):
        word_matches = tuple(match for match in best_matches(coded_word[1]) if match.is_whole)
    kinds = {match.kind for match in word_matches}
    if "count" in kinds:
        kinds.add("key")
    if not any(match.is_whole for match in word_matches) and (joined_word := _JOINED_KEY_WORD.fullmatch(word)):
        rest = next(part for part in joined_word.groups() if part)
        if {match.kind for match in best_matches(rest)} & {*_NON_PERSON_KINDS, "subject", "generic"}:
            kinds.add("key")
    return frozenset(kinds)


def is_ambiguous(word: str) -> bool:
    """Return whether a word is generalized by its meaning in one language and unchanged by its meaning in another.

    False if a language has both meanings.
    """
    word_matches = best_matches(word)
    generalized = {match.language for match in word_matches if TREATMENT_BY_KIND.get(match.kind) == "generalized"}
    unchanged = {match.language for match in word_matches if TREATMENT_BY_KIND.get(match.kind) == "unchanged"}
    return bool(generalized and unchanged) and not generalized & unchanged


def n_shared_words(column: str, hierarchy: str) -> int:
    """Return the number of words that the names of a column and a hierarchy share, ignoring a final s.

    `gender` counts as `sex`.
    """
    return len(comparable_words(column) & comparable_words(hierarchy))


def comparable_words(name: str) -> set[str]:
    """Return the words of a name without an s at the end; `gender` becomes `sex`."""
    return {"sex" if word == "gender" else word.rstrip("s") for word in split_words(name)}
