"""Where a release stands until it has passed, and where it stands then."""

import contextlib
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from dbanon import errors
from dbanon.integrations.spark.session_call import Asked


class Place:
    """A directory of Hadoop's file systems, or none (""): then what is made is kept by Spark."""

    def __init__(self, session: SparkSession, target: str) -> None:
        self.session, self.target = session, target
        self.draft = f"{target.rstrip('/')}.{uuid.uuid4().hex}.draft" if target else ""
        self.kept: DataFrame | None = None

    def write(self, rows: DataFrame) -> DataFrame:
        """Return the rows as they can be read later; nobody else is told where they are."""
        if not self.draft:
            self.kept = self.keep(rows)
            return self.kept
        rows.write.parquet(self.draft)
        return self.session.read.schema(rows.schema).parquet(self.draft)

    def commit(self) -> DataFrame:
        """Return the rows, where they were to go."""
        if self.kept is not None:
            lasting = self.session.sparkContext.getCheckpointDir() is not None
            return self.kept.checkpoint(eager=True) if lasting else self.kept
        files, path = _files(self.session, self.target)
        # A directory that is there by now would take the draft in.
        if files.exists(path) or not files.rename(_path(self.session, self.draft), path):
            raise errors.TargetExistsError(self.target, [self.target], "anonymize")
        return self.session.read.parquet(self.target)

    def keep(self, rows: DataFrame) -> DataFrame:
        """Rows that stay as they are, whatever becomes of what they were made from: with the executors, as a checkpoint
        directory would keep what the gate refuses."""
        return rows.localCheckpoint(eager=True)

    def clear(self) -> None:
        """Remove the draft."""
        if self.draft:
            files, path = _files(self.session, self.draft)
            files.delete(path, True)


@contextlib.contextmanager
def staged(session: SparkSession, asked: Asked, to: str | Path | None) -> Iterator[Place]:
    """Return a place for a release; TargetExistsError where something is there. A draft is removed whatever happens."""
    target = "" if to is None else str(to)
    if target:
        files, path = _files(session, target)
        if files.exists(path):
            raise errors.TargetExistsError(target, [target], asked.function)
    place = Place(session, target)
    try:
        yield place
    finally:
        place.clear()


def _path(session: SparkSession, name: str) -> Any:
    return session._jvm.org.apache.hadoop.fs.Path(name)


def _files(session: SparkSession, name: str) -> tuple[Any, Any]:
    """Return the file system of a path, and the path."""
    path = _path(session, name)
    return path.getFileSystem(session._jsc.hadoopConfiguration()), path
