"""Pseudonyms, masks and shifted dates as policy roles: published values, permitted changes, refusals."""

from __future__ import annotations

import datetime
import json
import re
from typing import Any

import pytest
from support.pseudonyms import SECRET, assert_refused

import dbanon
from dbanon import errors
from dbanon.gate import pseudonyms
from dbanon.policy.transforms import formats, pseudonymize
from dbanon.policy.transforms.formats import PseudonymFormat
from dbanon.release.spec import transformed_columns
from dbanon.runtime import secret_keys
from dbanon.source import stored_policy

RELEASE = "SELECT * FROM mondrian('patients', k=10)"


def test_one_pseudonym_per_person_without_identifier(con: Any) -> None:
    rows = con.sql(f"SELECT patient FROM ({RELEASE})").fetchall()
    assert len({p for (p,) in rows}) == 300 and all(p.startswith("P-") and len(p) == 14 for (p,) in rows)
    assert con.sql(RELEASE).columns == ["patient", "age", "disease", "class_id"]


def test_pseudonyms_reproducible_per_call(con: Any) -> None:
    def release_pseudonyms(query: str) -> set[str]:
        return {p for (p,) in con.sql(f"SELECT patient FROM ({query})").fetchall()}

    assert release_pseudonyms(RELEASE) == release_pseudonyms(RELEASE)
    assert not release_pseudonyms(RELEASE) & release_pseudonyms("FROM mondrian('patients', k=11)")
    assert not release_pseudonyms(RELEASE) & release_pseudonyms("FROM datafly('patients', k=10)")


def test_policy_scope_equal_across_tables_and_types(con: Any) -> None:
    con.execute("CREATE OR REPLACE TABLE visits AS SELECT patient::VARCHAR AS who, age FROM patients")
    scoped = {"role": "pseudonym", "settings": {"scope": "study"}}
    dbanon.declare(con, "patients", patient=scoped)
    dbanon.declare(con, "visits", who=scoped, age="quasi")
    both = (
        "SELECT count(*) FROM mondrian('patients', k=10) AS p JOIN mondrian('visits', k=20) AS v ON p.patient = v.who"
    )
    assert con.sql(both).fetchall() == [(300,)]


def test_trailing_blanks_differ_and_null_stays_null(con: Any) -> None:
    con.execute(
        "CREATE OR REPLACE TABLE blanks AS SELECT ['a', 'a ', NULL][1 + i % 3] AS who, 1 AS age FROM range(30) r(i)"
    )
    dbanon.declare(con, "blanks", who="pseudonym", age="quasi")
    rows = con.sql("SELECT who, count(*) FROM mondrian('blanks', k=2) GROUP BY ALL").fetchall()
    assert sorted(n for _, n in rows) == [10, 10, 10] and None in dict(rows) and len(rows) == 3


def test_k_counts_persons_by_pseudonym(con: Any) -> None:
    con.execute("INSERT INTO patients FROM patients")
    mapping = dict(con.sql("SELECT metric, value FROM mondrian_metrics('patients', k=10)").fetchall())
    assert mapping["persons"] == 300 and mapping["records"] == 600 and mapping["linked_records"] == 600
    assert con.sql("SELECT min(persons) FROM mondrian_classes('patients', k=10)").fetchall()[0][0] >= 10
    con.execute("DELETE FROM patients WHERE patient >= 1009")
    assert_refused(con, RELEASE, "k must be between 2 and 9")
    assert_refused(con, "FROM mondrian('patients', k=10, withhold=['patient'])", "k must be between 2 and 9")


@pytest.mark.parametrize("arguments", ["insensitive", "sensitive", "qi"])
def test_call_may_withhold_pseudonym_not_reveal_identifier(con: Any, arguments: str) -> None:
    assert_refused(con, f"FROM mondrian('patients', k=10, {arguments}=['patient'])", "patient is declared pseudonym")
    assert_refused(con, "FROM mondrian('patients', k=10, person='sex')", "patient is declared pseudonym")
    for tighter in ("withhold=['patient']", "identifier=['patient']", "person='patient'"):
        shown_columns = con.sql(f"FROM mondrian('patients', k=10, {tighter})").columns
        assert shown_columns == ["age", "disease", "class_id"]


def test_masks_keep_whole_graphemes_and_hide_short_values(con: Any) -> None:
    family = "\U0001f469\u200d\U0001f469\u200d\U0001f467"
    con.execute(
        "CREATE OR REPLACE TABLE texts AS SELECT unnest([$1, 'é12', 'ab', '', NULL, '0123']) AS t, 1 AS age "
        "FROM range(10)",
        [f"{family}x{family}"],
    )
    dbanon.declare(con, "texts", t={"role": "mask", "settings": {"first": 1, "last": 1, "character": "•"}}, age="quasi")
    rows = con.sql("SELECT DISTINCT t FROM mondrian('texts', k=10) ORDER BY ALL").fetchall()
    assert {t for (t,) in rows} == {f"{family}•{family}", "é•2", "••", "", None, "0••3"}


def test_rare_masked_values_refused(con: Any) -> None:
    dbanon.declare(con, "patients", phone={"role": "mask", "settings": {"last": 1}})
    assert {p for (p,) in con.sql(f"SELECT phone FROM ({RELEASE})").fetchall()} == {"******0", "******1", "******2"}
    con.execute("UPDATE patients SET phone = '555-009' WHERE patient = 1000")
    assert_refused(
        con, RELEASE, r"patients.phone has the role mask and 1 of the values that it publishes .* allow_rare"
    )
    assert len(con.sql("FROM mondrian('patients', k=10, allow_rare=['phone'])").fetchall()) == 300


def test_dates_of_person_shifted_by_equal_nonzero_offset(con: Any) -> None:
    con.execute("""CREATE OR REPLACE TABLE events AS SELECT i AS who, 1 AS age, 'e' || i AS event, d AS day,
        d::TIMESTAMP + INTERVAL 90 MINUTE AS moment, d::TIMESTAMPTZ AS zoned
        FROM range(40) r(i), (SELECT unnest([DATE '1950-02-27', '2020-02-28', '2024-12-31']) AS d)""")
    shift = {"role": "shift", "settings": {"days": 20}}
    dbanon.declare(con, "events", who="person", age="quasi", event="insensitive", day=shift, moment=shift, zoned=shift)
    query = (
        "SELECT event, list(row(day, moment, zoned) ORDER BY day) "
        "FROM mondrian('events', k=2, allow_rare=['event', 'day', 'moment', 'zoned']) GROUP BY event"
    )
    for event, days in con.sql(query).fetchall():
        (moves,) = pseudonymize.compute_shifts([event[1:]], secret_keys.find_key(), _scope(con, query), 20)
        for (day, position, zoned), was in zip(days, ("1950-02-27", "2020-02-28", "2024-12-31"), strict=True):
            assert moves and day == datetime.date.fromisoformat(was) + datetime.timedelta(days=moves)
            assert position == datetime.datetime.combine(day, datetime.time(1, 30))
            assert zoned.astimezone(datetime.UTC).date() - day in (
                datetime.timedelta(0),
                datetime.timedelta(-1),
                datetime.timedelta(1),
            )
    assert_refused(con, "FROM mondrian('events', k=2)", "events.event has the role insensitive|has the role shift")


def _scope(con: Any, query: str) -> str:
    """Return the scope that a plan names."""
    settings = re.sub(r"',\s+'", "", dbanon.explain(con, query).split("dbanon_shift(")[1])
    return str(json.loads(re.findall(r'"scope": ("(?:[^"\\]|\\.)*")', settings)[0]))


def test_dates_at_type_limits_reported_infinite_kept(con: Any) -> None:
    con.execute(
        "CREATE OR REPLACE TABLE ends AS SELECT i AS who, 1 AS age, 'infinity'::DATE AS day FROM range(20) r(i)"
    )
    dbanon.declare(con, "ends", who="person", age="quasi", day={"role": "shift", "settings": {"days": 20}})
    assert con.sql("SELECT DISTINCT day::VARCHAR FROM mondrian('ends', k=10)").fetchall() == [("infinity",)]
    con.execute("UPDATE ends SET day = '5881580-07-10'::DATE")
    assert_refused(con, "FROM mondrian('ends', k=10)", "ends.day has a DATE at the end of its type")


def test_impossible_transform_is_reported(con: Any) -> None:
    con.execute("CREATE OR REPLACE TABLE bare AS SELECT 1 AS age, [1] AS list, DATE '2020-01-01' AS day FROM range(20)")
    dbanon.declare(con, "bare", age="quasi", day={"role": "shift", "settings": {"days": 20}})
    assert_refused(con, "FROM mondrian('bare', k=10)", "bare.day cannot have the role shift: all dates of a person")
    dbanon.declare(con, "bare", day={"role": "mask"}, list="pseudonym")
    assert_refused(
        con, "FROM mondrian('bare', k=10)", r"bare.list cannot have the role pseudonym: it has the type INTEGER\[\]"
    )


def test_stream_refuses_transformed_columns(con: Any) -> None:
    stream = "FROM castle('patients', k=10, delta=100, order_by=['seen'])"
    assert_refused(
        con, stream, "'patient' of patients have the role pseudonym, mask or shift, which a stream does not publish"
    )


def test_transform_declarations_validated(con: Any) -> None:
    for bad, error in (
        ({"lenght": 9}, errors.InvalidTransformSettingError),
        ({"key": SECRET}, errors.UnreadableKeyReferenceError),
        ({"key": "env:" + "ab" * 32}, errors.UnreadableKeyReferenceError),
    ):
        with pytest.raises(error) as caught:
            dbanon.declare(con, "patients", patient={"role": "pseudonym", "settings": bad})
        assert SECRET not in str(caught.value) and "abab" not in str(caught.value)
    with pytest.raises(errors.InvalidArgumentError, match="settings must be a dict of settings"):
        dbanon.declare(con, "patients", age={"role": "quasi", "settings": {"length": 9}})
    con.execute("UPDATE dbanon.policy SET settings = {'days': 'x'}, role = 'shift' WHERE column_name = 'patient'")
    problems = con.sql("SELECT problem FROM policy_problems()").fetchall()
    assert any("days must be an integer from 1 to 36500" in p for (p,) in problems)


def test_policy_without_transforms_keeps_fingerprint(con: Any) -> None:
    """An empty column that was added later changes no policy, so it makes no release stale."""
    later_columns = ", 'missing_codes': NULL, 'settings': NULL}"
    texts = f"SELECT p::VARCHAR, {stored_policy._first_schema_text()} FROM dbanon.policy AS p WHERE settings IS NULL"
    for row_text, first_text in con.sql(texts).fetchall():
        earlier_text = row_text.replace("'rounding': ", "'grid': ").removesuffix(later_columns) + "}"
        assert first_text == earlier_text and row_text.endswith(later_columns)


# --- the gate -----------------------------------------------------------------------------------------------


def test_gate_refuses_wrong_pseudonyms(con: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    real = pseudonymize.compute_pseudonyms

    def altered_pseudonyms(values: Any, key: Any, scope: str, how: PseudonymFormat) -> Any:
        return [p and p[:-1] + ("0" if p[-1] != "0" else "1") for p in real(values, key, scope, how)]

    monkeypatch.setattr(pseudonymize, "compute_pseudonyms", altered_pseudonyms)
    assert_refused(con, RELEASE, "release gate refused the result")
    monkeypatch.setattr(pseudonymize, "compute_pseudonyms", lambda values, *_: list(values))
    assert_refused(con, RELEASE, "release gate refused the result")


@pytest.mark.parametrize("kind", ["phone", "seen", "patient"])
def test_gate_refuses_untransformed_column(con: Any, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    dbanon.declare(con, "patients", phone={"role": "mask", "settings": {"last": 1}},
                   seen={"role": "shift", "settings": {"days": 9}})  # fmt: skip
    query = "FROM mondrian('patients', k=10, allow_rare=['phone', 'seen'])"
    if kind != "phone":
        query = "FROM mondrian('patients', k=10, allow_rare=['phone', 'seen'], withhold=['phone'])"
    assert con.sql(query).fetchall()
    real = transformed_columns.transformed_value_sql

    def untransformed_value(function: str, column: str, transform: Any, value: Any, type_: str, person: Any) -> Any:
        raw = transformed_columns.canonical_value_text(value, type_) if transform.type == "VARCHAR" else value
        return raw if column.endswith(kind) else real(function, column, transform, value, type_, person)

    monkeypatch.setattr(transformed_columns, "transformed_value_sql", untransformed_value)
    assert_refused(con, query, "release gate refused the result")


def test_macros_and_settings_never_change_pseudonyms(con: Any) -> None:
    old_rows = con.sql(RELEASE).fetchall()
    con.execute("CREATE MACRO dbanon_pseudonym(a, b) AS 'x'")
    con.execute("CREATE MACRO dbanon_pseudonym_again(a, b) AS 'x'")
    con.execute("SET default_collation = 'NOCASE'")
    try:
        assert con.sql(RELEASE).fetchall() == old_rows
    finally:
        con.execute("RESET default_collation")
        con.execute("DROP MACRO dbanon_pseudonym; DROP MACRO dbanon_pseudonym_again")


def test_pseudonym_key_absent_from_plans_and_cells(con: Any) -> None:
    plan = dbanon.explain(con, RELEASE)
    assert "env:DBANON_KEY" in plan
    for actual_plan in (plan, str(con.sql(f"EXPLAIN (FORMAT json) {RELEASE}").fetchall()),
                 str(con.sql("FROM explain_release('mondrian', 'patients', k=10)").fetchall())):  # fmt: skip
        assert SECRET not in actual_plan and secret_keys.find_key().derive_scope_key("x").hex() not in actual_plan


def test_missing_or_guessed_key_reported_before_reading(con: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DBANON_KEY")
    assert_refused(con, RELEASE, "expected in the environment variable DBANON_KEY, which is not set")
    monkeypatch.setenv("DBANON_KEY", "hospital2026")
    assert_refused(con, RELEASE, "cannot be the key of pseudonyms")


def test_readable_key_file_warns(con: Any, tmp_path: Any) -> None:
    file = tmp_path / "key"
    file.write_text(SECRET)
    file.chmod(0o644)
    dbanon.declare(con, "patients", patient={"role": "pseudonym", "settings": {"key": f"file:{file}"}})
    with pytest.warns(UserWarning, match="has the mode 0o644: users other than its owner can read the key"):
        con.sql(RELEASE).fetchall()
    file.chmod(0o600)
    con.sql(RELEASE).fetchall()


def test_attacker_with_number_list_identifies_no_person(con: Any) -> None:
    published_values = {p for (p,) in con.sql(f"SELECT patient FROM ({RELEASE})").fetchall()}
    scope = "call anything"
    for guess in (bytes(32), b"DBANON_KEY".ljust(32, b"0"), bytes(range(32))):
        secret_key = secret_keys.SecretKey("", guess)
        tried_pseudonyms = pseudonymize.compute_pseudonyms(
            map(str, range(3000)), secret_key, scope, formats.parse_format("t.c", "hex", 12, "P-")
        )
        assert not published_values & set(tried_pseudonyms)
    assert (
        pseudonyms.expected_pseudonyms(
            ["1000"], {"key": "env:DBANON_KEY", "scope": scope, "format": "hex", "length": 12, "prefix": "P-"}
        )[0]
        not in published_values
    )
