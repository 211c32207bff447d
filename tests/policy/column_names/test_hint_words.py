"""Vocabulary words with several meanings in different languages: each ambiguity is resolved, or a test fails."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dbanon.policy.column_names import hints
from dbanon.policy.column_names.hint_words import VOCABULARY
from dbanon.policy.column_names.hints import TREATMENT_BY_KIND, all_matches, best_matches, is_ambiguous

RESOLVED = {
    # A match that withholds a column has priority, where a word has both meanings.
    "generalized, withheld": "cep",
    # The values decide, else the column is withheld.
    "position, unchanged": "lon",
    "generalized, position": "lat",
    # Words that add nothing to what another word says.
    "none, unchanged": "category current tip",
    "generalized, none": "los",
    # The longer or the whole word explains the shorter one that it holds.
    "none": """
        acid alternation anzahl avoid balloon bid combination conditional conditioning coordination
        donation explanation fluid grid humid hybrid imagination invalid learning lilac liquid mandate mandatory market
        mid opioid origination paid postpaid prepaid rapid saloon solid steroid termination thyroid unconditional
        unpaid valid validate void
        """,
    "withheld": """
        candidate citizen claimant creditcard eposta fodselsnummer geburtsname krankenversicherungsnummer merknad
        mieter posta reddit salarie schuler sozialversicherung therapist रोगी
        """,
    "generalized": """
        burgerlijk departement employer employeur hospitalisation hospitalization inpatient opname outpatient postnr
        postnummer आयु 郵便番号 우편번호
        """,
    "position": "देशांतर",
    "unchanged": """
        covid examination hastaligi hastalik hastane ingreso laegemid legemid lekarstv subjectname suicid अस्पताल
        """,
}  # fmt: skip
"""Resolved meanings of words that collide.

A new word that collides is added here once it is clear which meaning wins, or is removed from the vocabulary of the
language in which it is rare.
"""


@pytest.fixture(autouse=True)
def clear_vocabulary_caches() -> Iterator[None]:
    """Read the vocabulary again in each test."""
    caches = (hints._vocabulary, hints._stem_pattern, all_matches, hints._word_kinds)
    for cached in caches:
        cached.cache_clear()
    yield
    for cached in caches:
        cached.cache_clear()


def listed_words() -> set[str]:
    """Return every word of the vocabulary without its signs, as names are compared with it."""
    all_words = (
        word for listed_value in VOCABULARY.values() for word in listed_value.split() if not word.endswith(":")
    )
    return {hints._normalize(word.strip("*")) for word in all_words}


def treatments(matches: tuple[hints.VocabularyMatch, ...]) -> set[str]:
    """Return the ways of publishing that matches propose for columns."""
    return {
        "position" if match.kind == "coordinate" else TREATMENT_BY_KIND.get(match.kind, "none") for match in matches
    }


def collisions() -> dict[str, str]:
    """Return words that two matches publish in different ways, with the meanings."""
    return {
        word: ", ".join(sorted(treatments(best_matches(word))))
        for word in listed_words()
        if len(treatments(all_matches(word))) > 1
    }


def test_vocabulary_collisions_all_resolved() -> None:
    resolved_values_by_word = {word: used for used, words in RESOLVED.items() for word in words.split()}
    assert {hints._normalize(word): used for word, used in resolved_values_by_word.items()} == collisions()


def test_only_lon_is_ambiguous_in_vocabulary() -> None:
    assert {word for word in listed_words() if is_ambiguous(word)} == {"lon"}


@pytest.mark.parametrize(
    ("kind", "language", "word", "treatment"),
    [
        ("sensitive", "xx", "zip", "generalized, unchanged"), ("trait", "xx", "salar*", "generalized, unchanged"),
        ("neutral", "xx", "phone", "unchanged"), ("proper", "xx", "*gehalt", "generalized, unchanged"),
    ],
)  # fmt: skip
def test_added_colliding_word_is_detected(
    monkeypatch: pytest.MonkeyPatch, kind: str, language: str, word: str, treatment: str
) -> None:
    old_collisions = collisions()
    hints._vocabulary.cache_clear()
    hints._stem_pattern.cache_clear()
    all_matches.cache_clear()
    monkeypatch.setitem(VOCABULARY, kind, f"{VOCABULARY[kind]} {language}: {word}")
    added = {result: how for result, how in collisions().items() if result not in old_collisions}
    assert added[word.strip("*")] == treatment
    assert is_ambiguous(word.strip("*")) == (treatment == "generalized, unchanged")


def test_each_word_listed_once_per_language() -> None:
    for kind, entries in VOCABULARY.items():
        language, seen_values = "", set()
        for word in entries.split():
            if word.endswith(":"):
                language = word
            else:
                assert (language, word) not in seen_values, (kind, language, word)
                seen_values.add((language, word))


@pytest.mark.parametrize(
    ("name", "hint", "word"),
    [
        ("educcat", "quasi", "educcat"), ("occrecode", "quasi", "occrecode"), ("wrkstat", "quasi", "wrkstat"),
        ("namecode", "direct", "namecode"), ("cd420", "sensitive", "lab"), ("HbA1c", "sensitive", "lab"),
        ("mother_name", "direct", "mother name"), ("mother_age", "quasi", "age"), ("PClass", "neutral", "class"),
        ("status", "neutral", "status"), ("StockOptionLevel", "neutral", "stock"), ("offtrt", "sensitive", "offtrt"),
        ("age_at_diagnosis", "sensitive", None), ("age_at_diagnosis", "quasi", "age"), ("p_id", "key", "id"),
        ("c_name", "direct", "name"), ("diagnosis_of_mother", "sensitive", "diagnosis"),
    ],
)  # fmt: skip
def test_abbreviated_and_joined_names_give_hints(name: str, hint: str, word: str | None) -> None:
    assert getattr(hints.hints_from_name(name), hint) == word
