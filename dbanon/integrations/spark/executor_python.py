"""Which Python the processes of Spark run."""

import contextlib
import os
import re
import sys
from collections.abc import Iterator

from pyspark.errors import PythonException
from pyspark.sql import SparkSession

from dbanon import errors

_MISSING = re.compile(r"ModuleNotFoundError: No module named '([^']+)'")


@contextlib.contextmanager
def agreeing(session: SparkSession, function: str) -> Iterator[None]:
    """Processes of a local Spark run this Python, where nothing else is said: Spark would take the first `python3` that
    it finds. ExecutorModuleMissingError where one lacks a module."""
    context = session.sparkContext
    said = "PYSPARK_PYTHON" in os.environ or context.getConf().contains("spark.pyspark.python")
    before = context.pythonExec
    if context.master.startswith("local") and not said:
        context.pythonExec = sys.executable
    try:
        yield
    except PythonException as error:
        missing = _MISSING.search(str(error))
        if missing is None:
            raise
        raise errors.ExecutorModuleMissingError(function, missing[1]) from None
    finally:
        context.pythonExec = before
