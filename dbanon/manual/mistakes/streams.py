"""Mistakes with streaming views and pipes."""

from __future__ import annotations

from dbanon import errors
from dbanon.manual.mistakes.mistake import FEW, Mistake, sql

_CALL = "fads('few', k = 5, delta = 50, order_by = 'patient_number', qi = ['sex', 'zip'], sensitive = ['disease'])"
_GROWS = (FEW, f"CREATE STREAMING ANONYMIZED VIEW visits AS SELECT * FROM {_CALL};")
_REFRESH = "REFRESH STREAMING ANONYMIZED VIEW visits;"

MISTAKES: tuple[Mistake, ...] = (
    sql(errors.IsStream("choose", "fads"), "FROM choose('patients', k = [10], algorithms = ['kacpc', 'fads']);"),
    Mistake(
        errors.NodeGone("fads", "Boston"),
        when="It comes where a hierarchy was loaded anew without a node that classes which may be published again, or "
        "records that wait, stand at.",
    ),
    sql(
        errors.NotAppended("visits", '"main"."few"', "lost or moved 1 rows"),
        _REFRESH,
        *_GROWS,
        "DELETE FROM few WHERE patient_number = 100007;",
    ),
    sql(
        errors.NoTableToGrow("visits", "some_of_them", "is no table of a DuckDB database"),
        f"CREATE STREAMING ANONYMIZED VIEW visits AS SELECT * FROM {_CALL.replace('few', 'some_of_them')};",
        FEW,
        "CREATE VIEW some_of_them AS FROM few;",
    ),
    sql(
        errors.PrunedWithoutOrderError(
            "visits",
            '"main"."few"',
            ["patient_number"],
            "1 records were added whose order_by is not after that of a record read earlier",
        ),
        "REFRESH STREAMING ANONYMIZED VIEW visits WITH (pruned = true);",
        *_GROWS,
        "INSERT INTO few SELECT * REPLACE (100000 AS patient_number) FROM few LIMIT 1;",
    ),
    sql(
        errors.RareInStream("visits", "few", ["occupation"]),
        f"CREATE STREAMING ANONYMIZED VIEW visits AS SELECT * FROM {_CALL[:-1]}, other = ['occupation']);",
        FEW,
    ),
    sql(
        errors.StreamBeside("safe_few", ["visits"]),
        "CREATE MATERIALIZED ANONYMIZED VIEW safe_few WITH (composition = 'refuse') AS "
        "SELECT * FROM kacpc('few', k = 5, qi = ['sex']);",
        *_GROWS,
    ),
    sql(
        errors.StreamRefusedError("arrivals", ["safe_few version 1"]),
        "CREATE STREAMING ANONYMIZED VIEW arrivals AS "
        "SELECT * FROM fads('few', k = 5, delta = 50, order_by = 'patient_number');",
        FEW,
        "INSERT INTO dbanon.policy (table_name, column_name, role) VALUES ('few', 'sex', 'quasi');",
        "CREATE MATERIALIZED ANONYMIZED VIEW safe_few WITH (composition = 'refuse') AS "
        "SELECT * FROM kacpc('few', k = 5, qi = ['sex']);",
    ),
    sql(
        errors.StreamChanged("visits", ["sex was quasi and is withheld"]),
        _REFRESH,
        FEW,
        "INSERT INTO dbanon.policy (table_name, column_name, role) VALUES ('few', 'sex', 'quasi'), "
        "('few', 'zip', 'quasi');",
        "CREATE STREAMING ANONYMIZED VIEW visits AS "
        "SELECT * FROM fads('few', k = 5, delta = 50, order_by = 'patient_number');",
        "DELETE FROM dbanon.policy WHERE (table_name, column_name) = ('few', 'sex');",
    ),
    sql(
        errors.UnknownStream("refresh_stream", "vists", ["visits"]), "REFRESH STREAMING ANONYMIZED VIEW vists;", *_GROWS
    ),
    Mistake(
        errors.UnreadableLines("ndjson", 101, {"age": "int64", "city": "string"}),
        when="It comes from `dbanon stream --from` where lines are no NDJSON or CSV, or where a column has values "
        "unlike those of the first lines: `30.5` where these had whole numbers.",
    ),
)
