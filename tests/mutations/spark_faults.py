"""Faults of releases on Spark; the tests of most need pyspark."""

from __future__ import annotations

from .fault import Fault

_GATE = ("tests/integrations/spark/test_spark_gate.py",)

SPARK_FAULTS: dict[str, Fault] = {
    "spark: quasi-identifiers are published unchanged": Fault(
        "dbanon/integrations/spark/release.py",
        'struct_field("published" if name in quasi else "own", name).alias(name)',
        'struct_field("own", name).alias(name)',
        _GATE,
        needs="pyspark",
    ),
    "spark: each combination has one more row": Fault(
        "dbanon/integrations/spark/release.py",
        'fn.array_repeat(fn.lit(0), fn.col("size").cast("int"))',
        'fn.array_repeat(fn.lit(0), fn.col("size").cast("int") + 1)',
        _GATE,
        needs="pyspark",
    ),
    "spark: classes of each partition are numbered from 1": Fault(
        "dbanon/integrations/spark/release.py",
        '(place + fn.col("first")).alias("class_id")',
        '(place + 1).alias("class_id")',
        _GATE,
        needs="pyspark",
    ),
    "spark: rows are in the order in which they were made": Fault(
        "dbanon/integrations/spark/release.py",
        "return rows.repartition(quoted_column(columns[-1])).sortWithinPartitions(*order)",
        "return rows.repartition(quoted_column(columns[-1]))",
        _GATE,
        needs="pyspark",
    ),
    "spark: a class publishes the values of another": Fault(
        "sql/integrations/spark/partition_release.sql",
        ") AS c ON c.class_id = p.class_id",
        ") AS c ON c.class_id = p.class_id % 3 + 1",
        ("tests/integrations/spark/test_executor_tasks.py",),
    ),
    "spark: the gate does not check rare values": Fault(
        "dbanon/integrations/spark/gate.py",
        "if count := count_rare([name]):",
        "if False and (count := count_rare([name])):",
        _GATE,
        needs="pyspark",
    ),
    "spark: the gate checks neither models nor persons": Fault(
        "dbanon/integrations/spark/gate.py",
        "if not models and release.spec.roles.person is None:",
        "if True:",
        _GATE,
        needs="pyspark",
    ),
    "spark: the gate accepts classes of k - 1 records": Fault(
        "dbanon/integrations/spark/gate.py",
        'fn.sum((fn.col("size") < release.spec.k).cast("int"))',
        'fn.sum((fn.col("size") < release.spec.k - 1).cast("int"))',
        _GATE,
        needs="pyspark",
    ),
    "spark: rows are not counted again": Fault(
        "dbanon/integrations/spark/recount.py",
        "    _check_sizes(release, released_rows)\n    _check_rare",
        "    _check_rare",
        _GATE,
        needs="pyspark",
    ),
    "spark: the order of rows is not checked": Fault(
        "dbanon/integrations/spark/recount.py",
        "    _check_rare(release, released_rows)\n    _check_order(release, released_rows)\n",
        "",
        _GATE,
        needs="pyspark",
    ),
    "spark: stated metrics are not compared": Fault(
        "dbanon/integrations/spark/recount.py",
        "if name not in stated_values or abs(",
        "if name not in stated_values and abs(",
        _GATE,
        needs="pyspark",
    ),
    "spark: a policy without the table is ignored": Fault(
        "dbanon/integrations/spark/given_policy.py",
        "        if not declared:",
        "        if False:",
        ("tests/integrations/spark/test_spark_policy_attempts.py",),
    ),
    "spark: a call replaces the hierarchies of a database": Fault(
        "dbanon/integrations/spark/given_policy.py",
        "if stored is None and key in declared:",
        "if key in declared:",
        ("tests/integrations/spark/test_spark_policy_attempts.py",),
    ),
    "spark: the policy of a table includes rows of other tables": Fault(
        "dbanon/integrations/spark/given_policy.py",
        "if _is_about(source, *key)]",
        "if _is_about(source, *key) or True]",
        ("tests/integrations/spark/test_spark_policy_attempts.py",),
    ),
    "spark: columns computed from others are accepted": Fault(
        "dbanon/integrations/spark/computed_columns.py",
        "if others or is_replaced:",
        "if is_replaced and not others:",
        ("tests/integrations/spark/test_computed_columns.py",),
        needs="pyspark",
    ),
}
