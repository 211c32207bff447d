"""Faults of the first check of readers' statements, with statements that show them."""

from __future__ import annotations

from .fault import Fault

_FILE = "dbanon/integrations/quack/statement_checker.py"
_TESTS = ("tests/integrations/quack/test_recorded_trees.py", "tests/integrations/quack/test_plan_checker.py")

SERVE_FAULTS: dict[str, Fault] = {
    "readers: casts are not checked": Fault(_FILE, 'return ("cast_type",)', 'return ("cast_type", "child")', _TESTS),
    "readers: every name is taken for a CTE": Fault(
        _FILE, "(not schema and name in ctes)", "(not schema and name not in self.tables)", _TESTS
    ),
    "readers: samples are allowed": Fault(
        _FILE, '_NULL_FIELDS = ("sample", "at_clause")', '_NULL_FIELDS = ("at_clause",)', _TESTS
    ),
    "readers: a subquery is checked like a constant": Fault(
        _FILE,
        'return ("value",) if kind == "CONSTANT" else ()',
        'return ("value", "subquery") if kind in ("CONSTANT", "SUBQUERY") else ()',
        _TESTS,
    ),
    "readers: several statements are allowed": Fault(
        _FILE, 'require(len(tree["statements"]) == 1,', 'require(len(tree["statements"]) >= 1,', _TESTS
    ),
    "readers: arguments of table functions are not checked": Fault(
        _FILE, 'self._visit(function["children"], ctes, depth + 1)', "pass", _TESTS
    ),
    "readers: a table function may have ORDER BY": Fault(
        _FILE, 'require(not any(extras), "A table function', 'require(True, "A table function', _TESTS
    ),
}

HOSTILE: dict[str, tuple[str, ...]] = {
    "readers: casts are not checked": (
        "SELECT (SELECT name FROM patients)::VARCHAR",
        "SELECT CAST(getvariable('x') AS VARCHAR)",
        "SELECT * FROM safe WHERE TRY_CAST((SELECT name FROM patients) AS INTEGER) IS NULL",
    ),
    "readers: every name is taken for a CTE": (
        "FROM patients",
        "SELECT (SELECT name FROM patients)",
        "FROM duckdb_tables",
    ),
    "readers: samples are allowed": ("FROM safe USING SAMPLE 10%", "FROM safe TABLESAMPLE 10%"),
    "readers: a subquery is checked like a constant": (
        "SELECT (SELECT name FROM patients)",
        "SELECT * FROM safe WHERE n IN (SELECT length(name) FROM patients)",
        "SELECT EXISTS (FROM read_text('/etc/passwd'))",
    ),
    "readers: several statements are allowed": ("SELECT 1; SELECT 2", "SELECT 1; FROM patients"),
    "readers: arguments of table functions are not checked": (
        "FROM unnest([(SELECT name FROM patients)])",
        "FROM unnest([getvariable('x')])",
    ),
    "readers: a table function may have ORDER BY": (
        "FROM unnest([1, 2] ORDER BY (SELECT name FROM patients))",
        "FROM unnest([1, 2]) FILTER (WHERE (SELECT name FROM patients) = 'x')",
    ),
}
"""For each fault, statements that the first check accepts with the fault. The second check refuses them."""
