"""Columns that identify people are never proposed for publication, whatever else their names suggest."""

from __future__ import annotations

from typing import Any

import pytest
from click.testing import CliRunner

import dbanon
from dbanon.cli import main
from dbanon.policy.column_names import hints
from dbanon.policy.profiling.suggestions import suggest_settings
from dbanon.source import catalog
from dbanon.sqltext.quote import identifier
from tests.policy.profiling.test_profile import profile_rows, roles

PUBLISHED = {"quasi", "sensitive", "insensitive"}

IDENTIFIERS = (
    "insurance_number", "health_plan_number", "plan_id", "insurance_id", "household_id", "employer_id", "school_id",
    "job_id", "city_id", "location_id", "agent_id", "birth_certificate_number", "death_certificate_no",
    "company_tax_number", "insuranceNo", "InsuranceID", "planNo", "planno", "householdid", "HouseholdNr", "birthcertno",
    "schoolKey", "salary_no", "payment_id", "claimNumber", "claim_no", "loan_number", "hospital_id", "product_key",
    "policy #", "insurance no.", "death_cert_nbr", "county_ref", "age_id", "sex_uuid", "zip_id", "race_serial_number",
    "Versicherungsnummer", "VersicherungsNr", "Haushaltsnummer", "Schulnummer", "Krankenkassen-Nr.", "Tarifnummer",
    "Geburtsurkundennummer", "Wohnort_Schlüssel", "Kreditnummer", "Gehaltsnummer",
    "numéro d'assurance", "numero_assurance", "no_police", "identifiant du foyer", "matricule employeur",
    "numero_seguro", "nº de póliza", "clave_empleador", "número do plano", "numero_hogar", "chave_cidade",
    "numero polizza", "matricola scuola", "chiave comune", "polisnummer", "verzekeringsnummer", "schoolnr",
    "numer polisy", "klucz_miasto", "nr zawodu", "försäkringsnummer", "skolenummer", "kommun_nr", "номер полиса",
    "номер школы", "ключ города", "номер страховки", "sigorta numarası", "meslek_no", "nomor_asuransi", "no_polis",
    "cislo pojistky", "numar asigurare", "保单号", "职业编号", "城市编号", "保険番号", "職業番号", "보험번호",
    "직업번호",
    "رقم التأمين", "رقم المدينة", "शहर संख्या", "患者ID", "城市ID",
)  # fmt: skip

TRAITS = (
    "insurance", "household", "plan", "employer", "school", "city", "birth", "death", "job", "salary", "wage",
    "hospital", "product", "unit_price", "Versicherung", "Gehalt", "Wohnort", "assurance", "salario", "ciudad",
    "职业", "城市", "収入", "region", "weight", "height", "claim", "payment", "icd", "tenure", "lon", "lat", "branch",
)  # fmt: skip

UNIQUE = {
    "sequence": "i", "numbers": "800000000 + i * 17", "padded": "lpad((i * 37)::VARCHAR, 9, '0')", "uuid": "uuid()",
    "uuid text": "uuid()::VARCHAR", "decimals": "(hash(i) % 1000000007) / 997.0", "prefixed": "'M-' || (100000 + i)",
    "nearly": "800000000 + greatest(i, 10) * 17", "decimal type": "(i * 7.25)::DECIMAL(12, 2)",
    "clock": "TIME '00:00:00' + INTERVAL (i * 97) SECOND",
}  # fmt: skip

REPEATED = {
    "families": "800000000 + i // 2 * 17", "few": "1 + i % 40", "five": "i % 5", "texts": "'M' || i // 3",
    "padded": "lpad((i // 4)::VARCHAR, 6, '0')",
}  # fmt: skip


def table(con: Any, names: tuple[str, ...], value: str, rows: int = 400) -> None:
    columns = ", ".join(f"{value} AS {identifier(name)}" for name in names)
    con.execute(f"CREATE OR REPLACE TABLE t AS SELECT {columns} FROM range({rows}) AS r (i)")


@pytest.mark.parametrize("shape", [*UNIQUE, *(f"repeated {shape}" for shape in REPEATED)])
def test_column_with_id_word_in_name_is_withheld(con: Any, shape: str) -> None:
    table(con, IDENTIFIERS, UNIQUE.get(shape) or REPEATED[shape.removeprefix("repeated ")])
    published_roles = {name: role for name, role in roles(con).items() if role in PUBLISHED}
    if shape == "repeated five":  # such numbers may be codes of a list, like `admission_type_id`, or counts
        published_roles = {n: r for n, r in published_roles.items() if r != "quasi" or not _may_be_code(n)}
    assert published_roles == {}


def _may_be_code(name: str) -> bool:
    """Return whether the name says a trait whose few values are no keys: a quasi-identifier, a category or a count."""
    found_hints = hints.hints_from_name(name)
    is_trait = found_hints.quasi is not None and found_hints.subject is None and found_hints.sensitive is None
    return is_trait or found_hints.category is not None or found_hints.count is not None


@pytest.mark.parametrize("shape", UNIQUE)
def test_nearly_unique_columns_withheld_by_any_name(con: Any, shape: str) -> None:
    table(con, TRAITS, UNIQUE[shape])
    assert {name: role for name, role in roles(con).items() if role in PUBLISHED} == {}


@pytest.mark.parametrize("name", ["plan", "insurance", "salary", "employer", "height", "wage"])
def test_column_with_value_per_person_is_withheld(con: Any, name: str) -> None:
    con.execute(
        f"CREATE TABLE t AS SELECT i // 10 AS patient_id, i AS visit_no, 800000000 + i // 10 * 17 AS {name}, "
        "20 + i // 10 % 30 AS age FROM range(1000) AS r (i)"
    )
    actual_roles = roles(con)
    assert (actual_roles["patient_id"], actual_roles["age"]) == ("person", "quasi")
    assert actual_roles[name] not in PUBLISHED


CONTROLS = {
    "zip": ("(10000 + i * 37 % 900)::VARCHAR", "quasi"), "postcode": ("10000 + i % 91", "quasi"),
    "zipcode": ("lpad((i * 37)::VARCHAR, 5, '0')", "quasi"), "Postnummer": ("1000 + i % 89", "quasi"),
    "郵便番号": ("1000 + i % 83", "quasi"), "codigo_postal": ("1000 + i % 87", "quasi"),
    "house number": ("i % 80", "identifier"), "number_of_children": ("i % 5", "quasi"),
    "num_children": ("i % 7", "quasi"), "no of dependents": ("i % 4", "quasi"), "numero de hijos": ("i % 6", "quasi"),
    "number_diagnoses": ("1 + i % 9", "sensitive"), "Kinderzahl": ("i % 6", "quasi"),
    "icd_code": ("['A00', 'B20', 'C34', 'E11'][i % 4 + 1]", "sensitive"), "age": ("20 + i % 70", "quasi"),
    "birth_date": ("DATE '1940-01-01' + (i * 37)::INTEGER", "quasi"), "birth_year": ("1940 + i % 61", "quasi"),
    "income": ("10000 + i % 60 * 500", "sensitive"), "Geschlecht": ("['m', 'w'][i % 2 + 1]", "quasi"),
    "admission_type_id": ("1 + i % 8", "quasi"), "job": ("['nurse', 'teacher', 'cook'][i % 3 + 1]", "quasi"),
    "hospital": ("['North', 'South'][i % 2 + 1]", "quasi"),
    "policy_start_date": ("DATE '2020-01-01' + (i % 97)::INTEGER", "quasi"),
    "marital_status": ("['single', 'married'][i % 2 + 1]", "quasi"), "thyroid": ("i % 3", "withheld"),
    "calendar": ("i % 3", "withheld"), "learning_style": ("i % 3", "withheld"), "balloon": ("i % 3", "withheld"),
}  # fmt: skip


def test_ordinary_columns_keep_proposed_role(con: Any) -> None:
    columns = ", ".join(f"({value}) AS {identifier(name)}" for name, (value, _) in CONTROLS.items())
    con.execute(f"CREATE TABLE t AS SELECT {columns} FROM range(400) AS r (i)")
    assert roles(con) == {name: role for name, (_, role) in CONTROLS.items()}


def test_unique_ages_of_small_table_proposed_as_quasi(con: Any) -> None:
    con.execute("CREATE TABLE t AS SELECT 20 + i AS age, ['F', 'M'][i % 2 + 1] AS sex FROM range(30) AS r (i)")
    assert roles(con)["age"] == "quasi"


POSITIONS = (
    "lat", "lon", "lng", "pickup_lat", "dropoffLongitude", "latitude", "geo_long", "hospital_lat", "payment_lon",
    "Breitengrad", "Längengrad", "coordonnées", "latitud", "longitudine", "breedtegraad", "szerokość geograficzna",
    "breddgrad", "широта", "долгота", "enlem", "boylam", "lintang", "纬度", "経度", "위도", "अक्षांश", "GPS", "geohash",
    "UTM_Easting",
)  # fmt: skip


@pytest.mark.parametrize(
    ("value", "allowed_roles"),
    [
        ("52.5 + (i % 40) / 100", {"quasi", "identifier"}),
        ("52.51234 + (i % 40) / 1000", {"identifier"}),
        ("13.4 + i / 1000", {"identifier"}),
        ("389912 + (i % 40) * 13", {"identifier", "sensitive"}),
        ("'52.51' || (100 + i % 40)", {"identifier", "withheld"}),
        ("'52.51' || (100 + i % 40) || ', 13.40' || (100 + i % 40)", {"identifier"}),
        ("'u33db' || i % 40", {"identifier", "withheld"}),
    ],
)
def test_geographic_positions_proposed_only_allowed_roles(con: Any, value: str, allowed_roles: set[str]) -> None:
    table(con, POSITIONS, value)
    actual_roles = roles(con)
    allowed_roles = allowed_roles | {"withheld"}  # columns of the same content, which all but the first are
    assert {n: r for n, r in actual_roles.items() if r not in allowed_roles} == {}
    unchanged = {name for name, role in actual_roles.items() if role in ("sensitive", "insensitive")}
    assert unchanged <= {"payment_lon", "lon"} and (not unchanged or value.startswith("389912"))


@pytest.mark.parametrize(
    ("value", "role"),
    [
        ("20000 + i % 40 * 500", "sensitive"), ("13.4 + (i % 40) / 100", "quasi"), ("100 + i % 40", "withheld"),
        ("13.4012 + (i % 40) / 1000", "identifier"), ("'a' || i % 3", "withheld"),
    ],
)  # fmt: skip
def test_lon_column_role_depends_on_values(con: Any, value: str, role: str) -> None:
    for name in ("lon", "Lön"):
        table(con, (name,), value)
        assert roles(con) == {name: role}


def test_position_columns_of_empty_table_not_proposed(con: Any) -> None:
    con.execute("CREATE TABLE t (lon DOUBLE, lat DOUBLE, latitude VARCHAR, insurance_number BIGINT)")
    assert set(roles(con).values()) <= {"withheld", "identifier"}


def test_init_policy_publishes_no_personal_number(tmp_path: Any) -> None:
    path = tmp_path / "insured.duckdb"
    with dbanon.connect(path) as con:
        con.execute(
            "CREATE TABLE insured AS SELECT 20 + i % 50 AS age, 800000000 + i * 17 AS insurance_number, "
            "500000000 + i * 13 AS plan, ['F', 'M'][i % 2 + 1] AS sex FROM range(800) AS r (i)"
        )
    outcome = CliRunner().invoke(main, ["init", str(path), "insured", "--yes"])
    assert outcome.exit_code == 0, outcome.output
    with dbanon.connect(path) as con:
        released_text = str(con.execute("FROM kacpc('insured', k=10)").fetchall())
        tops = con.execute("SELECT * FROM dbanon.policy WHERE top IS NOT NULL").fetchall()
    assert not [
        n for n in range(800) if str(800000000 + n * 17) in released_text or str(500000000 + n * 13) in released_text
    ]
    assert tops == []


def test_withheld_reason_names_word_and_uniqueness(con: Any) -> None:
    table(con, ("insurance_number", "plan"), UNIQUE["numbers"])
    result = profile_rows(con)
    assert "its name says number, and nearly every record" in result["insurance_number"]["reason"]
    assert "its name says plan, but nearly every record" in result["plan"]["reason"]


@pytest.mark.parametrize(
    ("value", "top"),
    [
        ("800000000 + i * 17", None),
        ("i * 3.7", None),
        ("i // 2 * 17", "6600"),
        ("i // 4", "190"),
        ("20 + i // 10", "95"),
    ],
)
def test_suggested_top_is_round_and_shared(con: Any, value: str, top: str | None) -> None:
    con.execute(f"CREATE TABLE t AS SELECT {value} AS x, i AS pid FROM range(800) AS r (i)")
    source = catalog.resolve_source(
        "init", "t", con.cursor(), catalog.SearchPath.from_connection(con), {}, is_declaring=True
    )
    assert suggest_settings(con, source, "x", None, 12, ()).top == top
