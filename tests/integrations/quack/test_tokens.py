"""Tokens are shown once, stored as hashes, and can be revoked."""

from __future__ import annotations

import json
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from dbanon import errors
from dbanon.cli import main
from dbanon.integrations.quack import tokens

pytestmark = pytest.mark.all_cases


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "clinic.duckdb.tokens"


def test_token_valid_only_for_its_role(path: Path) -> None:
    alice, bob = tokens.add_token(path, "alice", "reader"), tokens.add_token(path, "bob", "custodian")
    readers, custodians = tokens.TokenChecker(path, "reader"), tokens.TokenChecker(path, "custodian")
    assert [t and t.name for t in map(readers.find_token, (alice, bob))] == ["alice", None]
    assert [t and t.name for t in map(custodians.find_token, (alice, bob))] == [None, "bob"]
    for wrong in ("", alice[:-1], alice + "x", alice.lower(), path.read_text(), tokens.read_tokens(path)[0].hash):
        assert readers.find_token(wrong) is None


def test_token_file_has_no_token_and_is_private(path: Path) -> None:
    secret = tokens.add_token(path, "alice", "reader")
    assert len(secret) > 43
    assert secret not in path.read_text() and secret[10:] not in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert tokens.add_token(path, "bob", "reader") != secret


def test_revoked_or_expired_token_refused(path: Path) -> None:
    checker = tokens.TokenChecker(path, "reader")
    secret, other = tokens.add_token(path, "alice", "reader", "1m"), tokens.add_token(path, "bob", "reader")
    stored_token, kept_token = checker.find_token(secret), checker.find_token(other)
    assert stored_token is not None and kept_token is not None
    assert stored_token.is_valid(datetime.now(UTC)) and not stored_token.is_valid(
        datetime.now(UTC) + timedelta(minutes=2)
    )
    tokens.revoke_token(path, "alice")
    assert checker.find_token(secret) is None and not checker.is_valid(stored_token)
    assert checker.is_valid(kept_token)
    second_token = tokens.add_token(path, "alice", "reader")
    assert not checker.is_valid(stored_token), "another token of that name"
    document = json.loads(path.read_text())
    for entry in document["tokens"]:
        entry["expires"] = (datetime.now(UTC) - timedelta(seconds=1)).isoformat()
    path.write_text(json.dumps(document))
    assert checker.find_token(second_token) is None and not checker.is_valid(kept_token)


@pytest.mark.parametrize("damaged", ["", "{", "[]", '{"tokens": [{"name": "alice"}]}', '{"tokens": 1}'])
def test_damaged_or_missing_token_file_refuses_everyone(path: Path, damaged: str) -> None:
    checker = tokens.TokenChecker(path, "reader")
    assert checker.find_token("x") is None
    secret = tokens.add_token(path, "alice", "reader")
    assert checker.find_token(secret) is not None
    path.write_text(damaged)
    assert checker.find_token(secret) is None
    path.unlink()
    assert checker.find_token(secret) is None


@pytest.mark.parametrize("expires", ["", "0d", "-1d", "30", "1w", "1.5d", "1d ", "9999999d", "١d"])
def test_token_with_invalid_expiry_refused(path: Path, expires: str) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="30d, 12h, 45m"):
        tokens.add_token(path, "alice", "reader", expires)
    assert not path.exists()


@pytest.mark.parametrize("name", ["", "a b", "a\nb", "x" * 61, "a;b"])
def test_token_name_with_unloggable_characters_refused(path: Path, name: str) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="name"):
        tokens.add_token(path, name, "reader")


def test_second_token_of_same_name_refused(path: Path) -> None:
    tokens.add_token(path, "alice", "reader")
    with pytest.raises(errors.TokenExistsError, match="'alice'"):
        tokens.add_token(path, "alice", "custodian")
    with pytest.raises(errors.UnknownTokenError, match="Did you mean 'alice'"):
        tokens.revoke_token(path, "alise")


def test_token_commands_add_list_and_revoke(tmp_path: Path) -> None:
    database = tmp_path / "clinic.duckdb"
    database.write_bytes(b"")
    run = CliRunner()
    shown_output = run.invoke(
        main, ["token", "add", str(database), "alice", "--role", "reader", "--expires", "30d"]
    ).output
    checker = tokens.TokenChecker(tokens.token_file(database), "reader")
    assert checker.find_token(shown_output.strip()) is not None
    listed_document = json.loads(run.invoke(main, ["token", "list", str(database), "--json"]).output)
    assert [(t["name"], t["role"], set(t)) for t in listed_document] == [
        ("alice", "reader", {"name", "role", "made", "expires"})
    ]
    assert "alice" in run.invoke(main, ["token", "list", str(database)]).output
    assert shown_output.strip() not in run.invoke(main, ["token", "list", str(database)]).output
    assert run.invoke(main, ["token", "revoke", str(database), "alice"]).exit_code == 0
    assert checker.find_token(shown_output.strip()) is None
    assert run.invoke(main, ["token", "revoke", str(database), "alice"]).exit_code == 1
    assert run.invoke(main, ["token", "add", str(database), "x", "--role", "owner"]).exit_code == 2
