"""Invalid calls for related tables are one clear error, and refusals reveal no cell."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import duckdb
import pytest
from support import documents

import dbanon
from dbanon import algorithms
from dbanon.algorithms.base.registry import Exclusion, NoiseRelease, Suppression
from dbanon.privacy_models import registry

BY_ID = "key := 'id'"


@pytest.fixture(scope="module")
def related_con() -> Iterator[Any]:
    """Create twelve people with two rows each, and tables with faults."""
    with duckdb.connect() as con:
        dbanon.attach(con)
        con.execute("CREATE TABLE p AS SELECT i AS id, 20 + i AS age, i // 2 AS home, 'x' AS s FROM range(12) AS r (i)")
        con.execute("CREATE TABLE v AS SELECT i // 2 AS id, i AS cost, 'secret' AS s, i AS n FROM range(24) AS r (i)")
        con.execute("CREATE TABLE twice AS FROM p UNION ALL (FROM p LIMIT 1)")
        con.execute("CREATE TABLE nobody AS SELECT * REPLACE (CASE WHEN id > 0 THEN id END AS id) FROM p")
        con.execute("CREATE TABLE strange AS FROM v UNION ALL SELECT 4711, 1, 'secret', 1")
        con.execute("CREATE TABLE keyless AS SELECT * REPLACE (CASE WHEN n > 0 THEN id END AS id) FROM v")
        con.execute("CREATE TABLE texts AS SELECT * REPLACE (id::VARCHAR AS id) FROM v")
        con.execute("CREATE TABLE lists AS SELECT * REPLACE ([id] AS id) FROM v")
        con.execute("CREATE TABLE hollow AS FROM v LIMIT 0")
        con.execute("CREATE TABLE homes AS FROM p")
        con.execute("CREATE TABLE open AS FROM v")
        con.execute(
            "CREATE TABLE wild AS SELECT * REPLACE (CASE WHEN n = 3 THEN 'nan'::DOUBLE ELSE n END AS cost) FROM v"
        )
        for table in ("p", "twice", "nobody"):
            dbanon.declare(con, table, age="quasi", s="sensitive")
        dbanon.declare(con, "homes", age="quasi", home="person")
        for table in ("v", "strange", "keyless", "texts", "lists", "hollow", "wild"):
            dbanon.declare(con, table, cost="quasi", s="sensitive")
        dbanon.declare(con, "open", cost="quasi", s="insensitive")
        con.execute("CREATE TABLE masked AS FROM v")
        con.execute("CREATE TABLE keyed AS FROM p")
        con.execute("CREATE TABLE homely AS FROM p; CREATE TABLE bare AS FROM v")
        dbanon.declare(con, "homely", age="quasi")
        dbanon.declare(con, "bare", cost="quasi")
        dbanon.declare(con, "masked", cost="quasi", s={"role": "mask", "settings": {"first": 1}})
        dbanon.declare(con, "keyed", id="pseudonym", age="quasi")
        yield con


RAISED = [
    ("kacpc('v', k := 3, entity := 'p')", r"key is missing; .*v has no FOREIGN KEY to p"),
    (f"kacpc('v', k := 3, entity := 'q', {BY_ID})", "no table, view or file 'q'"),
    ("kacpc('v', k := 3, entity := 'p', key := 'who')", "p has no column 'who'"),
    (f"kacpc('v', k := 3, entity := 'twice', {BY_ID})", r"twice has keys that occur in several rows \(id\): 1"),
    (f"kacpc('p', k := 3, entity := 'v', {BY_ID})", r"v has keys that occur in several rows \(id\): 12"),
    (f"kacpc('v', k := 3, entity := 'nobody', {BY_ID})", r"nobody has rows without a key \(id is NULL\): 1"),
    (f"kacpc('strange', k := 3, entity := 'p', {BY_ID})", r"strange has rows about no person in p .*: 1"),
    (f"kacpc('p', k := 3, children := 'keyless', {BY_ID})", r"keyless has rows about no person in p .*: 1"),
    (
        f"kacpc('texts', k := 3, entity := 'p', {BY_ID})",
        "texts.id is VARCHAR and p.id is BIGINT, so they cannot",
    ),
    ("kacpc('lists', k := 3, entity := 'p', key := 'id')", r"lists.id has the type BIGINT\[\]"),
    (f"kacpc('hollow', k := 3, entity := 'p', {BY_ID})", "hollow has no rows"),
    (f"kacpc('v', k := 13, entity := 'p', {BY_ID})", r"k must be between 2 and 12 \(p has 12 rows\), got 13"),
    (f"kacpc('wild', k := 3, entity := 'p', {BY_ID})", "wild.cost"),
    (f"kacpc('masked', k := 3, entity := 'p', {BY_ID})", "masked have the role .* a release of several tables"),
    (f"kacpc('keyed', k := 3, children := 'v', {BY_ID})", "keyed.id .*a key may be published only as a pseudonym"),
    ("kacpc('v', k := 3, entity := 'p', key := {'n': 'age'})", "p.age cannot be the key: the policy publishes it"),
    ("kacpc('v', k := 3, entity := 'p', key := {'cost': 'id'})", "v.cost cannot be the key"),
    (
        f"kacpc('v', k := 3, entity := 'homes', {BY_ID})",
        "homes.id cannot be the key: the policy says that home identifies",
    ),
    (f"kacpc('open', k := 3, entity := 'p', {BY_ID})", "open.s is declared insensitive: the values of several rows"),
    (f"kacpc('v', k := 3, entity := 'v', {BY_ID})", "entity must be different tables"),
    (f"kacpc('p', k := 3, children := ['v', 'main.v'], {BY_ID})", "children must be different tables"),
    (f"kacpc('p', k := 3, entity := 'p', children := 'v', {BY_ID})", None),
    (f"kacpc('open', k := 3, entity := 'p', children := 'v', {BY_ID})", "open among them"),
    (f"kacpc('v', k := 3, qi := ['cost'], entity := 'p', {BY_ID})", "qi is for one table only: with entity"),
    (f"kacpc('v', k := 3, suppress := 0.1, entity := 'p', {BY_ID})", "suppress is for one table only"),
    (f"kacpc('v', k := 3, nulls := 'drop', entity := 'p', {BY_ID})", "nulls is for one table only"),
    (
        f"kacpc('v', k := 3, t := 0.2, entity := 'p', {BY_ID})",
        "t is for one table only: it is for one sensitive v",
    ),
    (
        f"kacpc('v', k := 3, alpha := 0.5, l := 2, entity := 'p', {BY_ID})",
        "alpha is for one table only: it is for",
    ),
    (f"kacpc('v', k := 3, l := 2, c := 3, entity := 'p', {BY_ID})", "c is for one table only: it is for"),
    (
        f"kacpc('v', k := 3, l := 2, diversity := 'entropy', entity := 'p', {BY_ID})",
        "'entropy' is for one table only",
    ),
    (
        f"kacpc('v', k := 3, diversity := 'distinct', entity := 'p', {BY_ID})",
        "diversity has no effect, because l is not",
    ),
    (
        f"kacpc('v', k := 3, l := 2, entity := 'p', {BY_ID})",
        "do not meet l = 2 on p.s; the most that they allow is no l",
    ),
    (
        f"kacpc('bare', k := 3, l := 2, entity := 'homely', {BY_ID})",
        "needs a sensitive column, and the release of homely and bare has none",
    ),
    (f"eld('v', k := 3, entity := 'p', {BY_ID})", "eld, which asks for l by default, is for one table only"),
    (f"datafly('v', k := 3, entity := 'p', {BY_ID})", "the algorithm datafly is for one table only"),
    (f"best('v', k := 3, objective := 'sse', entity := 'p', {BY_ID})", None),
    (f"kacpc('v', k := 3, {BY_ID})", "key has no effect, because there is neither entity nor children"),
    ("kacpc_metrics('v', k := 3, max_children := 3)", "max_children has no effect"),
    (f"kacpc('v', k := 3, max_children := 0, entity := 'p', {BY_ID})", "max_children must be an integer of at least 1"),
    (f"kacpc('v', k := 3, entity := 7, {BY_ID})", "entity must be a table's name"),
    ("kacpc('v', k := 3, entity := 'p', key := {'id': 'id', 'n': 'ID'})", "key must be a column, a list"),
]


@pytest.mark.parametrize(("call", "message"), RAISED, ids=[call for call, _ in RAISED])
def test_invalid_related_call_error_contains_no_cell(related_con: Any, call: str, message: str | None) -> None:
    if message is None:
        assert related_con.execute(f"FROM {call}").fetchall()
        return
    with pytest.raises(duckdb.Error, match=message) as caught:
        related_con.execute(f"FROM {call}").fetchall()
    assert "secret" not in str(caught.value)
    assert "4711" not in str(caught.value)
    assert "release gate" not in str(caught.value)


REASONS = {
    "suppress": "it may suppress records",
    "noise": "it can add noise",
    "wider": "it publishes some classes with wider ranges",
    "default": "which asks for [lt] by default, is for one table only: it is for one sensitive value",
    "hierarchy": "it looks up the hierarchy of a sensitive column",
}
"""The reason in the error, by a word of the reason on the page."""


def listed_reasons() -> dict[str, str]:
    """Return the algorithms that the page lists as unsuitable, each with the clause that says why."""
    page = " ".join((documents.ROOT / "docs" / "related-tables.md").read_text("utf-8").split())
    text = page.partition("You can use every algorithm except these:")[2].partition(" `bhaladhare`")[0]
    return {
        name: clause
        for line in text.split(" - ")[1:]
        for names, _, clause in [line.partition(", which ")]
        for name in re.findall(r"`(\w+)`", names)
    }


@pytest.mark.parametrize("algorithm", listed_reasons())
def test_unsuitable_algorithm_is_refused_with_reason_of_page(related_con: Any, algorithm: str) -> None:
    (word,) = [word for word in REASONS if word in listed_reasons()[algorithm]]
    for call in (f"'v', k := 3, entity := 'p', {BY_ID}", f"'bare', k := 3, entity := 'homely', {BY_ID}"):
        with pytest.raises(duckdb.Error, match=f"{algorithm}.* is for one table only: ") as caught:
            related_con.execute(f"FROM {algorithm}({call})").fetchall()
        assert re.search(REASONS[word], str(caught.value))


def test_page_lists_every_unsuitable_algorithm() -> None:
    """Those that suppress, add noise, widen, look up hierarchies or have a default model; by their declarations."""
    models = {p.name for p in registry.parameters()}
    unsuitable = {
        a.name
        for a in algorithms.algorithms()
        if any(a.ability(kind) for kind in (Exclusion, NoiseRelease, Suppression))
        or a.looks_up is not None
        or any(p.name in models and p.default is not None for p in a.parameters)
    }
    assert set(listed_reasons()) == unsuitable


def test_sqlalchemy_elements_refuse_several_tables() -> None:
    sa = pytest.importorskip("sqlalchemy")
    alchemy = pytest.importorskip("dbanon.sqlalchemy")
    day = sa.Column("day", sa.Integer, info=alchemy.quasi())
    visits = sa.Table("visits", sa.MetaData(), sa.Column("id", sa.Integer, primary_key=True), day)
    with pytest.raises(dbanon.DbanonError, match="a release with entity is for one table only"):
        alchemy.anonymized(visits, "kacpc", k=3, entity="people")
