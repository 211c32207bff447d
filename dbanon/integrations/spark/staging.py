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
    """The draft of a result that cannot be read by others yet.

    With a target path, the draft is a directory next to it, in one of Hadoop's file systems. With an empty target, the
    draft is rows that Spark keeps.
    """

    def __init__(self, session: SparkSession, target: str) -> None:
        """Choose a random name for the draft directory; nothing is written."""
        self.session, self.target = session, target
        self.draft = f"{target.rstrip('/')}.{uuid.uuid4().hex}.draft" if target else ""
        self.kept_rows: DataFrame | None = None

    def write(self, rows: DataFrame) -> DataFrame:
        """Write the rows to the draft and return a DataFrame that reads them from there.

        Without a target they are computed and kept by Spark.
        """
        if not self.draft:
            self.kept_rows = self.checkpoint(rows)
            return self.kept_rows
        rows.write.parquet(self.draft)
        return self.session.read.schema(rows.schema).parquet(self.draft)

    def commit(self) -> DataFrame:
        """Make the written rows available: rename the draft to the target, and return a DataFrame of the target.

        Without a target the rows that Spark keeps are returned, stored in the checkpoint directory if there is one.

        Raises:
            TargetExistsError: The target exists by now, or renaming failed.
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
        """Compute the rows and return them without their dependency on the source, kept by Spark's executors.

        They are not stored in a checkpoint directory, which would keep rows that the gate refuses.
        """
        return rows.localCheckpoint(eager=True)

    def clear(self) -> None:
        """Delete the draft directory, if there is a target."""
        if self.draft:
            files, path = _files(self.session, self.draft)
            files.delete(path, True)


@contextlib.contextmanager
def stage_release(session: SparkSession, call: PortableCall, to: str | Path | None) -> Iterator[ReleaseStaging]:
    """Yield the staging of a result for the target `to` (None: kept by Spark).

    The draft is deleted at the end in any case; after `commit` it was renamed, so nothing is left to delete.

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
    """Return a Hadoop Path object of a name."""
    return session._jvm.org.apache.hadoop.fs.Path(name)


def _files(session: SparkSession, name: str) -> tuple[Any, Any]:
    """Return Hadoop's file system of a path, and its Path object."""
    path = _path(session, name)
    return path.getFileSystem(session._jsc.hadoopConfiguration()), path
