"""Every mistake a user can make, one exception each; its message is built here and nowhere else.

A message says what was given, what is accepted and what to do. It quotes names and counts, never a cell of
the source. Arguments that are only known while a query runs may be `Later` values: the message then becomes
a SQL expression (see `dbanon.release.plan.plan`).
"""

from dbanon.errors.arguments import *
from dbanon.errors.base import DbanonError as DbanonError, listed as listed, near as near
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
