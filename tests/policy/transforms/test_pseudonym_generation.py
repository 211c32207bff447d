"""Pseudonyms and shifts equal HMAC, the gate's own code agrees, and without the key they cannot be reversed."""

from __future__ import annotations

import hashlib
import hmac
import json
import random
import secrets
from typing import Any

import duckdb
import pytest

import dbanon
from dbanon import errors
from dbanon.gate import pseudonyms
from dbanon.policy.transforms import formats, pseudonymize
from dbanon.runtime import secret_keys

SECRET = hashlib.sha256(b"a key for tests").hexdigest()
TEXTS = ["1", "01", "1 ", "", "Jörg", "👩‍👩‍👧", "x'); DROP TABLE t; --", "\0", "ß" * 500, *map(str, range(300))]


@pytest.fixture(autouse=True)
def secret_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DBANON_KEY", SECRET)


def pseudonym_settings(**more: Any) -> dict[str, Any]:
    return {"key": "env:DBANON_KEY", "scope": "visits", "format": "hex", "length": 32, "prefix": ""} | more


@pytest.mark.parametrize(("name", "length"), [("hex", 64), ("hex", 5), ("base32", 51), ("base32", 26), ("digits", 60),
                                              ("digits", 4), ("uuid", 36)])  # fmt: skip
def test_gate_pseudonyms_equal_generated_pseudonyms(name: str, length: int) -> None:
    one_format = formats.parse_format("t.c", name, length, "P-")
    actual_pseudonyms = pseudonymize.compute_pseudonyms([*TEXTS, None], secret_keys.find_key(), "visits", one_format)
    assert actual_pseudonyms == pseudonyms.expected_pseudonyms(
        [*TEXTS, None], pseudonym_settings(format=name, length=length, prefix="P-")
    )
    assert actual_pseudonyms[-1] is None and all(len(p) == length + 2 for p in actual_pseudonyms[:-1] if p)


def test_pseudonym_is_hmac_of_text_with_scope_key() -> None:
    of_scope = hmac.new(bytes.fromhex(SECRET), b"dbanon scope 1\0visits", "sha256").digest()
    full_digest = hmac.new(of_scope, "pseudonym\0Jörg".encode(), "sha256").hexdigest()
    assert pseudonymize.compute_pseudonyms(["Jörg"], secret_keys.find_key(), "visits", formats.PseudonymFormat()) == [
        full_digest[:32]
    ]


def test_texts_scopes_and_keys_change_pseudonym(monkeypatch: pytest.MonkeyPatch) -> None:
    one = pseudonymize.compute_pseudonyms(TEXTS, secret_keys.find_key(), "one", formats.PseudonymFormat())
    two = pseudonymize.compute_pseudonyms(TEXTS, secret_keys.find_key(), "two", formats.PseudonymFormat())
    monkeypatch.setenv("DBANON_KEY", secrets.token_hex(32))
    other = pseudonymize.compute_pseudonyms(TEXTS, secret_keys.find_key(), "one", formats.PseudonymFormat())
    assert len({*one, *two, *other}) == 3 * len(set(TEXTS))


def test_shifts_nonzero_and_uniform() -> None:
    people = [str(i) for i in range(6000)]
    days = pseudonymize.compute_shifts([*people, None], secret_keys.find_key(), "visits", 3)
    assert days == pseudonyms.expected_shifts([*people, None], pseudonym_settings(days=3)) and days.pop() is None
    assert all(850 < days.count(day) < 1150 for day in (-3, -2, -1, 1, 2, 3)) and 0 not in days


def test_minimal_length_is_first_without_collision() -> None:
    texts = [str(i) for i in range(2000)]
    one_format = formats.parse_format("t.c", "digits", 4)
    short = pseudonymize.compute_pseudonyms(texts, secret_keys.find_key(), "visits", one_format)
    shared = [t for t, p in zip(texts, short, strict=True) if short.count(p) > 1]
    min_unique_length = pseudonymize.min_unique_length(shared, secret_keys.find_key(), "visits", one_format)
    assert shared and min_unique_length is not None
    for length in range(4, min_unique_length + 2):
        actual_pseudonyms = pseudonymize.compute_pseudonyms(
            texts, secret_keys.find_key(), "visits", formats.parse_format("t.c", "digits", length)
        )
        assert (len(set(actual_pseudonyms)) == len(texts)) == (length >= min_unique_length)


@pytest.mark.parametrize(
    ("secret", "why"),
    [
        (SECRET[:32], "it has 16 bytes"),
        ("changeme", "it has"),
        ("correct horse battery staple and a few more words", "not text in"),
        ("0" * 64, "not random"),
        (bytes(range(32)).hex(), "not random"),
        (b"the hospital of Boston, key 2026".hex(), "not random"),
        ((b"0123456789abcdefghijklmnopqrstuv" * 2).hex(), "not random"),
        ((bytes.fromhex(SECRET)[:24] * 2).hex(), "not random"),
    ],
)
def test_guessable_pseudonym_key_refused(secret: str, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DBANON_KEY", secret)
    with pytest.raises(errors.WeakPseudonymKeyError, match=why) as caught:
        secret_keys.find_key()
    assert secret not in str(caught.value)


def test_random_keys_accepted_in_every_encoding(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    for _ in range(500):
        monkeypatch.setenv("DBANON_KEY", secrets.token_hex(32))
        secret_keys.find_key()
        monkeypatch.setenv("DBANON_KEY", secrets.token_urlsafe(32))
        secret_keys.find_key()
    file = tmp_path / "key"
    file.write_text(SECRET + "\n")
    assert secret_keys.find_key(f"file:{file}").id == secret_keys.SecretKey("", bytes.fromhex(SECRET)).id


def test_key_description_is_its_location() -> None:
    key = secret_keys.find_key()
    assert SECRET not in repr(key) and repr(key.secret) not in repr(key) and key.id not in SECRET
    assert len(key.id) == 16


def test_missing_key_states_searched_locations(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.delenv("DBANON_KEY")
    with pytest.raises(errors.PseudonymKeyMissingError, match="environment variable DBANON_KEY, which is not set"):
        secret_keys.find_key()
    with pytest.raises(errors.PseudonymKeyMissingError, match=f"the file {tmp_path}/none, which does not exist"):
        secret_keys.find_key(f"file:{tmp_path}/none")
    monkeypatch.setenv("DBANON_KEY", "  ")
    with pytest.raises(errors.PseudonymKeyMissingError, match="is empty"):
        secret_keys.find_key("env:DBANON_KEY")


def test_key_reference_error_contains_no_secret() -> None:
    for secret in (SECRET, f"env:{SECRET[:20]} ", f"hex:{SECRET}", "file:relative/key", "env:A-B"):
        with pytest.raises(errors.UnreadableKeyReferenceError) as caught:
            secret_keys.find_key(secret)
        assert SECRET not in str(caught.value)


def test_key_file_readable_by_others_detected(tmp_path: Any) -> None:
    file = tmp_path / "key"
    file.write_text(SECRET)
    file.chmod(0o640)
    assert secret_keys.shared_file_mode(f"file:{file}") == "0o640"
    file.chmod(0o600)
    assert secret_keys.shared_file_mode(f"file:{file}") is None
    assert secret_keys.shared_file_mode("env:DBANON_KEY") is None


@pytest.mark.parametrize("settings", [("hexa",), ("hex", 3), ("hex", 65), ("uuid", 8), ("digits", "many"),
                                   ("hex", 8, "x" * 33), ("hex", 8, "a\nb")])  # fmt: skip
def test_invalid_pseudonym_format_refused(settings: tuple[Any, ...]) -> None:
    with pytest.raises(errors.InvalidTransformSettingError, match=r"^t.c: (format|length|prefix) must be"):
        formats.parse_format("t.c", *settings)


def test_enumeration_without_key_identifies_no_person() -> None:
    published_pseudonyms = set(
        pseudonymize.compute_pseudonyms(
            [str(i) for i in range(1000)], secret_keys.find_key(), "visits", formats.PseudonymFormat()
        )
    )
    one_secret_keys = [
        secret_keys.SecretKey("", hashlib.sha256(word).digest())
        for word in (b"", b"password", b"DBANON_KEY", b"visits")
    ]
    space = [str(i) for i in range(3000)]
    for guessed_key in one_secret_keys:
        assert not published_pseudonyms & set(
            pseudonymize.compute_pseudonyms(space, guessed_key, "visits", formats.PseudonymFormat())
        )
    plain_digests = {
        hash_(t.encode()).hexdigest()[:32] for t in space for hash_ in (hashlib.sha256, hashlib.md5, hashlib.sha1)
    }
    assert not published_pseudonyms & plain_digests


def test_sql_functions_agree_and_never_see_key() -> None:
    con = dbanon.attach(duckdb.connect())
    random.seed(1)
    texts: list[str | None] = [*TEXTS, None] * 9
    random.shuffle(texts)
    con.execute("CREATE TABLE t AS SELECT unnest($1::VARCHAR[]) AS v", [texts])
    pseudonym, shift = json.dumps(pseudonym_settings()), json.dumps(pseudonym_settings(days=9))
    sql = f"""SELECT v, dbanon_pseudonym(v, '{pseudonym}'), dbanon_pseudonym_again(v, '{pseudonym}'),
        dbanon_shift(v, '{shift}'), dbanon_shift_again(v, '{shift}') FROM t"""
    for v, result, repeated, day, day_again in con.execute(sql).fetchall():
        assert [result] == pseudonymize.compute_pseudonyms(
            [v], secret_keys.find_key(), "visits", formats.PseudonymFormat()
        )
        assert (
            result == repeated
            and [day] == pseudonymize.compute_shifts([v], secret_keys.find_key(), "visits", 9)
            and day == day_again
        )
    assert SECRET not in str(con.execute(f"EXPLAIN ANALYZE {sql}").fetchall())
    assert (
        con.execute(f"SELECT dbanon_pseudonym(v, '{json.dumps(pseudonym_settings())}') FROM t LIMIT 0").fetchall() == []
    )
    con.close()
