"""Errors about materialized anonymized views, their statements and their files."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from dbanon.errors.base import DbanonError, RefusedError, did_you_mean, format_names
from dbanon.errors.example import FEW, SAFE, Example, Situation
from dbanon.sqltext.messages import plural_form
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
    """A statement about a materialized anonymized view with an unexpected word."""

    example = Example(f"{_MAKE} safe FROM kacpc('patients', k = 10);")

    def __init__(self, statement: str, expected: str, got: str | None, form: str) -> None:
        """Build the message.

        Args:
            statement: The kind of statement, such as `DROP MATERIALIZED ANONYMIZED VIEW`.
            expected: What the parser expected.
            got: The word found instead; None at the end of the statement.
            form: The syntax of the statement.
        """
        super().__init__(
            f"{statement}: expected {expected}, got {'the end' if got is None else got}. Accepted: {form}."
        )


class NotASingleCallError(DbanonError):
    """An anonymized view whose query is not one call of a function."""

    example = Example(f"{_MAKE} safe AS SELECT zip FROM kacpc('patients', k = 10);")

    def __init__(
        self, why: str, functions: Iterable[str], statement: str = "CREATE MATERIALIZED ANONYMIZED VIEW"
    ) -> None:
        """Build the message.

        Args:
            why: What the query is instead, without a period at the end.
            functions: The functions that may be called.
            statement: The kind of statement.
        """
        end = "" if why.endswith("?") else "."
        super().__init__(
            f"{statement}: the query must be one call and nothing else, SELECT * FROM f('table', k = 10, ...) or FROM "
            f"f(...), where f is {' or '.join(functions)}; {why}{end} Hint: to publish part of a table, CREATE VIEW "
            "that part and name the view; select from the release after it is created."
        )


class UnknownReleaseError(DbanonError):
    """A name of no published release."""

    message_pattern = (
        "there is no published release |is a release of several tables, which has one version; |is a streaming view, "
        "which has no versions; "
    )
    example = Example("REFRESH MATERIALIZED ANONYMIZED VIEW saef;", SAFE)

    def __init__(
        self, function: str, name: str, releases: Iterable[str], is_stream: bool = False, is_several: bool = False
    ) -> None:
        """Build the message, with the most similar name of `releases` as a hint.

        Args:
            function: The function that was called.
            name: The name that was given.
            releases: The names of published releases.
            is_stream: Whether the name is that of a streaming view. The hint then names the statements for streaming
                views.
            is_several: Whether the name is that of a release of several related tables, which has one version.
        """
        problem = f"there is no published release {name}.{did_you_mean(name, releases)}"
        if is_several:
            problem = (
                f"{name} is a release of several tables, which has one version; {function} is for releases of one "
                f"table. Hint: to renew it, DROP MATERIALIZED ANONYMIZED VIEW {name}, use forget_release once no "
                "reader has it any more, and create it again. To pass it on, COPY each of its tables TO a file."
            )
        if is_stream:
            problem = (
                f"{name} is a streaming view, which has no versions; {function} is for releases. Hint: REFRESH "
                f"STREAMING ANONYMIZED VIEW {name}, DROP STREAMING ANONYMIZED VIEW {name}, FROM stream_status(), and "
                f"COPY {name} TO a file to pass it on."
            )
        super().__init__(f"{function}: {problem}")


class UnknownVersionError(DbanonError):
    """A version that the ledger does not have, or that cannot be forgotten because it is published."""

    example = Example('dbanon.forget_release(con, "safe", version=7)', SAFE, "python")

    def __init__(
        self, name: str, version: int, versions: Iterable[tuple[int, str]], function: str = "forget_release"
    ) -> None:
        """Build the message.

        Args:
            name: The release.
            version: The version that was asked for.
            versions: Number and status of all versions of the release.
            function: The function that was called. For forget_release, the message is about versions that can be
                forgotten.
        """
        versions_text = ", ".join(f"{number} ({status})" for number, status in versions)
        is_forgetting = function == "forget_release"
        super().__init__(
            f"{function}: {name} has no version {version}{' that can be forgotten' * is_forgetting}. It has "
            f"{versions_text}. Hint: "
            + ("drop a published release first." if is_forgetting else "FROM releases() lists the versions.")
        )


def _exist_already(names: str, number: int) -> str:
    """Return that `number` things exist, given their names as text.

    >>> _exist_already("safe", 1), _exist_already("safe, safe_metrics", 2)
    ('safe exists already.', 'safe, safe_metrics exist already.')
    """
    return f"{names} {'exists' if number == 1 else 'exist'} already."


class ReleaseExistsError(DbanonError):
    """A release whose tables would overwrite existing ones."""

    example = Example(f"{_MAKE} safe AS {_CALL};", SAFE)

    def __init__(
        self,
        function: str,
        name: str,
        tables: Sequence[str],
        is_release: bool,
        is_stream: bool = False,
        is_several: bool = False,
    ) -> None:
        """Build the message, and store `is_release` as an attribute.

        Args:
            function: The function that was called.
            name: The name of the release that is to be created.
            tables: The names of tables that exist already.
            is_release: Whether they are tables of a published release.
            is_stream: Whether they are tables of a streaming view.
            is_several: Whether they are tables of a release of several related tables.
        """
        hint = (
            f"a release of several tables has one version. When no reader has it any more, DROP MATERIALIZED "
            f"ANONYMIZED VIEW {name}, call dbanon.forget_release(con, {text(name)}), and create it again."
            if is_several
            else "refresh it; replace = True (CREATE OR REPLACE) creates the next version with another definition."
            if is_release
            else f"REFRESH STREAMING ANONYMIZED VIEW {name} continues it; DROP STREAMING ANONYMIZED VIEW {name} ends "
            "it."
            if is_stream
            else "choose another name; these are not tables of a release."
        )
        super().__init__(f"{function}: {_exist_already(', '.join(tables), len(tables))} Hint: {hint}")
        self.is_release = is_release


class ReleaseOutsideSourceDatabaseError(DbanonError):
    """A release in another database than its source or its policy."""

    message = (
        "{function}: {name} would not be in {database}, which has its source or the policy of the source. Hint: "
        "create it there and copy the result with dbanon publish; to have it in another attached database, CREATE "
        "TABLE {name} AS FROM the release."
    )
    example = Example(f"{_MAKE} elsewhere.main.safe AS {_CALL};", ("ATTACH ':memory:' AS elsewhere;",))


class UnstableSourceError(DbanonError):
    """A source that returns other rows each time it is read, or is temporary."""

    example = Example(
        f"{_MAKE} safe AS SELECT * FROM kacpc('sampled', k = 5, qi = ['sex']);",
        (
            "CREATE VIEW sampled AS FROM patients WHERE random() < 0.7;",
            "INSERT INTO dbanon.policy (table_name, column_name, role) VALUES ('sampled', 'sex', 'quasi');",
        ),
    )

    def __init__(self, name: str, source: str, function: str = "create_release") -> None:
        """Build the message; `name` is the release that is created, `source` its source."""
        super().__init__(
            f"{function}: {source} returned different rows while {name} was being created, or is temporary. Nothing "
            "was changed. Hint: copy it into a table first."
        )


class OpenTransactionError(DbanonError):
    """A call that needs a transaction of its own, inside an open one."""

    message = "{function}: a transaction is open on this connection. Hint: COMMIT or ROLLBACK it first."
    example = Example(f"{_MAKE} safe AS {_CALL};", ("BEGIN;",))


class NoiseNotMaterializableError(RefusedError):
    """A materialized anonymized view of a release with noise."""

    message = (
        "{function}: a release with {asked} cannot be materialized. Each refresh would draw new noise for the same "
        "people, which a reader of several versions can average out, and its rows do not form classes that the ledger "
        "could compare. Hint: publish it once, CREATE TABLE ... AS SELECT * FROM {call}(...)."
    )
    example = Example(f"{_MAKE} noisy AS SELECT * FROM rka('patients', k = 10, release = 'noise');")


class LedgerBusyError(DbanonError):
    """A release that two connections change at the same time."""

    outcome = "busy"
    message = (
        "{function}: {name} cannot be changed while another connection works on releases ({why}). Nothing was "
        "changed. Hint: see FROM releases() and try again."
    )
    example = Situation(
        "It is raised when two connections refresh, replace or drop the same release at the same time.",
        ("refresh_release", "safe", "version 1 is no longer the published one"),
    )


class SmallDifferencesRefusedError(RefusedError):
    """A version whose differences from other versions reveal groups that are too small."""

    message_pattern = "could isolate (it|them) by subtraction"
    example = Example(
        "REFRESH MATERIALIZED ANONYMIZED VIEW safe_few;", (*_VISITS, "DELETE FROM few WHERE patient_number = 100007;")
    )

    def __init__(self, function: str, name: str, n_sets: int, other_versions: Sequence[str]) -> None:
        """Build the message.

        Args:
            function: The function that creates the version. For "refresh_release", the message states that the old
                version stays.
            name: The release.
            n_sets: The number of sets of too few records by which the versions differ.
            other_versions: The versions that a reader could subtract, as text.
        """
        versions = ", ".join(other_versions)
        if function == "create_release":
            outcome_text = "Nothing was changed"
            hint = (
                f"if no reader has a version of it, DROP MATERIALIZED ANONYMIZED VIEW {name} and "
                f"dbanon.forget_release(con, {text(name)}), then create it again; otherwise keep it, or publish "
                "anyway with allow_small_differences = true, which the ledger records."
            )
        else:
            outcome_text = "The old version stays"
            hint = (
                f"FROM refresh_problems({text(name)}) lists the differences from the published version, if classes "
                "are kept. You can wait for more records (mode = 'hold' defers the new ones), cluster again with mode "
                "= 'recluster' if the classes differ (a reader of both versions can then intersect them), apply "
                "deletions with erase = true (which removes every class that lost a member), or publish anyway with "
                "allow_small_differences = true, which the ledger records."
            )
        super().__init__(
            f"{function}: {n_sets} {plural_form(n_sets, 'group', 'groups')} of added or removed records of {name} "
            f"{plural_form(n_sets, 'is', 'are')} too small (in records or persons) or "
            f"{plural_form(n_sets, 'violates', 'violate')} the model: a reader who also has {versions} could isolate "
            f"{plural_form(n_sets, 'it', 'them')} by subtraction. "
            f"{outcome_text}. Hint: {hint}"
        )


class ErasureEmptiesReleaseError(RefusedError):
    """An erasure that would leave no class of a release."""

    message = (
        "refresh_release: every class of {name} has lost a member, so erase = true would remove all of them. The old "
        "version stays. Hint: drop the release, which drops its tables."
    )
    example = Example(
        "REFRESH MATERIALIZED ANONYMIZED VIEW safe_few WITH (erase = true);",
        (*_VISITS, "DELETE FROM few WHERE patient_number % 2 = 0;"),
    )


class CannotKeepClassesError(RefusedError):
    """A refresh that cannot keep the classes of the previous version."""

    message = (
        "refresh_release: the classes of {name} cannot be kept: {why} The old version stays. Hint: wait for more "
        "records (mode = 'hold' defers the new ones), or cluster again with mode = 'recluster' (a reader who has both "
        "versions can then intersect their classes)."
    )
    example = Example(
        "REFRESH MATERIALIZED ANONYMIZED VIEW safe_few;",
        (*_VISITS, "DELETE FROM dbanon.policy WHERE table_name = 'few' AND column_name = 'disease';"),
    )


class CompositionRefusedError(RefusedError):
    """Releases that together narrow people down to fewer than k or l candidates."""

    message_pattern = "candidate sets fall below k or l"
    example = Example(
        f"{_MAKE} by_size WITH (composition = 'refuse') AS SELECT * FROM kacpc('people', k = 5, qi = ['size']);",
        (
            "CREATE TABLE people (id INTEGER PRIMARY KEY, age INTEGER, size INTEGER);",
            "INSERT INTO people SELECT i, 20 + i, 150 + i * 7 % 20 FROM range(20) AS r (i);",
            f"{_MAKE} by_age AS SELECT * FROM kacpc('people', k = 5, qi = ['age']);",
        ),
    )

    def __init__(self, name: str, n_people: Mapping[str, int]) -> None:
        """Build the message.

        Args:
            name: The new release.
            n_people: The number of exposed people, by the name of the other release.
        """
        counts = ", ".join(f"{count} with {other}" for other, count in n_people.items())
        super().__init__(
            f"{name}: together with other releases of the same people, candidate sets fall below k or l, or groups "
            f"below k can be isolated by subtraction: people {counts}. Hint: FROM composition(...) lists them for any "
            "two existing versions; publish only one of the releases."
        )


class LinkedVersionsNotAnonymousError(RefusedError):
    """A version whose pseudonyms let readers follow people through versions to groups that are too small."""

    message = (
        "{release}: with equal pseudonyms, readers can follow people through {others:list} and this version, and "
        "{why}. Nothing was changed. Hint: {remedy}publish under another name, which has different pseudonyms, or "
        "withhold the pseudonym."
    )
    keep_classes = "keep the classes (mode = 'keep', or 'hold' if too few records were added), "
    """The remedy where other classes would pass."""
    example = Situation(
        "It is raised if a refresh would let readers follow people by their pseudonyms into groups that are too small.",
        ("safe", ["safe version 1"], "12 persons then miss k", keep_classes),
    )


class CompositionUncheckedError(RefusedError):
    """Releases whose common people cannot be determined, with composition = 'refuse'."""

    message_pattern = "composition = 'refuse', but the persons in it"
    example = Example(f"{_MAKE} by_sex WITH (composition = 'refuse') AS SELECT * FROM kacpc('few', k = 5);", _VISITS)

    def __init__(self, name: str, key: Sequence[str] | None, others: Mapping[str, Sequence[str] | None]) -> None:
        """Build the message.

        Args:
            name: The new release.
            key: The columns that identify its people; None if no columns do.
            others: The same columns, or None, by the name of each other release.
        """

        def describe_key(columns: Sequence[str] | None) -> str:
            """Return words that say by which columns people are identified."""
            return f"identified by {', '.join(columns)}" if columns else "without an identifier"

        others_text = ", ".join(f"{other} ({describe_key(columns)})" for other, columns in others.items())
        super().__init__(
            f"{name}: composition = 'refuse', but the persons in it ({describe_key(key)}) cannot be matched with "
            f"those in {others_text}. Hint: declare the column that identifies persons with the role person, or name "
            "it as key (KEY in SQL), the same in each release; or use forget_release for versions that no reader has "
            "any more."
        )


class UnknownRelationError(RefusedError):
    """Releases of which it is unknown whether they are about the same people."""

    message_pattern = "it is not known whether the same people are in "
    example = Example(
        f"{_MAKE} others WITH (composition = 'refuse') AS SELECT * FROM kacpc('renamed', k = 5);",
        (
            *_VISITS,
            "ALTER TABLE few RENAME TO renamed;",
            "UPDATE dbanon.policy SET table_name = 'renamed' WHERE table_name = 'few';",
        ),
    )

    def __init__(self, name: str, others: Mapping[str, str]) -> None:
        """Build the message; of more than five releases, five are named.

        Args:
            name: The new release.
            others: Why it is unknown whether the same people are in them, by the name of each other release.
        """
        others_text = "; ".join(f"{other} ({why})" for other, why in list(others.items())[:5])
        others_text += f"; and {len(others) - 5} others" if len(others) > 5 else ""
        super().__init__(
            f"{name}: it is not known whether the same people are in {others_text}. These releases are not compared. "
            "Hint: read tables and files by their names in the source, and use forget_release for versions that no "
            "reader has any more; composition = 'warn' publishes with this warning, composition = 'refuse' does not."
        )


class Recognition(Protocol):
    """The result of comparing the people of a new version with those of an earlier version."""

    @property
    def people(self) -> int:
        """The number of people in the new or the earlier version, whichever has fewer.

        Records are counted if no column identifies people.
        """

    @property
    def by_key(self) -> int:
        """The number of the `people` who have the same key in both versions.

        Of the others, `by_spelling` and `by_records` are recognized in other ways; the rest are not recognized.
        """

    @property
    def by_spelling(self) -> int:
        """The number of the `people` whose keys in both versions differ, but only by blanks, case or leading zeros.

        People with equal keys (`by_key`) are not counted.
        """

    @property
    def by_records(self) -> int | None:
        """The number of the `people` who are recognized by equal records, not by keys (`by_key`, `by_spelling`).

        None if too few people without a recognized key remain, or if their records agree no more than by chance.
        """

    @property
    def columns(self) -> Sequence[str]:
        """The columns whose values are equal in the records by which people are recognized (`by_records`)."""

    @property
    def is_comparable(self) -> bool:
        """Whether records of both versions can be compared, because the hashes of their values have the same format."""


class PeopleNotRecognizedError(RefusedError):
    """Versions that are probably about the same people, who do not have the same keys."""

    message_pattern = "are recognized by their keys|no key is in both versions"
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
        """Build the message.

        Args:
            name: The new version.
            other: The earlier version.
            recognition: How many people of both versions are the same by keys, spelling and records.
        """
        by_key = f"{recognition.by_key} of {recognition.people} people are recognized by their keys"
        facts = [by_key if recognition.by_key else "no key is in both versions"]
        if recognition.by_spelling:
            keys_differ = plural_form(recognition.by_spelling, "key differs", "keys differ")
            facts.append(f"{recognition.by_spelling} {keys_differ} only by blanks, case or leading zeros")
        if recognition.by_records is not None:
            columns = ", ".join(recognition.columns)
            facts.append(f"{recognition.by_records} of {recognition.people} have the same records in {columns}")
        if recognition.is_comparable:
            why = (
                "These are possibly the same people; a reader who subtracts the versions can distinguish those who "
                "differ. Hint: give people the same key in each release; or, if they are other people, state that "
                f"with disjoint_from = ['{other.split(' ')[0]}']."
            )
        else:
            why = (
                f"An earlier version of dbanon created {other}; its hashes of values cannot be compared. Hint: "
                "refresh it while its source is there, or use forget_release for versions that no reader has any more."
            )
        super().__init__(f"{name}: of {other}, {'; '.join(facts)}. {why}")


class EarlierHashesError(DbanonError):
    """A release whose hashes in the ledger have the format of an earlier version of dbanon."""

    message = (
        "{function}: an earlier version of dbanon created {name}, and its hashes of records cannot be compared with "
        "the current source. Hint: dbanon.refresh_release, or REFRESH MATERIALIZED ANONYMIZED VIEW {name}, replaces "
        "them."
    )
    example = Situation(
        "It is raised for a release that an earlier version of dbanon created, until it is refreshed.",
        ("release_status", "safe"),
    )


class CompositionUnknownError(DbanonError):
    """A release whose people cannot be identified."""

    message = (
        "{function}: the persons in {name} are unknown: its source had neither a person column nor a unique key. "
        "Hint: declare a column with the role person, or name key columns in create_release."
    )
    example = Example("FROM composition('safe_few', 'safe_few');", _VISITS)


class ReleaseChangedError(RefusedError):
    """A release whose tables were changed."""

    message = (
        "{function}: {name} is not what was released: {what}. Nothing was written. Hint: refresh it, or drop it and "
        "create it again."
    )
    example = Example("FROM certificate('safe');", (*SAFE, "DROP TABLE safe_metrics;"))


class ReleaseHashesMissingError(RefusedError):
    """A release without hashes, so that changes of its tables cannot be detected."""

    message = (
        "{function}: {name} cannot be compared with what was released: an earlier version of dbanon created it, which "
        "stored no hashes of it, and whose metrics reveal suppressed records. Hint: refresh it."
    )
    example = Example(
        'dbanon.publish(con, "safe", "unsealed.duckdb")', (*SAFE, "UPDATE dbanon.release SET hashes = NULL;"), "python"
    )


class ReleaseTableMismatchError(DbanonError):
    """A table with the name and columns of a release and other rows."""

    message = (
        "{function}: {name} is no longer the release of that name: {what}. Nothing is read from the ledger. Hint: "
        "refresh the release to restore it; to measure the table as it is now, state its columns (qi = [...]) and, if "
        "the function accepts one, its source in the call."
    )
    example = Example("FROM risk('safe');", (*SAFE, "DELETE FROM safe WHERE class_id = 1;"))


class SourceNotFoundError(DbanonError):
    """A release whose source is missing, in a call that needs it."""

    message = (
        "{function}: {name} was released from {source}, which does not exist any more or lacks columns that were "
        "released. Hint: name a table with the original rows, source = '...'."
    )
    example = Example("FROM query_error('safe_few');", (*_VISITS, "DROP TABLE few;"))


class LedgerMismatchError(DbanonError):
    """A call about a release with a parameter that contradicts the ledger."""

    message = (
        "{function}: according to the ledger, {name} was released with {parameter} = {known}, but the call has "
        "{parameter} = {given}. Hint: omit {parameter}; to measure its rows by another value, copy them, CREATE TABLE "
        "copied AS FROM {name}."
    )
    example = Example("FROM risk('safe_few', source = 'patients');", _VISITS)


class HierarchiesChangedError(DbanonError):
    """A release whose hierarchies have changed since."""

    message = (
        "{function}: the hierarchies that are declared or stored now are not those with which {name} was released, so "
        "they do not define what its values mean. Hint: name the original ones, hierarchies = {{'column': "
        "'hierarchy'}}, or refresh the release."
    )
    example = Example(
        "FROM distortion('safe');", (*SAFE, "UPDATE dbanon.policy SET hierarchy = NULL WHERE column_name = 'zip';")
    )


class TargetExistsError(DbanonError):
    """Files that would be overwritten."""

    example = Example(
        'dbanon.publish(con, "safe", "out.duckdb")\ndbanon.publish(con, "safe", "out.duckdb")', SAFE, "python"
    )

    def __init__(
        self, target: str, files: Iterable[str], function: str = "publish", option: str = "overwrite = True"
    ) -> None:
        """Build the message.

        Args:
            target: The requested target.
            files: The existing files.
            function: The name of the called function.
            option: The option that replaces the files, as the caller writes it.
        """
        self.target, self.files = target, tuple(files)
        super().__init__(
            f"{function}: {_exist_already(format_names(self.files), len(self.files))} Hint: {option} replaces it; or "
            f"choose another name than {target}."
        )


class DemoExistsError(DbanonError):
    """A file at the path where `dbanon demo` would create its database."""

    example = Situation(
        "It is raised when `dbanon demo` finds a file where it would create its database.", ("dbanon_demo.duckdb", True)
    )

    def __init__(self, path: str, is_demo: bool) -> None:
        """Build the message.

        Args:
            path: The file.
            is_demo: Whether the file is a demo database, which `overwrite` may replace.
        """
        hint = (
            "overwrite = True creates it again, and everything that was added to it is lost;"
            if is_demo
            else "it is not a demo database and is never replaced;"
        )
        super().__init__(f"demo: {path} exists already. Hint: {hint} for another file: database = 'other.duckdb'.")


class TargetInUseError(DbanonError):
    """An output file that is also read: the source, an open database, or a link to one."""

    example = Example('dbanon.publish(con, "safe", "dbanon_demo.duckdb")', SAFE, "python")

    def __init__(self, target: str, function: str = "publish") -> None:
        """Build the message; `target` is the file that was to be written."""
        super().__init__(
            f"{function}: {target} is a file that this call reads: the source, an attached database, or a link to "
            "one. It is never overwritten. Hint: choose another file."
        )


class TargetNotLocalError(DbanonError):
    """An output that is not a path on this machine."""

    message = (
        "{function}: {target} is not a path on this machine; files are written only here. Hint: write to a local "
        "folder and copy the files from there."
    )
    example = Example('dbanon.publish(con, "safe", "s3://bucket/safe.csv")', SAFE, "python")


class StorageVersionTooOldError(DbanonError):
    """A column whose type the oldest DuckDB that shall read the file does not have."""

    message = (
        "{function}: {column} has the type {type_}, which needs DuckDB {needed} or later, but the file is written for "
        "{version} and later. Nothing was written. Hint: storage_version = '{needed}', or withhold the column."
    )
    example = Example(
        "with dbanon.connect() as ward:\n"
        '    ward.execute("CREATE TABLE visits AS SELECT i % 9 AS age, (i % 2)::VARIANT AS note FROM range(99) r(i)")\n'
        '    dbanon.declare(ward, "visits", age="quasi", note="insensitive")\n'
        '    dbanon.create_release(ward, "safe_visits", "kacpc", "visits", k=10)\n'
        '    dbanon.publish(ward, "safe_visits", "visits.duckdb")',
        language="python",
    )


class WriteFailedError(DbanonError):
    """A file or database that could not be written: a full disk, a missing permission, too long a name."""

    example = Situation(
        "It is raised if the disk is full or the folder is not writable.", ("out.duckdb", "the disk is full")
    )

    def __init__(self, target: str, why: str, function: str = "publish") -> None:
        """Build the message; `target` is the file or database, `why` the reason."""
        super().__init__(f"{function}: {target} could not be written: {why.rstrip('.')}. Nothing was changed.")


class OutputDiffersError(RefusedError):
    """A written table, file or DataFrame that differs from the rows that passed the release gate."""

    message = (
        "{function}: {target} was read again after writing and differs from what the release gate passed: "
        "{difference}. It was removed, and nothing was released. Hint: write it again, to another disk if it is a "
        "file; if the error persists, report it."
    )
    example = Situation(
        "It is raised if a file, table or DataFrame that was written does not contain the released rows.",
        ("publish", "out.csv", "it has 600 rows, and the release has 300"),
    )
