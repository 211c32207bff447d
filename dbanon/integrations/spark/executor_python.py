"""The Python that Spark's executors run."""

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
def executor_python(session: SparkSession, function: str) -> Iterator[None]:
    """Return a context manager in which the executors of a local Spark run the Python of this process.

    A Python named in Spark's configuration or PYSPARK_PYTHON has precedence. Spark itself would take the first
    `python3` on the path. The previous setting is restored at the end. `function` is the called function, for the
    message.

    Raises:
        ExecutorModuleMissingError: The executors' Python lacks a module.
    """
    context = session.sparkContext
    is_configured = "PYSPARK_PYTHON" in os.environ or context.getConf().contains("spark.pyspark.python")
    previous_python = context.pythonExec
    if context.master.startswith("local") and not is_configured:
        context.pythonExec = sys.executable
    try:
        yield
    except PythonException as error:
        missing = _MISSING.search(str(error))
        if missing is None:
            raise
        raise errors.ExecutorModuleMissingError(function, missing[1]) from None
    finally:
        context.pythonExec = previous_python
