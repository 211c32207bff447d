"""One exception for each mistake of a user. Messages are built here and nowhere else.

A message states what was given, what is accepted and what to do. It quotes names and counts, never a cell of the
source. An argument that is only known while a query runs may be a placeholder: the message then becomes a SQL
expression (see `dbanon.sqltext.messages.sql_placeholder`).
"""

from typing import TYPE_CHECKING, NoReturn

from dbanon.errors.arguments import *
from dbanon.errors.base import (
    DbanonError as DbanonError,
    RefusedError as RefusedError,
    UsageError as UsageError,
    did_you_mean as did_you_mean,
    format_names as format_names,
)
from dbanon.errors.delivery import *
from dbanon.errors.foreign import *
from dbanon.errors.hierarchies import *
from dbanon.errors.interfaces import *
from dbanon.errors.policy_lookup import *
from dbanon.errors.pseudonyms import *
from dbanon.errors.records import *
from dbanon.errors.relations import *
from dbanon.errors.releases import *
from dbanon.errors.roles import *
from dbanon.errors.serving import *
from dbanon.errors.sources import *
from dbanon.errors.spark import *
from dbanon.errors.streams import *

if not TYPE_CHECKING:  # a type checker would take every name for one that exists

    def __getattr__(name: str) -> NoReturn:
        """Raise an error that states the new name of a class, if it was renamed.

        Raises:
            ImportError: The class was renamed. (`from dbanon.errors import NAME` replaces the text of an AttributeError
                with its own.)
            AttributeError: There is no such name.
        """
        from dbanon.errors.renamed_errors import RENAMED_ERRORS

        new_name = RENAMED_ERRORS.get(name, f"{name}Error")
        if new_name in globals():
            raise ImportError(f"dbanon.errors.{name} is now dbanon.errors.{new_name}", name=__name__)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
