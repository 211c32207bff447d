"""The location of a release before and after it has passed the gate."""

import contextlib
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from dbanon import errors
from dbanon.integrations.spark.session_call import PortableCall


class ReleaseStaging:
    """A draft directory in one of Hadoop's file systems, or, without a target, rows that Spark keeps."""

    def __init__(self, session: SparkSession, target: str) -> None:
        self.session, self.target = session, target
        self.draft = f"{target.rstrip('/')}.{uuid.uuid4().hex}.draft" if target else ""
        self.kept_rows: DataFrame | None = None

    def write(self, rows: DataFrame) -> DataFrame:
        """Return the rows as they can be read later; their location is not revealed."""
        if not self.draft:
            self.kept_rows = self.checkpoint(rows)
            return self.kept_rows
        rows.write.parquet(self.draft)
        return self.session.read.schema(rows.schema).parquet(self.draft)

    def commit(self) -> DataFrame:
        """Move the rows to the target, and return them.

        Raises:
            TargetExistsError: The target exists by now.
        """
        if self.kept_rows is not None:
            has_checkpoint_dir = self.session.sparkContext.getCheckpointDir() is not None
            return self.kept_rows.checkpoint(eager=True) if has_checkpoint_dir else self.kept_rows
        files, path = _files(self.session, self.target)
        # A directory that is there by now would take the draft in.
        if files.exists(path) or not files.rename(_path(self.session, self.draft), path):
            raise errors.TargetExistsError(self.target, [self.target], "anonymize")
        return self.session.read.parquet(self.target)

    def checkpoint(self, rows: DataFrame) -> DataFrame:
        """Return rows that do not depend on their source any more.

        The executors keep them; a checkpoint directory would keep rows that the gate refuses.
        """
        return rows.localCheckpoint(eager=True)

    def clear(self) -> None:
        """Remove the draft."""
        if self.draft:
            files, path = _files(self.session, self.draft)
            files.delete(path, True)


@contextlib.contextmanager
def stage_release(session: SparkSession, call: PortableCall, to: str | Path | None) -> Iterator[ReleaseStaging]:
    """Return a context manager for the staging of a release; it removes the draft in any case.

    Raises:
        TargetExistsError: The target exists.
    """
    target = "" if to is None else str(to)
    if target:
        files, path = _files(session, target)
        if files.exists(path):
            raise errors.TargetExistsError(target, [target], call.function)
    staging = ReleaseStaging(session, target)
    try:
        yield staging
    finally:
        staging.clear()


def _path(session: SparkSession, name: str) -> Any:
    return session._jvm.org.apache.hadoop.fs.Path(name)


def _files(session: SparkSession, name: str) -> tuple[Any, Any]:
    """Return the file system of a path, and the path."""
    path = _path(session, name)
    return path.getFileSystem(session._jsc.hadoopConfiguration()), path
