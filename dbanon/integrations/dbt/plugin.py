"""The plugin of dbt-duckdb: attaches every connection of dbt, and makes the releases of models `anonymized`."""

import contextlib
import threading
from dataclasses import fields
from typing import Any

import duckdb
from dbt.adapters.duckdb.plugins import BasePlugin
from dbt.adapters.events.logging import AdapterLogger
from dbt.artifacts.resources import ModelConfig
from dbt_common.exceptions import DbtRuntimeError

from dbanon.api.connection import Connection
from dbanon.errors import DbanonError
from dbanon.integrations.dbt.materialize_model import released
from dbanon.integrations.dbt.model import Model
from dbanon.udf.install import attach

FORMAT = "anonymized"
"""What the materialization of this name calls its format, in a call that others make with `parquet` or `csv`."""

_ATTACHING = threading.Lock()
_RELEASING = threading.Lock()
"""Models run on several threads. Macros are read once for all; and of releases made at once, none would be held against
the other."""

_OF_DBT = {field.name for field in fields(ModelConfig)}
"""Keys of a model's configuration that mean something to dbt."""

_LOGGER = AdapterLogger("dbanon")


class Plugin(BasePlugin):
    """What dbt-duckdb calls; it finds the class by its name."""

    _instance: Any = None

    def configure_connection(self, conn: Any) -> None:
        """Make the schema `dbanon` in the database of the profile, once."""
        with _ATTACHING:
            self._instance = attach(conn)

    def configure_cursor(self, cursor: Any) -> None:
        """Attach a cursor: macros belong to one connection, and each model has one of its own."""
        with _ATTACHING:
            attach(cursor, catalog=False)

    def store(self, target_config: Any) -> None:
        """Make the next version of a release, for the materialization `anonymized`."""
        if target_config.location.format != FORMAT:
            super().store(target_config)
        relation = target_config.relation
        place = (relation.database, relation.schema, relation.identifier)
        try:
            model = Model.of(place, **target_config.config, of_dbt=_OF_DBT)
            with _ATTACHING:
                connection = Connection(self._instance.cursor())
            with contextlib.closing(connection), _RELEASING:
                said = released(connection, model)
        except (DbanonError, duckdb.Error) as error:
            raise DbtRuntimeError(str(error).split("\n\nLINE ")[0]) from None
        for warning in said:
            _LOGGER.warning(warning)
