"""The gate finds the key and the scope of pseudonyms by itself: a release made with others is refused."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.pseudonyms import SECRET

import dbanon
from dbanon import errors
from dbanon.gate import pseudonyms
from dbanon.release.spec import resolve
from dbanon.runtime import secret_keys

OTHER = hashlib.sha256(b"another key").hexdigest()
BYTES = bytes.fromhex(SECRET)
REFUSED = "release gate refused the result"

SPELLINGS = {
    "hex": SECRET,
    "capitals": SECRET.upper(),
    "blanks": f"  {SECRET}\n",
    "base64": base64.b64encode(BYTES).decode(),
    "unpadded": base64.b64encode(BYTES).decode().rstrip("="),
    "url": base64.urlsafe_b64encode(BYTES).decode(),
    "longer": base64.b64encode(BYTES + hashlib.sha512(BYTES).digest()).decode(),
}


@pytest.mark.all_cases
@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("kind", ["env", "file"])
def test_gate_and_release_read_equal_keys(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, spelling: str, kind: str
) -> None:
    written_spelling = SPELLINGS[spelling]
    monkeypatch.setenv("OWN_KEY", written_spelling)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "own.key").write_text(written_spelling, "ascii")
    for reference in ["env:OWN_KEY"] if kind == "env" else [f"file:{tmp_path / 'own.key'}", "file:~/own.key"]:
        assert pseudonyms.read_key(reference) == secret_keys.find_key(reference).secret
        is_same = pseudonyms.fingerprint(reference) == pseudonyms.fingerprint("env:DBANON_KEY")
        assert is_same == (spelling != "longer")


@pytest.mark.all_cases
@pytest.mark.parametrize(
    ("reference", "error"),
    [
        ("env:NOT_SET", errors.PseudonymKeyMissingError),
        ("env:EMPTY", errors.PseudonymKeyMissingError),
        ("file:/no/such.key", errors.PseudonymKeyMissingError),
        ("env:SHORT", errors.WeakPseudonymKeyError),
        ("env:NO_CODE", errors.WeakPseudonymKeyError),
        (SECRET, errors.UnreadableKeyReferenceError),
    ],
)
def test_gate_refuses_invalid_pseudonym_key(
    monkeypatch: pytest.MonkeyPatch, reference: str, error: type[Exception]
) -> None:
    for name, output in (("EMPTY", " "), ("SHORT", SECRET[:62]), ("NO_CODE", "no code of bytes, " * 4)):
        monkeypatch.setenv(name, output)
    with pytest.raises(error) as caught:
        pseudonyms.read_key(reference)
    assert SECRET[:62] not in str(caught.value)


def _read_default_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look for the key in the default place, whatever the policy says."""
    real = secret_keys.find_key
    monkeypatch.setenv("OWN_KEY", OTHER)
    monkeypatch.setattr(
        secret_keys, "find_key", lambda reference=None: replace(real("env:DBANON_KEY"), reference=reference)
    )


def _share_scope(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make all calls and views share one scope."""
    monkeypatch.setattr(resolve, "_pseudonym_scope", lambda publication, view: "call")


@pytest.mark.all_cases
@pytest.mark.parametrize("wrong", [_read_default_key, _share_scope])
@pytest.mark.parametrize("role", ["pseudonym", "shift", "view"])
def test_gate_refuses_pseudonyms_of_other_key_or_scope(
    con: Any, monkeypatch: pytest.MonkeyPatch, wrong: Any, role: str
) -> None:
    if role == "shift":
        shifted = {"role": "shift", "settings": {"days": 9, "key": "env:OWN_KEY"}}
        dbanon.declare(con, "patients", patient="person", age="quasi", seen=shifted)
        con.execute("CREATE OR REPLACE TABLE patients AS SELECT * REPLACE (DATE '2020-01-01' AS seen) FROM patients")
    else:
        dbanon.declare(con, "patients", patient={"role": "pseudonym", "settings": {"key": "env:OWN_KEY"}})
    wrong(monkeypatch)
    monkeypatch.setenv("OWN_KEY", OTHER)
    with pytest.raises(Exception, match=REFUSED) as caught:
        if role == "view":
            dbanon.create_release(con, "safe", "mondrian", "patients", k=10)
        else:
            con.sql("FROM mondrian('patients', k=10, allow_rare=['seen'])").fetchall()
    assert OTHER not in str(caught.value)
