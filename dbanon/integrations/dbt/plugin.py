"""The plugin of dbt-duckdb: attaches every connection of dbt, and creates the releases of models `anonymized`."""

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
from dbanon.integrations.dbt.materialize_model import create_next_version
from dbanon.integrations.dbt.model import DbtModel
from dbanon.udf.install import attach

FORMAT = "anonymized"
"""The format that the materialization `anonymized` passes where others pass `parquet` or `csv`."""

_ATTACHING = threading.Lock()
_RELEASING = threading.Lock()
"""Models run on several threads, but simultaneous releases would not be checked against each other."""

_DBT_KEYS = {field.name for field in fields(ModelConfig)}
"""Keys of a model's configuration that have a meaning for dbt."""

_LOGGER = AdapterLogger("dbanon")


class Plugin(BasePlugin):
    """The plugin of dbt-duckdb, which finds the class by its name and calls its methods."""

    _instance: Any = None

    def configure_connection(self, conn: Any) -> None:
        """Attach dbanon to dbt's first connection, which creates the schema `dbanon` in the profile's database."""
        with _ATTACHING:
            self._instance = attach(conn)

    def configure_cursor(self, cursor: Any) -> None:
        """Attach dbanon to a cursor of a model without creating the schema; macros belong to one connection."""
        with _ATTACHING:
            attach(cursor, catalog=False)

    def store(self, target_config: Any) -> None:
        """Create the next version of a release, for a model with the materialization `anonymized`; log its warnings.

        DbtRuntimeError if this fails. For any other format, `store` of the base class is called first.
        """
        if target_config.location.format != FORMAT:
            super().store(target_config)
        relation = target_config.relation
        place = (relation.database, relation.schema, relation.identifier)
        try:
            model = DbtModel.from_config(place, **target_config.config, dbt_keys=_DBT_KEYS)
            with _ATTACHING:
                connection = Connection(self._instance.cursor())
            with contextlib.closing(connection), _RELEASING:
                messages = create_next_version(connection, model)
        except (DbanonError, duckdb.Error) as error:
            raise DbtRuntimeError(str(error).split("\n\nLINE ")[0]) from None
        for warning in messages:
            _LOGGER.warning(warning)
