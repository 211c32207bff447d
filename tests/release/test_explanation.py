"""The SQL of a release is readable: every step is commented and named, and it is the statement that runs."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import duckdb
import pytest

import dbanon
from dbanon.release import functions
from dbanon.runtime import session
from dbanon.sqltext.cte_steps import CHAPTERS, split_steps
from dbanon.sqltext.qualify_builtins import qualify_builtins, strip_blank_lines
from dbanon.sqltext.tokenizer import spaced_words
from dbanon.table_functions.dispatch import call_sql
from dbanon.table_functions.registry import table_functions

PLACES = ("memory", "main", "")
GIVEN = {"k": 3, "qi": ["age", "workclass"], "sensitive": ["disease"], "hierarchies": {"workclass": "adult_workclass"}}
HOSTILE = {'a"b; --': "INTEGER", "source\n-- x\n\ny": "VARCHAR", "💊: tree": "VARCHAR", "code_groups": "INTEGER"}


def explained_statement(con: Any, function: str, *positional: object, **named: object) -> tuple[str, str]:
    """Return the explained text of a call, and the statement that it runs."""
    current = session.find_session(con)
    current.recorded.statements = []
    mapping = dict(zip(table_functions()[function].positional, positional, strict=True))
    call = {"function": function, "positional": mapping, "slots": [], "named": named}
    try:
        runs = call_sql(current, call, PLACES)
        ((name, query),) = current.recorded.statements
    finally:
        current.recorded.statements = None
    assert name == function
    return strip_blank_lines(query), runs


def relations(query: str) -> list[tuple[str, str]]:
    """Yield every relation of a WITH clause, nested ones too: its name, and the comment above it."""
    result = spaced_words(query)
    words = [word.upper() for _, word in result]
    named_values = []
    for i in range(1, len(result) - 3):
        if (
            words[i + 1] == "AS"
            and words[i + 2] in ("(", "MATERIALIZED")
            and words[i - 1] in ("WITH", "RECURSIVE", ",")
        ):
            first = i - 2 if words[i - 1] == "RECURSIVE" else i - 1
            comment = "".join(blank for blank, _ in result[first : i + 1])
            named_values.append((result[i][1], " ".join(line.strip() for line in comment.split("\n") if line.strip())))
    return named_values


def words(query: str) -> list[str]:
    return [word for _, word in spaced_words(query)]


def assert_readable(query: str) -> None:
    assert not re.search(r"\n[ \t]*\n", query)
    assert not re.search(r"[ \t]\n", query)
    for name, comment in relations(query):
        assert comment.startswith("-- "), name
        assert not re.search(r"_s?\d+$", name), name


@pytest.mark.parametrize("function", functions.release_functions())
def test_every_step_has_comment_and_column_names(six: Any, function: str) -> None:
    query, runs = explained_statement(six, function, "six", **GIVEN)
    assert_readable(query)
    assert {'"age: domain"', "hierarchy", "nodes"} <= {name for name, _ in relations(query)}
    assert qualify_builtins(query) == runs
    assert "--" not in runs
    steps = split_steps(query)
    assert all(step.description for step in steps.relations)
    assert words(steps.statement(steps.result)) == words(query)


@pytest.mark.parametrize(
    "arguments",
    [
        {"suppress": 0.4, "intervals": "bounds", "nulls": "drop"},
        {"t": 0.9, "l": 2, "beta": 9.0, "ground_distance": "ordered"},
        {"person": "rid", "l": 2, "intervals": "struct"},
        {"top": {"age": 50}, "bottom": {"age": 26}, "rounding": {"age": 5}, "escape_labels": True, "nulls": "error"},
        {"min_level": {"workclass": 1}, "coarsen": {"workclass": 2}, "loss_height": "sub", "weights": "influence"},
    ],
    ids=str,
)
@pytest.mark.parametrize("ending", ["", "_classes", "_metrics"])
def test_explanation_readable_for_every_call(six: Any, ending: str, arguments: dict[str, object]) -> None:
    extra_parameters = {"with_kl_divergence": True} if ending == "_metrics" else {}
    query, runs = explained_statement(six, f"kacpc{ending}", "six", **(GIVEN | arguments | extra_parameters))
    assert_readable(query)
    assert qualify_builtins(query) == runs


def test_explain_release_lists_steps_of_named_function(six: Any) -> None:
    rows = six.execute("FROM explain_release('kacpc_metrics', 'six', k=3, l := 2)").fetchall()
    assert [row[0] for row in rows] == list(range(1, len(rows) + 1))
    names = [row[2] for row in rows]
    assert list(dict.fromkeys(row[1] for row in rows)) == list(CHAPTERS)
    assert names[0] == "source"
    assert names[-1] == "result"
    assert {"age: domain", "disease: measured l", "gate", "metric_rows"} < set(names)
    assert names.index("problem") < names.index("code_groups") < names.index("gate")
    holds = dict(row[2:4] for row in rows)
    assert holds["source"].endswith("and the number of the first (rid).")
    second_query = "WITH RECURSIVE\n" + ",\n".join(row[4] for row in rows[:-1]) + "\n" + rows[-1][4]
    assert six.execute(second_query).fetchall() == six.execute("FROM kacpc_metrics('six', k=3, l := 2)").fetchall()


def test_ten_records_traceable_from_source_to_release(six: Any) -> None:
    def step(name: str, options: str = "follow := [1, 4]") -> Any:
        return six.execute(f"FROM explain_step('kacpc', 'six', '{name}', k=3, {options})")

    assert step("source").fetchall() == [(27, "State-gov", "Flu", 1, 1), (46, "Private", "Cancer", 1, 4)]
    assert sum(row[-1] is not None for row in step("code_groups").fetchall()) >= 2
    placed_class_ids_by_rid = {rid: class_id for rid, class_id, size in step("record_classes").fetchall() if size == 1}
    assert set(placed_class_ids_by_rid) == {1, 4}
    span_result = step("generalized_spans")
    span_columns = [column[0] for column in span_result.description]
    spans = [dict(zip(span_columns, row, strict=True)) for row in span_result.fetchall()]
    assert {row["class_id"] for row in spans} == set(placed_class_ids_by_rid.values())
    release = six.execute("SELECT class_id, age, workclass FROM kacpc('six', k=3)").fetchall()
    assert {(row["class_id"], row["age: published"], row["workclass: published"]) for row in spans} <= set(release)
    assert step("gate").fetchall() == [(True,)]
    assert (
        step("source", "records := 2").fetchall()
        == six.execute("SELECT * EXCLUDE rid, 1, rid - 1 FROM six LIMIT 2").fetchall()
    )
    assert step("result", "records := 6").fetchall() == six.execute("FROM kacpc('six', k=3)").fetchall()


def test_follow_returns_only_groups_of_followed_records(con: Any) -> None:
    ages = [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 9, 9]  # a class of 4 needs records of two ages
    con.execute("CREATE TABLE t (age INTEGER, disease VARCHAR)")
    con.executemany("INSERT INTO t VALUES (?, ?)", [(age, ["Flu", "Cold"][i % 2]) for i, age in enumerate(ages)])

    def step(name: str, rids: list[int]) -> list[dict[str, Any]]:
        call = f"explain_step('kacpc', 't', '{name}', k = 4, qi = ['age'], sensitive = ['disease'], follow = {rids})"
        result = con.execute(f"FROM {call}")
        names = [column[0] for column in result.description]
        return [dict(zip(names, row, strict=True)) for row in result.fetchall()]

    n_split = 0
    for rid in (row["rid"] for row in step("source", [*range(14)])):
        (group,) = step("code_groups", [rid])
        assert rid in [member["rid"] for member in group["members"]]
        assert group["size"] == ages.count(ages[rid])
        classes = {row["class_id"] for row in step("record_classes", [rid])}
        parts = step("part_classes", [rid])
        assert {row["class_id"] for row in parts} == classes
        assert len({row["gid"] for row in parts}) == 1
        (group_class,) = step("group_classes", [rid])
        n_split += group_class["class_id"] is None
        assert sum(row["last"] - row["first"] + 1 for row in parts) <= group["size"]
        clusters = {row["cluster"] for row in step("cluster_parts", [rid])}
        assert clusters == {row["cluster"] for row in step("cluster_spans", [rid])}
    assert n_split
    assert len(step("code_groups", [0, 6])) == 2


def test_explanations_accept_every_form_of_call(six: Any) -> None:
    first = six.execute("FROM explain_release('kacpc', 'six', k=3)").fetchall()
    assert six.execute("FROM explain_release('KACPC', 'six', k := 3)").fetchall() == first
    six.execute("PREPARE p AS FROM explain_release('kacpc', 'six', k := 3) WHERE position = $1")
    assert six.execute("EXECUTE p(2)").fetchall() == first[1:2]
    names = [
        row[0]
        for row in six.execute(
            "SELECT step FROM explain_release('anonymize', 'six', k=3, algorithm='mondrian')"
        ).fetchall()
    ]
    assert "gate" in names
    for call, message in (
        ("explain_release('nothing', 'six', k=3)", "function must be a function that publishes"),
        ("explain_release(NULL, 'six', k=3)", "function is missing"),
        ("explain_release('kacpc', 'six')", "k is missing"),
        ("explain_step('kacpc', 'six', 'nothing', k=3)", "step must be"),
        ("explain_step('kacpc', 'six', NULL, k=3)", "step is missing"),
        ("explain_step('kacpc', 'six', 'kept', k=3, records := 0)", "records must be"),
        ("explain_release('kacpc', 'nothing', k=3)", "nothing"),
    ):
        with pytest.raises(duckdb.Error, match=message):
            six.execute(f"FROM {call}")


def test_explanation_separates_steps_of_hostile_names(con: Any) -> None:
    columns = [f'"{name.replace(chr(34), chr(34) * 2)}" {type_}' for name, type_ in HOSTILE.items()]
    con.execute(f"CREATE TABLE t ({', '.join(columns)}, source VARCHAR)")
    con.execute(
        "INSERT INTO t SELECT i % 4, ['a', 'b'][i % 2 + 1], ['c', 'd'][i % 2 + 1], i % 3, 'e' FROM range(12) AS r (i)"
    )
    parameters = {"k": 3, "qi": [*HOSTILE, "source"]}
    query, runs = explained_statement(con, "kacpc", "t", **parameters)
    assert qualify_builtins(query) == runs
    names = [step.name for step in split_steps(query).relations]
    assert len(names) == len({name.lower() for name in names})
    assert {f"{name}: domain" for name, type_ in HOSTILE.items() if type_ == "INTEGER"} < set(names)
    count = len(con.execute(runs).fetchall())
    assert count == 12
    for previous, following in pairwise(names):
        assert previous != following
    for name in ('a"b; --: domain', "code_groups", "code_groups: domain", "nodes"):
        assert con.execute("FROM explain_step('kacpc', 't', $1, k := 3, qi := $2)", [name, parameters["qi"]]).fetchall()


def test_explain_covers_every_function_in_statement(six: Any) -> None:
    message = dbanon.explain(
        six, "SELECT r.age FROM kacpc('six', k=3) AS r, mondrian_classes('six', k=3) WHERE r.age <> ?", ["x"]
    )
    parts = re.split(r"^-- The statement of (\w+)\.$", message, flags=re.MULTILINE)
    assert sorted(parts[1::2]) == ["kacpc", "mondrian_classes"]
    query = (
        message[: message.index(";\n-- The statement of")]
        if message.startswith("-- The statement of kacpc")
        else message[message.index("-- The statement of kacpc") :]
    )
    assert six.execute(query).fetchall() == six.execute("FROM kacpc('six', k=3)").fetchall()
    with pytest.raises(dbanon.DbanonError, match="calls a table function"):
        dbanon.explain(six, "SELECT 1")
    assert session.find_session(six).recorded.statements is None


EXPLAINED = (
    "FROM kacpc('six', k=3)",
    "FROM kacpc_metrics('six', k=3, l := 2, suppress := 0.2)",
    "FROM castle('six', k=3, delta := 4, order_by := 'rid')",
    "FROM rka('six', k=3, release := 'noise')",
    "FROM profile('six')",
)


@pytest.mark.parametrize("call", EXPLAINED)
def test_explained_text_has_short_lines_and_same_result(six: Any, call: str) -> None:
    query = dbanon.explain(six, call)
    assert max(map(len, query.splitlines())) <= 120
    assert six.execute(query).fetchall() == six.execute(call).fetchall()


def test_explained_statement_has_no_numbered_names(six: Any) -> None:
    query = dbanon.explain(six, "FROM kacpc_metrics('six', k=3, l := 2)")
    without_literals = re.sub(r"'(?:[^']|'')*'", "''", query)
    assert not re.search(r"\b[cpqu]\d", without_literals)
    assert '"age: code"' in query and '"workclass: published"' in query


def test_explain_returns_one_chapter(six: Any) -> None:
    call = "FROM kacpc('six', k=3)"
    query = dbanon.explain(six, call)
    chapters = [dbanon.explain(six, call, chapter=name) for name in CHAPTERS[:4]]
    assert re.findall(r"-- Chapter (\d), (\w+): ", query) == [(str(i), name) for i, name in enumerate(CHAPTERS[:4], 1)]
    for name, chapter in zip(CHAPTERS, chapters, strict=False):
        assert re.findall(r"-- Chapter \d, (\w+): ", chapter) == [name]
    assert [("gate AS MATERIALIZED (" in chapter) for chapter in chapters] == [False, False, False, True]
    assert [("dbanon_cluster(" in chapter) for chapter in chapters] == [False, True, False, False]
    assert sum(chapter.count("\n") for chapter in chapters) >= query.count("\n") - 8
    for unknown, statement in (("gates", call), ("measure", call), ("check", "FROM algorithms()")):
        accepted = "one of 'read', 'cluster', 'generalize', 'check', got" if statement == call else "omitted, as"
        with pytest.raises(dbanon.DbanonError, match=f"chapter must be {accepted}"):
            dbanon.explain(six, statement, chapter=unknown)


CALLS: dict[str, dict[str, object]] = {
    "anonymity": {},
    "attack": {"kind": "homogeneity", "source": "six"},
    "disclosure": {},
    "exposure": {},
    "influence": {},
    "k_anonymity": {},
    "profile": {},
    "reidentification": {},
    "risk": {},
    "t_closeness": {"ground_distance": "hierarchical", "hierarchies": {"disease": "Flu;x;*\nHIV;x;*\nCancer;y;*"}},
    "uniqueness": {},
    "hierarchy_problems": {},
}


@pytest.mark.parametrize("function", CALLS)
def test_explanation_of_other_functions_is_readable(six: Any, function: str) -> None:
    positional = ["six"] * len(table_functions()[function].positional)
    query, runs = explained_statement(six, function, *positional, **CALLS[function])
    assert not re.search(r"\n[ \t]*\n", query)
    assert len(relations(query)) > 0
    assert [name for name, comment in relations(query) if not comment.startswith("-- ")] == []
    assert qualify_builtins(query) == runs
