"""Unknown columns are withheld: no name, text, number or day of a person is proposed for publication."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner

import dbanon
from dbanon.cli import main
from dbanon.policy.column_names import hints
from dbanon.sqltext.quote import identifier

GIVEN = ("Anna", "Bernd", "Clara", "Dieter", "Eva", "Frank", "Gerda", "Hans", "Ida", "Jan")
FAMILY = ("Schmidt", "Meier", "Weber", "Wagner", "Becker", "Hoffmann", "Koch", "Richter", "Klein", "Wolf")

GERMAN = {
    "Patienten Nr": "i // 10", "Name des Patienten": "family || ', ' || given", "Geschlecht": "['m', 'w'][i % 2 + 1]",
    "Geburtsdatum": "strftime(DATE '1950-01-01' + (i // 10 * 37)::INTEGER, '%d.%m.%Y')",
    "Aufnahme Datum": "strftime(DATE '2020-01-01' + (i * 7 % 100)::INTEGER, '%d.%m.%Y')",
    "Bemerkung": "'ruft an, Tel. 0171 ' || (1000000 + i // 10 * 7919)", "Krankenhaus": "['Nord', 'Mitte'][i % 2 + 1]",
    "Diagnose": "['Grippe', 'Husten', 'Fraktur'][i % 3 + 1]", "Betreuung": "given || ' ' || family",
    "Merkmal": "'Kennt ' || given || ' und kommt gern wieder.'", "Zimmer": "'Z' || i % 20", "Kontakt": "i // 10 * 7919",
}  # fmt: skip
ENGLISH = {
    "pid": "i // 10", "Name of patient": "given || ' ' || family", "sex": "['F', 'M'][i % 2 + 1]",
    "date of birth": "strftime(DATE '1950-01-01' + (i // 10 * 37)::INTEGER, '%m/%d/%Y')",
    "admitted": "strftime(DATE '2020-01-01' + (i * 7 % 100)::INTEGER, '%Y-%m-%d')",
    "discharge_date": "DATE '2020-01-03' + (i * 7 % 100)::INTEGER", "comments": "'call (212) 555-' || (1000 + i // 10)",
    "hospital": "['North', 'South'][i % 2 + 1]", "diagnosis": "['Flu', 'Cough', 'Fracture'][i % 3 + 1]",
    "companion": "'Mrs. ' || family", "plainly": "'Knows ' || given || ' and likes to come back.'",
    "room": "'R' || i % 20", "reach": "'p' || i // 10 || '@example.org'",
}  # fmt: skip


def visits(con: Any, table: str, columns: dict[str, str], rows: int = 1000) -> None:
    """Create ten visits of each patient, so that every value belongs to ten records."""
    text = ", ".join(f"{sql} AS {identifier(name)}" for name, sql in columns.items())
    con.execute(
        f"CREATE TABLE {table} AS SELECT {text} FROM (SELECT i, {list(GIVEN)}[i // 10 % 10 + 1] AS given, "
        f"{list(FAMILY)}[i // 100 % 10 + 1] AS family FROM range({rows}) AS r (i))"
    )


def proposed_roles(con: Any, table: str) -> dict[str, tuple[str, str]]:
    rows = con.execute(f"SELECT column_name, proposed_role, reason FROM profile('{table}')").fetchall()
    return {name: (role, reason) for name, role, reason in rows}


def run_command(*arguments: object) -> Any:
    return CliRunner().invoke(main, [str(a) for a in arguments])


@pytest.mark.not_everyday
@pytest.mark.parametrize("columns", [GERMAN, ENGLISH], ids=["german", "english"])
def test_init_proposal_publishes_nothing_personal(tmp_path: Path, columns: dict[str, str]) -> None:
    path, out = tmp_path / "clinic.duckdb", tmp_path / "out.parquet"
    with dbanon.connect(path) as con:
        visits(con, "visits", columns)
    message = run_command("init", path, "visits", "--yes")
    assert message.exit_code == 0, message.output
    room = next(name for name in columns if name in ("Zimmer", "room"))
    assert "Review these; until then they are withheld:" in message.output
    assert room in message.output.split("Review these")[1]
    assert "INSERT INTO" in message.output
    result = run_command("anonymize", path, "--table", "visits", "-k", 10, "-o", out)
    assert result.exit_code == 0, result.output
    with duckdb.connect() as con:
        published_columns = con.execute(f"FROM '{out}' LIMIT 0").fetch_df().columns
        cells = con.execute(f"SELECT CAST(t AS VARCHAR) FROM '{out}' AS t").fetchall()
    text = "\n".join(cell for (cell,) in cells)
    assert not [word for word in (*GIVEN, *FAMILY, "0171", "555-", "@") if word in text]
    secret = {"Geschlecht", "Geburtsdatum", "Aufnahme Datum", "Diagnose", "Krankenhaus"}
    secret |= {"sex", "date of birth", "admitted", "discharge_date", "diagnosis", "hospital"}
    assert set(published_columns) <= {"class_id", *secret}


@pytest.mark.parametrize("columns", [GERMAN, ENGLISH], ids=["german", "english"])
def test_unknown_columns_withheld_with_reason(con: Any, columns: dict[str, str]) -> None:
    visits(con, "visits", columns)
    result = proposed_roles(con, "visits")
    roles = [role for role, _ in result.values()]
    assert roles.count("person") == 1
    assert result[next(iter(columns))][0] == "person"
    for name, (role, reason) in result.items():
        assert (role == "withheld") == reason.startswith("review: "), name
    assert "insensitive" not in roles


NAMES = {
    "direct": (
        "Name des Patienten", "Name of patient", "Nachname", "patientName", "Straße", "strasse", "nom du patient",
        "prénom", "nombre del paciente", "apellidos", "nome do paciente", "cognome", "naam", "imię pacjenta",
        "ФИО", "Имя пациента", "hasta adı", "soyadı", "nama pasien", "患者姓名", "氏名", "이름", "اسم المريض",
        "मरीज का नाम", "xingming", "denwa",
    ),
    "number": (
        "Steuernummer", "cpf", "codice fiscale", "PESEL", "СНИЛС", "TC Kimlik", "NIK", "身份证号", "주민등록번호",
    ),
    "subject": (
        "pid", "Patienten Nr", "Patientennummer", "KdNr", "id_paciente", "número de paciente", "номер пациента",
        "患者编号", "患者番号", "환자번호", "customerId",
    ),
    "quasi": (
        "Geschlecht", "Aufnahme Datum", "Geburtsdatum", "admitted", "discharge_date", "Größe", "groesse",
        "date de naissance", "fecha de nacimiento", "data de nascimento", "data di nascita", "geboortedatum",
        "data urodzenia", "płeć", "дата рождения", "doğum tarihi", "cinsiyet", "tanggal lahir", "jenis kelamin",
        "出生日期", "性别", "生年月日", "性別", "생년월일", "성별", "تاريخ الميلاد", "الجنس", "जन्म तिथि", "लिंग",
        "PLZ", "código postal", "seibetsu",
    ),
    "sensitive": (
        "Diagnose", "diagnóstico", "Einkommen", "salaire", "sueldo", "renda", "reddito", "inkomen",
        "wynagrodzenie", "диагноз", "maaş", "gaji", "诊断", "診断", "진단명", "التشخيص", "निदान", "A1Cresult",
    ),
    "prose": (
        "Bemerkung", "comments", "remarques", "observaciones", "note", "opmerkingen", "uwagi", "комментарий",
        "açıklama", "catatan", "备注", "備考", "비고", "ملاحظات", "टिप्पणी",
    ),
    "neutral": (
        "Krankenhaus", "department", "hôpital", "producto", "科室", "診療科",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, names in NAMES.items() for name in names])
def test_multilingual_names_suggest_meaning(kind: str, name: str) -> None:
    assert getattr(hints.hints_from_name(name), kind) is not None


PERSONAL = {
    "family || ', ' || given": "names of people",
    "'Dr. ' || given || ' ' || family": "names of people",
    "given || ' von ' || family": "names of people",
    "'bitte anrufen: 0171 ' || (1234500 + i // 10)": "telephone numbers",
    "'see ' || given || '@example.org about it'": "e-mail",
    "'Came in early. Left with ' || given || '.'": "prose",
    "'+49 171 ' || (1234500 + i // 10)": "phone numbers",
    "'0171/' || (1234500 + i // 10)": "phone numbers",
}


def test_names_and_contact_values_proposed_as_identifier(con: Any) -> None:
    called = [(f"{word} {n}", n) for word in ("thing", "department", "admitted") for n in range(len(PERSONAL))]
    visits(con, "t", {name: list(PERSONAL)[n] for name, n in called})
    result = proposed_roles(con, "t")
    for name, n in called:
        role, reason = result[name]
        assert (role, list(PERSONAL.values())[n] in reason) == ("identifier", True), (name, list(PERSONAL)[n], reason)


FORMS = ("%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%d-%b-%y", "%d %B %Y", "%Y-%m-%d %H:%M:%S")


DAYS = {"x": "i // 10", "diagnosed": "i * 7 % 97"}


def test_text_dates_proposed_as_quasi_under_any_name(con: Any) -> None:
    for form in FORMS:
        days = {name: f"strftime(DATE '2020-01-01' + ({day})::INTEGER, '{form}')" for name, day in DAYS.items()}
        visits(con, "t", days)
        assert {role for role, _ in proposed_roles(con, "t").values()} == {"quasi"}, form
        con.execute("DROP TABLE t")


def test_things_and_departments_are_generalized(con: Any) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT 20 + i % 40 AS age, i % 10 AS product, i % 2 AS quantity, i // 100 AS shop, "
        "['A', 'B'][i // 7 % 2 + 1] AS department FROM range(1000) AS r (i)"
    )
    assert {role for role, _ in proposed_roles(con, "t").values()} == {"quasi"}


def test_flag_is_never_an_identifier(con: Any) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT i % 2 AS has_email, i % 3 = 0 AS phone_ok, i % 2 AS account_verified, i % 2 AS name, "
        "i % 2 AS patient_id, 1 + i % 2 AS house_number, 20 + i % 9 AS age FROM range(1000) AS r (i)"
    )
    found_roles = {name: role for name, (role, _) in proposed_roles(con, "t").items()}
    assert [found_roles[name] for name in ("has_email", "phone_ok", "account_verified", "name")] == ["withheld"] * 4
    assert found_roles["patient_id"] in ("person", "identifier"), "two people can have the numbers 0 and 1"
    assert found_roles["house_number"] == "identifier"


VARIED = {
    "people": "i AS id, 'n' || i AS Nachname, (DATE '1950-01-01' + (i * 31 % 20000)::INTEGER) AS Geburtsdatum, "
    "['Berlin', 'Bonn', 'Ulm'][i % 3 + 1] AS Wohnort, i % 7 AS Kinderzahl, ['ledig', 'verh.'][i % 2 + 1] AS Zivilstand",
    "web": "TIMESTAMP '2024-01-01' + INTERVAL (i) MINUTE AS timestamp, '10.0.0.' || i % 200 AS ip, "
    "'/page/' || i % 30 AS path, ['GET', 'POST'][i % 2 + 1] AS method, i * 13 % 900 AS bytes, 200 AS status",
    "orders": "i // 3 AS order_id, i // 9 AS customer_id, 'P' || i % 40 AS product, i % 5 AS quantity, "
    "round((i * 7 % 400) * 1.1, 2) AS unit_price, DATE '2024-01-01' + (i % 90)::INTEGER AS order_date",
    "school": "'S' || i // 8 AS Schüler, ['Mathe', 'Deutsch'][i % 2 + 1] AS Fach, i % 6 AS Zensur, 6 + i % 9 AS Alter",
    "claims": "'C' || i AS claim_no, i // 2 AS insured_id, i * 17 % 5000 AS claim_amount, 18 + i % 60 AS age, "
    "['fire', 'water'][i % 2 + 1] AS damage, lpad((i % 50)::VARCHAR, 5, '0') AS codigo_postal",
    "sensor": "i % 5 AS sensor_id, TIMESTAMP '2024-01-01' + INTERVAL (i) SECOND AS ts, 20 + i % 17 / 10 AS temperature",
}


@pytest.mark.parametrize("name", VARIED)
def test_proposal_can_be_anonymized(con: Any, name: str) -> None:
    con.execute(f"CREATE TABLE {name} AS SELECT {VARIED[name]} FROM range(600) AS r (i)")
    statements = con.execute(f"SELECT statement FROM profile('{name}') WHERE statement IS NOT NULL").fetchall()
    for (statement,) in statements:
        con.execute(statement)
    assert con.execute(f"SELECT value >= 10 FROM kacpc_metrics('{name}', k=10) WHERE metric = 'k'").fetchall() == [
        (True,)
    ]


@pytest.mark.not_everyday
def test_proposal_for_hospital_stays_meets_k(con: Any, data_folder: Path) -> None:
    con.execute(f"CREATE TABLE stays AS FROM '{data_folder / 'diabetes130.parquet'}' WHERE hash(patient_nbr) % 30 = 0")
    for (statement,) in con.execute("SELECT statement FROM profile('stays') WHERE statement IS NOT NULL").fetchall():
        con.execute(statement)
    assert con.execute("SELECT min(persons) >= 10 FROM kacpc_classes('stays', k=10)").fetchall() == [(True,)]


@pytest.mark.parametrize("name", ["patient_id", "visit_id", "id", "order_number", "ssn"])
def test_key_with_few_duplicates_is_person(con: Any, name: str) -> None:
    """`dbanon init` declares such a key as the person, too (`test_init_and_profile_agree_about_keys`)."""
    query = "FROM profile('keys') WHERE column_name = ?"
    for n_duplicates, role in ((0, "identifier"), (3, "person")):
        con.execute(
            f"CREATE OR REPLACE TABLE keys AS SELECT 10000 + i - CASE WHEN i < {n_duplicates} THEN {n_duplicates} "
            f"ELSE 0 END + CASE WHEN i < {n_duplicates} THEN 2 * {n_duplicates} ELSE 0 END AS {name}, "
            "20 + i % 50 AS age FROM range(400) r(i)"
        )
        (found,) = con.execute(f"SELECT proposed_role {query}", [name]).fetchall()
        assert found == (role,)


def test_key_with_few_duplicates_ranks_after_repeated_key(con: Any) -> None:
    columns = "greatest(i, 1) + 10000 AS row_id, i // 4 AS person_no"
    con.execute(f"CREATE OR REPLACE TABLE keys AS SELECT {columns} FROM range(400) r(i)")
    rows = con.execute("SELECT column_name, proposed_role FROM profile('keys') ORDER BY ALL").fetchall()
    assert rows == [("person_no", "person"), ("row_id", "identifier")]
