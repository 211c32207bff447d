"""Materialized anonymized views, their statements and their files."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from dbanon.errors.base import DbanonError, RefusedError, listed, near
from dbanon.errors.example import FEW, SAFE, Example, Situation
from dbanon.sqltext.quote import text

_CALL = "SELECT * FROM kacpc('patients', k = 10)"

_VISITS = (
    FEW,
    "INSERT INTO dbanon.policy (table_name, column_name, role) VALUES ('few', 'sex', 'quasi'), "
    "('few', 'disease', 'sensitive');",
    "CREATE MATERIALIZED ANONYMIZED VIEW safe_few AS SELECT * FROM kacpc('few', k = 10);",
)
"""A release of few people, without a key."""

_MAKE = "CREATE MATERIALIZED ANONYMIZED VIEW"


class UnreadableStatementError(DbanonError):
    """A statement about a materialized anonymized view with a word in the wrong place."""

    example = Example(f"{_MAKE} safe FROM kacpc('patients', k = 10);")

    def __init__(self, statement: str, expected: str, got: str | None, form: str) -> None:
        shown = "the end" if got is None else got
        super().__init__(f"{statement}: expected {expected}, got {shown}. Accepted: {form}.")


class NotASingleCallError(DbanonError):
    """An anonymized view over another query than one call."""

    example = Example(f"{_MAKE} safe AS SELECT zip FROM kacpc('patients', k = 10);")

    def __init__(
        self, why: str, functions: Iterable[str], statement: str = "CREATE MATERIALIZED ANONYMIZED VIEW"
    ) -> None:
        end = "" if why.endswith("?") else "."
        super().__init__(
            f"{statement}: the query must be one call and nothing else, SELECT * FROM "
            f"f('table', k = 10, ...) or FROM f(...), where f is {' or '.join(functions)}; {why}{end} "
            "Hint: to publish a part of a table, CREATE VIEW that part and name the view; choose from the result once "
            "it is made."
        )


class UnknownReleaseError(DbanonError):
    """No published release of that name."""

    example = Example("REFRESH MATERIALIZED ANONYMIZED VIEW saef;", SAFE)

    def __init__(
        self, function: str, name: str, known: Iterable[str], grows: bool = False, is_several: bool = False
    ) -> None:
        hint = near(name, known)
        if is_several:
            hint = (
                f" Hint: {name} is a release of several tables, which has one version and is made anew after DROP "
                f"MATERIALIZED ANONYMIZED VIEW {name} and, when no reader has it any more, forget_release; COPY each "
                "of its tables TO a file to hand them on."
            )
        if grows:
            hint = (
                f" Hint: {name} is a streaming view, which has no versions: REFRESH STREAMING ANONYMIZED VIEW {name}, "
                f"DROP STREAMING ANONYMIZED VIEW {name}, FROM stream_status(), and COPY {name} TO a file to hand it on."
            )
        super().__init__(f"{function}: there is no published release {name}.{hint}")


class UnknownVersionError(DbanonError):
    """A version that the ledger does not have, or that is published."""

    example = Example('dbanon.forget_release(con, "safe", version=7)', SAFE, "python")

    def __init__(
        self, name: str, version: int, versions: Iterable[tuple[int, str]], function: str = "forget_release"
    ) -> None:
        have = ", ".join(f"{number} ({status})" for number, status in versions)
        forgets = function == "forget_release"
        super().__init__(
            f"{function}: {name} has no version {version}{' that can be forgotten' * forgets}; it has {have}. Hint: "
            + ("drop a published release first." if forgets else "FROM releases() lists the versions.")
        )


class ReleaseExistsError(DbanonError):
    """Tables that a release would overwrite."""

    example = Example(f"{_MAKE} safe AS {_CALL};", SAFE)

    def __init__(
        self,
        function: str,
        name: str,
        tables: Iterable[str],
        is_release: bool,
        grows: bool = False,
        is_several: bool = False,
    ) -> None:
        hint = (
            f"a release of several tables has one version: DROP MATERIALIZED ANONYMIZED VIEW {name} first."
            if is_several
            else "refresh it; replace = True (CREATE OR REPLACE) makes the next version with another definition."
            if is_release
            else f"REFRESH STREAMING ANONYMIZED VIEW {name} reads it on; DROP STREAMING ANONYMIZED VIEW {name} ends it."
            if grows
            else "choose another name; these are not tables of a release."
        )
        super().__init__(f"{function}: {', '.join(tables)} exists already. Hint: {hint}")
        self.published = is_release


class ReleaseOutsideSourceDatabaseError(DbanonError):
    """A release beside another database than its source's."""

    message = (
        "{function}: {name} would stand outside of {database}, where its source is, or the policy of that. "
        "Hint: materialize it there and give the result out with dbanon publish; to put it into another attached "
        "database, CREATE TABLE {name} AS FROM the release."
    )
    example = Example(f"{_MAKE} elsewhere.main.safe AS {_CALL};", ("ATTACH ':memory:' AS elsewhere;",))


class UnstableSourceError(DbanonError):
    """A source that is another table each time it is read, or is gone with the connection."""

    example = Example(
        f"{_MAKE} safe AS SELECT * FROM kacpc('sampled', k = 5, qi = ['sex']);",
        (
            "CREATE VIEW sampled AS FROM patients WHERE random() < 0.7;",
            "INSERT INTO dbanon.policy (table_name, column_name, role) VALUES ('sampled', 'sex', 'quasi');",
        ),
    )

    def __init__(self, name: str, source: str, function: str = "materialize") -> None:
        super().__init__(
            f"{function}: {source} gave other rows while {name} was made, or is temporary. Nothing was changed. "
            "Hint: make a table of it first."
        )


class OpenTransactionError(DbanonError):
    """Work that has a transaction of its own, asked for inside one."""

    message = "{function}: a transaction is open on this connection. Hint: COMMIT or ROLLBACK it first."
    example = Example(f"{_MAKE} safe AS {_CALL};", ("BEGIN;",))


class NoiseNotMaterializableError(RefusedError):
    """A materialized anonymized view of noise."""

    words = r"cannot be kept\. Each refresh would draw other noise"
    message = (
        "{function}: a release with {asked} cannot be kept. Each refresh would draw other noise for the same people, "
        "which a reader of several versions averages out, and its rows are no classes that the ledger could compare. "
        "Hint: publish it once, CREATE TABLE ... AS SELECT * FROM {call}(...)."
    )
    example = Example(f"{_MAKE} noisy AS SELECT * FROM rka('patients', k = 10, release = 'noise');")


class LedgerBusyError(DbanonError):
    """Two connections change one release at once."""

    outcome = "busy"
    message = (
        "{function}: {name} cannot be changed while another connection works on releases ({why}). Nothing was "
        "changed. Hint: look at FROM releases() and try again."
    )
    example = Situation(
        "It comes when two connections refresh, replace or drop one release at the same time.",
        ("refresh", "safe", "version 1 is not the published one any more"),
    )


class SmallDifferencesRefusedError(RefusedError):
    """Versions whose difference shows too few people."""

    words = "could subtract them"
    example = Example(
        "REFRESH MATERIALIZED ANONYMIZED VIEW safe_few;", (*_VISITS, "DELETE FROM few WHERE patient_number = 100007;")
    )

    def __init__(self, function: str, name: str, sets: int, beside: Sequence[str]) -> None:
        kept = "The old version stays" if function == "refresh" else "Nothing was changed"
        super().__init__(
            f"{function}: {sets} sets of records of {name} would come or go that are too few records (persons), or "
            f"miss the model, by themselves: who also has {', '.join(beside)} could subtract them. {kept}. "
            f"Hint: FROM delta_problems({text(name)}) shows those beside the published version where classes are kept; "
            "wait for more records (with refresh = 'hold' those that came do), cluster anew with refresh = 'recluster' "
            "where classes are what differs (whoever has both versions can then intersect them), honour an erasure "
            "with erase = true (the classes of those who went go whole), or publish anyway with allow_delta = true, "
            "which the ledger records."
        )


class ErasureEmptiesReleaseError(RefusedError):
    """An erasure that leaves no class of a release."""

    message = (
        "refresh: somebody has left every class of {name}, and nothing would be left with erase = true. "
        "The old version stays. Hint: drop it, which takes its tables away."
    )
    example = Example(
        "REFRESH MATERIALIZED ANONYMIZED VIEW safe_few WITH (erase = true);",
        (*_VISITS, "DELETE FROM few WHERE patient_number % 2 = 0;"),
    )


class CannotKeepClassesError(RefusedError):
    """Classes that cannot be kept."""

    words = ": the classes of .* cannot be kept: "
    message = (
        "refresh: the classes of {name} cannot be kept: {why} The old version stays. Hint: wait for more records "
        "(with refresh = 'hold' those that came do), or cluster anew with refresh = 'recluster' (whoever has both "
        "versions can then intersect their classes)."
    )
    example = Example(
        "REFRESH MATERIALIZED ANONYMIZED VIEW safe_few;",
        (*_VISITS, "DELETE FROM dbanon.policy WHERE table_name = 'few' AND column_name = 'disease';"),
    )


class CompositionRefusedError(RefusedError):
    """Releases that together narrow people below k or l, or tell too few of them apart."""

    words = "candidate sets fall below k or l"
    example = Example(
        f"{_MAKE} by_size WITH (composition = 'refuse') AS SELECT * FROM kacpc('people', k = 5, qi = ['size']);",
        (
            "CREATE TABLE people (id INTEGER PRIMARY KEY, age INTEGER, size INTEGER);",
            "INSERT INTO people SELECT i, 20 + i, 150 + i * 7 % 20 FROM range(20) AS r (i);",
            f"{_MAKE} by_age AS SELECT * FROM kacpc('people', k = 5, qi = ['age']);",
        ),
    )

    def __init__(self, name: str, people: Mapping[str, int]) -> None:
        counts = ", ".join(f"{count} with {other}" for other, count in people.items())
        super().__init__(
            f"{name}: beside other releases of the same people, candidate sets fall below k or l, or sets of so few "
            f"can be subtracted: people {counts}. Hint: FROM composition(...) lists them two versions at a time, where "
            "both were made; publish one of the releases only."
        )


class LinkedVersionsNotAnonymousError(RefusedError):
    """A version with the pseudonyms of others, by which people can be followed to sets of too few."""

    words = "by the same pseudonyms readers follow people through"
    message = (
        "{release}: by the same pseudonyms readers follow people through {others:list} and this version, and {why}. "
        "Nothing was changed. Hint: keep classes (refresh = 'keep', or 'hold' where too few came), publish under "
        "another name, whose pseudonyms are others, or withhold the pseudonym."
    )
    example = Situation(
        "It comes where a refresh would let readers follow people by their pseudonyms to sets of too few.",
        ("safe", ["safe version 1"], "12 persons miss k then"),
    )


class CompositionUncheckedError(RefusedError):
    """composition = 'refuse' where it cannot be known who is in two releases."""

    words = "composition = 'refuse', but nobody knows"
    example = Example(f"{_MAKE} by_sex WITH (composition = 'refuse') AS SELECT * FROM kacpc('few', k = 5);", _VISITS)

    def __init__(self, name: str, key: Sequence[str] | None, others: Mapping[str, Sequence[str] | None]) -> None:
        def told(of: Sequence[str] | None) -> str:
            return f"told apart by {', '.join(of)}" if of else "not told apart"

        shown = ", ".join(f"{other} ({told(of)})" for other, of in others.items())
        super().__init__(
            f"{name}: composition = 'refuse', but nobody knows who is in it ({told(key)}) and in {shown}. "
            "Hint: declare the column that tells people apart with role person, or name it as key (KEY in SQL), the "
            "same in each release; or forget_release what nobody has any more."
        )


class UnknownRelationError(RefusedError):
    """A release of which it is not known whether its people are those of others."""

    words = "it is not known whether the same people are in "
    example = Example(
        f"{_MAKE} others WITH (composition = 'refuse') AS SELECT * FROM kacpc('renamed', k = 5);",
        (
            *_VISITS,
            "ALTER TABLE few RENAME TO renamed;",
            "UPDATE dbanon.policy SET table_name = 'renamed' WHERE table_name = 'few';",
        ),
    )

    def __init__(self, name: str, others: Mapping[str, str]) -> None:
        shown = "; ".join(f"{other} ({why})" for other, why in list(others.items())[:5])
        shown += f"; and {len(others) - 5} others" if len(others) > 5 else ""
        super().__init__(
            f"{name}: it is not known whether the same people are in {shown}. These releases are not compared. Hint: "
            "read tables and files by their names in the source, and forget_release what no reader has any more; "
            "composition = 'warn' publishes with this warning, composition = 'refuse' does not."
        )


class Recognition(Protocol):
    """How the people of two versions are recognised."""

    @property
    def people(self) -> int: ...

    @property
    def by_key(self) -> int: ...

    @property
    def by_spelling(self) -> int: ...

    @property
    def by_records(self) -> int | None: ...

    @property
    def columns(self) -> Sequence[str]: ...

    @property
    def is_comparable(self) -> bool: ...


class PeopleNotRecognizedError(RefusedError):
    """Versions that are probably about the same people, who are not recognised by their keys."""

    words = "are recognised by their keys"
    example = Example(
        f"{_MAKE} by_size WITH (composition = 'refuse') AS FROM mondrian('staff', k = 5, qi = ['age', 'size']);",
        (
            "CREATE TABLE staff (id INTEGER PRIMARY KEY, age INTEGER, size INTEGER);",
            "INSERT INTO staff SELECT i, 20 + i * 13 % 40, 150 + i * 7 % 20 FROM range(40) AS r (i);",
            f"{_MAKE} by_age AS SELECT * FROM kacpc('staff', k = 5, qi = ['age', 'size']);",
            "UPDATE staff SET id = id + 1000;",
        ),
    )

    def __init__(self, name: str, other: str, recognition: Recognition) -> None:
        by_key = f"{recognition.by_key} of {recognition.people} people are recognised by their keys"
        facts = [by_key if recognition.by_key else "no key is in both versions"]
        if recognition.by_spelling:
            facts.append(f"{recognition.by_spelling} keys differ only by blanks, case or leading zeros")
        if recognition.by_records is not None:
            columns = ", ".join(recognition.columns)
            facts.append(f"{recognition.by_records} of {recognition.people} have the same records in {columns}")
        if recognition.is_comparable:
            why = (
                "These are possibly the same people, and subtracting the versions lets those who differ be told apart. "
                "Hint: give people the same key in each release; or, if they are other people, say so with "
                f"disjoint_from = ['{other.split(' ')[0]}']."
            )
        else:
            why = (
                f"An earlier version of dbanon made {other}; its hashes of values cannot be compared. Hint: refresh it "
                "while its source is there, or use forget_release for versions that no reader has any more."
            )
        super().__init__(f"{name}: of {other}, {'; '.join(facts)}. {why}")


class EarlierHashesError(DbanonError):
    """A release of which the ledger has hashes of an earlier format."""

    message = (
        "{function}: an earlier version of dbanon made {name}, and its hashes of records cannot be compared "
        "with the source as it is now. Hint: dbanon.refresh_release, or REFRESH MATERIALIZED ANONYMIZED VIEW {name}, "
        "replaces them."
    )
    example = Situation(
        "It comes for a release that an earlier version of dbanon made, until it is refreshed.",
        ("release_status", "safe"),
    )


class CompositionUnknownError(DbanonError):
    """A release whose people cannot be told apart."""

    message = (
        "{function}: nobody knows who is in {name}: its source had neither a person column nor a unique key. "
        "Hint: declare one of role person, or name key columns in materialize."
    )
    example = Example("FROM composition('safe_few', 'safe_few');", _VISITS)


class ReleaseChangedError(RefusedError):
    """Tables of a release that somebody changed."""

    message = (
        "{function}: {name} is not what was released: {what}. Nothing was given out. "
        "Hint: refresh it, or drop it and materialize it again."
    )
    example = Example("FROM certificate('safe');", (*SAFE, "DROP TABLE safe_metrics;"))


class ReleaseHashesMissingError(RefusedError):
    """A release of which nobody knows whether it was changed."""

    message = (
        "{function}: nobody knows whether {name} is what was released: an earlier version of dbanon made it, "
        "which kept no hashes of it, and whose measures tell of records that were left out. Hint: refresh it."
    )
    example = Example(
        'dbanon.publish(con, "safe", "unsealed.duckdb")', (*SAFE, "UPDATE dbanon.release SET hashes = NULL;"), "python"
    )


class ReleaseTableMismatchError(DbanonError):
    """A table of the name and the columns of a release, which has other rows."""

    message = (
        "{function}: {name} is not the release of that name any more: {what}. Nothing is taken from the ledger. "
        "Hint: refresh the release to have it as it was; to measure the table as it is, say in the call what its "
        "columns are (qi = [...]) and, where the function takes one, its source."
    )
    example = Example("FROM risk('safe');", (*SAFE, "DELETE FROM safe WHERE class_id = 1;"))


class SourceNotFoundError(DbanonError):
    """A release whose source is not there, and a call that needs it."""

    message = (
        "{function}: {name} was released from {source}, which is not there any more, or lacks columns that were "
        "released. Hint: source = '...' names a table with the rows that it was released from."
    )
    example = Example("FROM query_error('safe_few');", (*_VISITS, "DROP TABLE few;"))


class LedgerMismatchError(DbanonError):
    """A call about a release that says something else of it than the ledger."""

    message = (
        "{function}: by the ledger {name} was released with {parameter} = {known}, and the call says "
        "{parameter} = {given}. Hint: leave {parameter} out; to hold its rows against something else, copy them, "
        "CREATE TABLE copied AS FROM {name}."
    )
    example = Example("FROM risk('safe_few', source = 'patients');", _VISITS)


class HierarchiesChangedError(DbanonError):
    """A release whose hierarchies are not those of its making any more."""

    message = (
        "{function}: the hierarchies that are declared or stored now are not those that {name} was released with, "
        "so that it cannot be told by them what its values stand for. Hint: name those that it was released with, "
        "hierarchies = {{'column': 'hierarchy'}}, or refresh it."
    )
    example = Example(
        "FROM distortion('safe');", (*SAFE, "UPDATE dbanon.policy SET hierarchy = NULL WHERE column_name = 'zip';")
    )


class TargetExistsError(DbanonError):
    """Files that would be overwritten."""

    example = Example(
        'dbanon.publish(con, "safe", "out.duckdb")\ndbanon.publish(con, "safe", "out.duckdb")', SAFE, "python"
    )

    def __init__(self, target: str, files: Iterable[str], function: str = "publish") -> None:
        super().__init__(
            f"{function}: {listed(files)} exists already. Hint: overwrite = True, or another name than {target}."
        )


class DemoExistsError(DbanonError):
    """A file where `dbanon demo` would make its database."""

    example = Situation(
        "It comes when `dbanon demo` finds a file where it would make its database.", ("dbanon_demo.duckdb", True)
    )

    def __init__(self, path: str, is_demo: bool) -> None:
        hint = (
            "overwrite = True makes it anew, and what was added to it is lost;"
            if is_demo
            else "it is no demo database and is never replaced;"
        )
        super().__init__(f"demo: {path} exists already. Hint: {hint} another file: database = 'other.duckdb'.")


class TargetInUseError(DbanonError):
    """A file to be written that is read: the source, a database that is open, or the same by a link."""

    example = Example('dbanon.publish(con, "safe", "dbanon_demo.duckdb")', SAFE, "python")

    def __init__(self, target: str, function: str = "publish") -> None:
        super().__init__(
            f"{function}: {target} is a file that this reads: the source, an attached database, or a link to one. "
            "It is never overwritten. Hint: choose another file."
        )


class TargetNotLocalError(DbanonError):
    """A place to write to that is no path on this machine."""

    message = (
        "{function}: {target} is no path on this machine, and only such are written. "
        "Hint: write to a folder here and copy the files from there."
    )
    example = Example('dbanon.publish(con, "safe", "s3://bucket/safe.csv")', SAFE, "python")


class StorageVersionTooOldError(DbanonError):
    """A column that DuckDBs which shall read the file do not know the type of."""

    message = (
        "{function}: {column} has the type {type_}, which DuckDB reads from {needed} on, and the file is written "
        "for {version} and later. Nothing was written. Hint: storage_version = '{needed}', or leave the column "
        "out of the release."
    )
    example = Example(
        "with dbanon.connect() as ward:\n"
        '    ward.execute("CREATE TABLE visits AS SELECT i % 9 AS age, (i % 2)::VARIANT AS note FROM range(99) r(i)")\n'
        '    dbanon.declare(ward, "visits", age="quasi", note="other")\n'
        '    dbanon.create_release(ward, "safe_visits", "kacpc", "visits", k=10)\n'
        '    dbanon.publish(ward, "safe_visits", "visits.duckdb")',
        language="python",
    )


class WriteFailedError(DbanonError):
    """A file or a database that could not be written: a full disk, a missing right, too long a name."""

    example = Situation(
        "It comes when the disk is full, or the folder cannot be written.", ("out.duckdb", "the disk is full")
    )

    def __init__(self, target: str, why: str, function: str = "publish") -> None:
        super().__init__(f"{function}: {target} could not be written: {why.rstrip('.')}. Nothing was changed.")


class OutputDiffersError(RefusedError):
    """A table, file or DataFrame that does not contain the rows that the release gate passed."""

    message = (
        "{function}: {target} was read back after writing and is not what the release gate passed: {difference}. "
        "It was removed, and nothing was released. Hint: write it again, to another disk if it is a file; if the "
        "error stays, report it."
    )
    example = Situation(
        "It comes when a file, table or DataFrame that was written does not contain the released rows.",
        ("publish", "out.csv", "it has 600 rows, and the release has 300"),
    )
