"""Mistakes with related tables."""

from __future__ import annotations

from dbanon import errors
from dbanon.manual.mistakes.mistake import Mistake, sql
from dbanon.release.related import parameters

_TABLES = (
    "CREATE TABLE people AS SELECT patient_number, sex FROM patients WHERE patient_number <= 100200;",
    "CREATE TABLE visits AS SELECT patient_number, zip, disease FROM people JOIN patients USING (patient_number);",
    "INSERT INTO dbanon.policy (table_name, column_name, role) VALUES ('people', 'patient_number', 'person'), "
    "('people', 'sex', 'quasi'), ('visits', 'patient_number', 'person'), ('visits', 'zip', 'quasi');",
)
"""Two hundred people with one visit each, and their policy."""
_CALL = "FROM kacpc('visits', k = 10, entity = 'people', key = 'patient_number');"
_RELATION = (
    "INSERT INTO dbanon.relation (table_name, entity_name, key) VALUES ('visits', 'people', ['patient_number']);"
)
_KEY = ("patient_number",)

MISTAKES: tuple[Mistake, ...] = (
    sql(
        errors.OneTableOnly("kacpc", "qi", *parameters.POLICY),
        "FROM kacpc('visits', k = 10, qi = ['zip'], entity = 'people', key = 'patient_number');",
        *_TABLES,
    ),
    sql(
        errors.SamePeople("visits_again", ["safe"], False),
        "CREATE MATERIALIZED ANONYMIZED VIEW visits_again AS SELECT * FROM kacpc('visits', k = 10);",
        *_TABLES,
        "CREATE MATERIALIZED ANONYMIZED VIEW safe AS SELECT * "
        "FROM kacpc('people', k = 10, children = 'visits', key = 'patient_number');",
    ),
    sql(
        errors.OtherRelation("kacpc", "visits", "people", "'patient_number'"),
        "FROM kacpc('visits', k = 10, entity = 'people', key = {'patient_number': 'sex'});",
        *_TABLES,
        _RELATION,
    ),
    sql(
        errors.TwoRelations("kacpc", "visits", "people"),
        "FROM kacpc('visits', k = 10, entity = 'people');",
        *_TABLES,
        _RELATION,
        _RELATION.replace("'visits'", "'main.visits'").replace("['patient_number']", "['zip']"),
    ),
    sql(
        errors.RelationRole("visits", "zip", "quasi"),
        "SELECT problem FROM policy_problems() WHERE column_name = 'zip';",
        *_TABLES,
        _RELATION.replace("['patient_number']", "['patient_number', 'zip']"),
        "ALTER TABLE people ADD COLUMN zip VARCHAR DEFAULT '02138';",
    ),
    sql(
        errors.KeyTypes("kacpc", "visits.zip", "VARCHAR", "people", "patient_number", "BIGINT"),
        "FROM kacpc('visits', k = 10, entity = 'people', key = {'zip': 'patient_number'});",
        *_TABLES,
        "UPDATE dbanon.policy SET role = 'quasi' WHERE table_name = 'visits' AND column_name = 'patient_number';",
        "DELETE FROM dbanon.policy WHERE table_name = 'visits' AND column_name = 'zip';",
    ),
    sql(
        errors.KeyRole(
            "kacpc",
            "people",
            "sex",
            "the policy lets it out, and a key leaves as a pseudonym",
            "declare it person or identifier",
        ),
        "FROM kacpc('visits', k = 10, entity = 'people', key = {'patient_number': 'sex'});",
        *_TABLES,
    ),
    sql(
        errors.RowsTellApart("kacpc", "visits", "disease"),
        _CALL,
        *_TABLES,
        "INSERT INTO dbanon.policy (table_name, column_name, role) VALUES ('visits', 'disease', 'other');",
    ),
    sql(
        errors.MissingKeys("kacpc", "people", _KEY, 1),
        _CALL,
        *_TABLES,
        "INSERT INTO people VALUES (NULL, 'F');",
    ),
    sql(
        errors.RepeatedKeys("kacpc", "people", _KEY, 1),
        _CALL,
        *_TABLES,
        "INSERT INTO people FROM people LIMIT 1;",
    ),
    sql(
        errors.Orphans("kacpc", "visits", "people", _KEY, 1),
        _CALL,
        *_TABLES,
        "INSERT INTO visits VALUES (1, '02138', 'Asthma');",
    ),
)
