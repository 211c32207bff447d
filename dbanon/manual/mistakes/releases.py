"""Mistakes with releases, and with files that are given out."""

from __future__ import annotations

from types import SimpleNamespace

from dbanon import errors
from dbanon.functions.example import SAFE
from dbanon.functions.registry import table_functions
from dbanon.manual.mistakes.mistake import FEW, Mistake, python, sql
from dbanon.views import statement

_VISITS = (
    FEW,
    "INSERT INTO dbanon.policy (table_name, column_name, role) VALUES ('few', 'sex', 'quasi'), "
    "('few', 'disease', 'sensitive');",
    "CREATE MATERIALIZED ANONYMIZED VIEW safe_few AS SELECT * FROM kacpc('few', k = 10);",
)
"""A release of few people, without a key."""
_CALL = "SELECT * FROM kacpc('patients', k = 10)"
_MAKE = "CREATE MATERIALIZED ANONYMIZED VIEW"
_PUBLISHING = [f.name for f in table_functions().values() if f.kind == "release"]

_RENUMBERED = SimpleNamespace(
    people=40, by_key=0, by_spelling=0, by_records=40, columns=("age", "size"), is_comparable=True
)
"""People who have other numbers now."""

MISTAKES: tuple[Mistake, ...] = (
    sql(
        errors.UnreadableStatement(statement.CREATE, "AS", "FROM", statement.FORMS[statement.CREATE]),
        f"{_MAKE} safe FROM kacpc('patients', k = 10);",
    ),
    sql(
        errors.NotOneCall("this one does not begin with SELECT * FROM or FROM", _PUBLISHING),
        f"{_MAKE} safe AS SELECT zip FROM kacpc('patients', k = 10);",
    ),
    sql(errors.UnknownRelease("refresh", "saef", ["safe"]), "REFRESH MATERIALIZED ANONYMIZED VIEW saef;", *SAFE),
    python(
        errors.UnknownVersion("safe", 7, [(1, "published")]), 'dbanon.forget_release(con, "safe", version=7)', *SAFE
    ),
    sql(
        errors.ReleaseExists("materialize", "safe", ["safe", "safe_classes", "safe_metrics"], True),
        f"{_MAKE} safe AS {_CALL};",
        *SAFE,
    ),
    sql(
        errors.ForeignRelease("materialize", "elsewhere.main.safe", "dbanon_demo"),
        f"{_MAKE} elsewhere.main.safe AS {_CALL};",
        "ATTACH ':memory:' AS elsewhere;",
    ),
    sql(
        errors.NoiseNotKept("materialize", "rka", "release = 'noise'"),
        f"{_MAKE} noisy AS SELECT * FROM rka('patients', k = 10, release = 'noise');",
    ),
    sql(
        errors.UnstableSource("safe", "sampled"),
        f"{_MAKE} safe AS SELECT * FROM kacpc('sampled', k = 5, qi = ['sex']);",
        "CREATE VIEW sampled AS FROM patients WHERE random() < 0.7;",
        "INSERT INTO dbanon.policy (table_name, column_name, role) VALUES ('sampled', 'sex', 'quasi');",
    ),
    sql(errors.OpenTransaction("materialize"), f"{_MAKE} safe AS {_CALL};", "BEGIN;"),
    Mistake(
        errors.Busy("refresh", "safe", "version 1 is not the published one any more"),
        when="It comes when two connections refresh, replace or drop one release at the same time.",
    ),
    sql(
        errors.DeltaRefused("refresh", "safe_few", 1, ["version 1"]),
        "REFRESH MATERIALIZED ANONYMIZED VIEW safe_few;",
        *_VISITS,
        "DELETE FROM few WHERE patient_number = 100007;",
    ),
    sql(
        errors.InvalidArgument("refresh", "refresh", "one of 'keep', 'hold', 'recluster'", "'hodl'"),
        "REFRESH MATERIALIZED ANONYMIZED VIEW safe WITH (refresh = 'hodl');",
        *SAFE,
    ),
    sql(
        errors.NothingLeftToErase("safe_few"),
        "REFRESH MATERIALIZED ANONYMIZED VIEW safe_few WITH (erase = true);",
        *_VISITS,
        "DELETE FROM few WHERE patient_number % 2 = 0;",
    ),
    sql(
        errors.KeepRefused("safe_few", "columns have another role: disease was sensitive and is withheld."),
        "REFRESH MATERIALIZED ANONYMIZED VIEW safe_few;",
        *_VISITS,
        "DELETE FROM dbanon.policy WHERE table_name = 'few' AND column_name = 'disease';",
    ),
    sql(
        errors.CompositionRefused("by_size", {"by_age version 1": 20}),
        f"{_MAKE} by_size WITH (composition = 'refuse') AS SELECT * FROM kacpc('people', k = 5, qi = ['size']);",
        "CREATE TABLE people (id INTEGER PRIMARY KEY, age INTEGER, size INTEGER);",
        "INSERT INTO people SELECT i, 20 + i, 150 + i * 7 % 20 FROM range(20) AS r (i);",
        f"{_MAKE} by_age AS SELECT * FROM kacpc('people', k = 5, qi = ['age']);",
    ),
    sql(
        errors.CompositionUnchecked("by_sex", None, {"safe_few version 1": None}),
        f"{_MAKE} by_sex WITH (composition = 'refuse') AS SELECT * FROM kacpc('few', k = 5);",
        *_VISITS,
    ),
    sql(
        errors.PeopleNotRecognizedError("by_size", "by_age version 1", _RENUMBERED),
        f"{_MAKE} by_size WITH (composition = 'refuse') AS FROM mondrian('staff', k = 5, qi = ['age', 'size']);",
        "CREATE TABLE staff (id INTEGER PRIMARY KEY, age INTEGER, size INTEGER);",
        "INSERT INTO staff SELECT i, 20 + i * 13 % 40, 150 + i * 7 % 20 FROM range(40) AS r (i);",
        f"{_MAKE} by_age AS SELECT * FROM kacpc('staff', k = 5, qi = ['age', 'size']);",
        "UPDATE staff SET id = id + 1000;",
    ),
    Mistake(
        errors.EarlierHashesError("release_status", "safe"),
        when="It comes for a release that an earlier version of dbanon made, until it is refreshed.",
    ),
    sql(
        errors.UnknownRelationError("others", {"safe_few": "memory.main.few is not there any more under this name"}),
        f"{_MAKE} others WITH (composition = 'refuse') AS SELECT * FROM kacpc('renamed', k = 5);",
        *_VISITS,
        "ALTER TABLE few RENAME TO renamed;",
        "UPDATE dbanon.policy SET table_name = 'renamed' WHERE table_name = 'few';",
    ),
    sql(errors.CompositionUnknown("composition", "safe_few"), "FROM composition('safe_few', 'safe_few');", *_VISITS),
    sql(
        errors.ReleaseChanged("certificate", "safe", "table safe_metrics is missing"),
        "FROM certificate('safe');",
        *SAFE,
        "DROP TABLE safe_metrics;",
    ),
    python(
        errors.ReleaseUnsealed("publish", "safe"),
        'dbanon.publish(con, "safe", "unsealed.duckdb")',
        *SAFE,
        "UPDATE dbanon.release SET hashes = NULL;",
    ),
    sql(
        errors.NotTheRelease(
            "risk", "safe", "table safe has other rows, another order or other columns than it was made with"
        ),
        "FROM risk('safe');",
        *SAFE,
        "DELETE FROM safe WHERE class_id = 1;",
    ),
    sql(
        errors.SourceGone("query_error", "safe_few", "few"),
        "FROM query_error('safe_few');",
        *_VISITS,
        "DROP TABLE few;",
    ),
    sql(
        errors.ContradictsLedger("risk", "safe_few", "source", "few", "patients"),
        "FROM risk('safe_few', source = 'patients');",
        *_VISITS,
    ),
    sql(
        errors.HierarchiesChanged("distortion", "safe"),
        "FROM distortion('safe');",
        *SAFE,
        "UPDATE dbanon.policy SET hierarchy = NULL WHERE column_name = 'zip';",
    ),
    python(
        errors.TargetExists("out.duckdb", ["out.duckdb"]),
        'dbanon.publish(con, "safe", "out.duckdb")\ndbanon.publish(con, "safe", "out.duckdb")',
        *SAFE,
    ),
    python(errors.TargetInUse("dbanon_demo.duckdb"), 'dbanon.publish(con, "safe", "dbanon_demo.duckdb")', *SAFE),
    Mistake(
        errors.DemoExists("dbanon_demo.duckdb", True),
        when="It comes when `dbanon demo` finds a file where it would make its database.",
    ),
    python(
        errors.TargetNotLocal("publish", "s3://bucket/safe.csv"),
        'dbanon.publish(con, "safe", "s3://bucket/safe.csv")',
        *SAFE,
    ),
    python(
        errors.NewerType("publish", "note", "VARIANT", "v1.5.0", "v1.0.0"),
        "with dbanon.connect() as ward:\n"
        '    ward.execute("CREATE TABLE visits AS SELECT i % 9 AS age, (i % 2)::VARIANT AS note FROM range(99) r(i)")\n'
        '    dbanon.declare(ward, "visits", age="quasi", note="other")\n'
        '    dbanon.materialize(ward, "safe_visits", "kacpc", "visits", k=10)\n'
        '    dbanon.publish(ward, "safe_visits", "visits.duckdb")',
    ),
    Mistake(
        errors.NotWritten("out.duckdb", "the disk is full"),
        when="It comes when the disk is full, or the folder cannot be written.",
    ),
    Mistake(
        errors.OutputDiffersError("publish", "out.csv", "it has 600 rows, and the release has 300"),
        when="It comes when a file, table or DataFrame that was written does not contain the released rows.",
    ),
)
