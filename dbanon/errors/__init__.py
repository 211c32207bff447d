"""One exception for each mistake of a user. Messages are built here and nowhere else.

A message states what was given, what is accepted and what to do. It quotes names and counts, never a cell of the
source. An argument that is only known while a query runs may be a placeholder: the message then becomes a SQL
expression (see `dbanon.sqltext.templates.sql_placeholder`).
"""

from dbanon.errors.arguments import *
from dbanon.errors.base import DbanonError as DbanonError, did_you_mean as did_you_mean, format_names as format_names
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
