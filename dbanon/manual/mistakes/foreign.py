"""Mistakes with sources in other databases, which an example could only make where those are."""

from __future__ import annotations

from dbanon import errors
from dbanon.manual.mistakes.mistake import Mistake, sql

_SOURCE = "It comes from a call whose source is in another system, "
_MYSQL = "It comes from a call whose source is in MySQL or MariaDB, "
_SHOWN = "It comes from a materialized anonymized view that is shown in PostgreSQL, "
_KNOWN = ("postgres:7411264587391234567/16384", "postgres:7411264587391234567/5")

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        errors.NoScanner("load_extension", "postgres", "1.5.5", "it is not installed"),
        when="It comes from `dbanon.load_extension` where DuckDB's extension is missing, or is made for another "
        "version of DuckDB than the one that is installed.",
    ),
    Mistake(
        errors.UnknownDatabase("kacpc", "pg", "clinic", '"clinic"."dbanon"."foreign_database"'),
        when=_SOURCE + "where rows of `dbanon.policy` name its database, and `dbanon.foreign_database` does not say "
        "which one that is. `dbanon.declare` writes both.",
    ),
    Mistake(
        errors.DatabaseAway("kacpc", "pg.public.patients", "pg"),
        when=_SOURCE + "where the database is not attached. `dbanon.foreign_database` says which one it is.",
    ),
    Mistake(
        errors.OtherDatabase("kacpc", "pg", "clinic", *_KNOWN),
        when=_SOURCE + "where another database is attached by the name that the policy has for one.",
    ),
    Mistake(
        errors.NoIdentity("kacpc", "passing", "sqlite", "it is in memory"),
        when=_SOURCE + "where that is in memory, or where a role may not ask which server it is on.",
    ),
    Mistake(
        errors.PolicyInSeveral("kacpc", '"pg"."public"."patients"', ["clinic", "second"]),
        when=_SOURCE + "where two of the attached DuckDB databases have rows about it.",
    ),
    Mistake(
        errors.NoPolicyPlace("kacpc", '"pg"."public"."patients"', ["clinic", "second"]),
        when=_SOURCE
        + "in a session that uses that database (`USE pg`), where several DuckDB databases are attached and "
        "none has rows about it.",
    ),
    Mistake(
        errors.AlikeNames("kacpc", ['"pg"."public"."Patients"', '"pg"."public"."patients"']),
        when=_SOURCE + "where another table there has the same name but for capitals.",
    ),
    Mistake(
        errors.ManyThreads("ward.patients"),
        when="It comes from a call whose source is in SQLite, where DuckDB would read that on several threads.",
    ),
    Mistake(
        errors.PushedDown("my.clinic.patients", ["mysql_aggregate_pushdown_enabled"]),
        when=_MYSQL + "also under a view, where DuckDB would not filter, count and sort itself. "
        "`dbanon.load_extension(con, 'mysql')` sees to it.",
    ),
    Mistake(
        errors.ReadUncommitted("kacpc", "my.clinic.patients", "my"),
        when=_MYSQL + "where the server shows what others have not committed.",
    ),
    Mistake(
        errors.NoSchemaNamed("kacpc", "clinic", "my.patients", "my.clinic.patients"),
        when=_MYSQL + "where a row of the policy names the server and the table, and not the database between them.",
    ),
    Mistake(
        errors.UnsafeName("kacpc", '"my"."clinic"."odd"', ["a`b"]),
        when=_MYSQL + "where the table or one of its columns has such a name.",
    ),
    Mistake(
        errors.NotSeenYet("kacpc", '"my"."clinic"."later"'),
        when=_MYSQL + "where the table was made after it was attached and read.",
    ),
    Mistake(
        errors.NotAttached("pg", "postgres", "IO Error: Unable to connect to Postgres"),
        when="It comes from a command with `--attach` whose database is not there, or does not let the user in.",
    ),
    sql(errors.NotPostgres("policy_from_labels", "patients"), "FROM policy_from_labels('patients');"),
    Mistake(
        errors.TargetRefused(
            "materialize",
            '"pg"."public"."safe"',
            "safe is there, and dbanon did not put it there for this release",
            "choose another name, or drop it in PostgreSQL",
        ),
        when=_SHOWN + "where a table of that name is there already, where the role may make none, where "
        "`READ_ONLY` was said when it was attached, or where PostgreSQL cannot have a name or a value.",
    ),
    Mistake(
        errors.OtherTarget(
            "refresh",
            "safe",
            f'"public"."safe" in {_KNOWN[0]}',
            f"pg is {_KNOWN[1]}",
            "attach the other one, and write the name that it then has",
        ),
        when=_SHOWN + "where the database that has the tables is not attached, or another one by its name.",
    ),
    Mistake(
        errors.NotDelivered(
            "refresh",
            "safe version 2",
            f'"public"."safe" in {_KNOWN[0]}',
            "permission denied for table safe",
        ),
        when=_SHOWN + "where PostgreSQL did not take the tables after the version was made and recorded.",
    ),
)
