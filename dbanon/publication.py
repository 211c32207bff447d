"""One validated call of a function that publishes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dbanon.attribute import Attribute
from dbanon.catalog import Source
from dbanon.policy import Roles
from dbanon.quote import Sql


@dataclass(frozen=True)
class Publication:
    """What is asked of which columns of which source.

    `kind` is release, classes or metrics; `options` are the common parameters, `own_options` those of the algorithm
    alone; the fingerprint is the policy's when the call was planned, and SQL for what it is when the call runs.
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
    fingerprint_sql: Sql
    fingerprint: str
    session: str
