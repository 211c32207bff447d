"""One validated call of a function that publishes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dbanon.cluster import Noise
from dbanon.hierarchy.storage import Hierarchy
from dbanon.models.demand import Demand
from dbanon.policy.attribute import Attribute
from dbanon.policy.column_roles import Roles
from dbanon.source.catalog import Source
from dbanon.source.stored_policy import Declared
from dbanon.sqltext.quote import Sql


@dataclass(frozen=True)
class Publication:
    """What is asked of which columns of which source.

    `demands` are models of the sensitive columns and `orders` hierarchies of these, by column; `key` are columns that
    tell people apart where no column is the person, and `keep` is the membership of a version whose records stay in
    their classes; `left_out` are members that are held back since an erasure (`held`) and, where nobody new is
    published, those who stay (`only`); `kind` is release, classes, metrics, inference or membership; `options`
    are the common parameters, `own_options` those of the algorithm alone; the fingerprint is the policy's when the call
    was planned, and SQL for what it is when the call runs. `reads` is what the algorithm looks at beside codes,
    `forest` the settings of the influence that is asked for (None: of none), `widens` whether clusters are published
    with more than their records span, `noise` what is published instead of classes (None: classes are). `bounds` are
    the ends, as SQL, of columns beyond which records are left out, `distinct` whether duplicates are; `declared` is the
    policy as it is stored.
    """

    function: str
    algorithm: str
    kind: str
    k: int
    source: Source
    roles: Roles
    attributes: tuple[Attribute, ...]
    options: Mapping[str, object]
    own_options: Mapping[str, object]
    demands: tuple[Demand, ...]
    orders: Mapping[str, Hierarchy]
    fingerprint_sql: Sql
    fingerprint: str
    session: str
    reads: tuple[str, ...] = ()
    forest: Mapping[str, object] | None = None
    widens: bool = False
    noise: Noise | None = None
    bounds: Mapping[str, tuple[Sql, Sql]] = field(default_factory=dict)
    distinct: bool = False
    declared: tuple[Declared, ...] = ()
    key: tuple[str, ...] = ()
    keep: Sql | None = None
    left_out: Mapping[str, Sql] = field(default_factory=dict)
