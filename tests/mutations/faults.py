"""Faults that a developer could introduce, each with the everyday tests that must notice it.

Faults of one topic are in a file of their own; `FAULTS` has all of them by name.
"""

from __future__ import annotations

from .fault import ROOT, Fault
from .gate_faults import GATE_FAULTS
from .output_faults import OUTPUT_FAULTS
from .serve_faults import SERVE_FAULTS
from .spark_faults import SPARK_FAULTS

__all__ = ["FAULTS", "ROOT", "Fault"]

_FAULTS = {
    # Published values of a class
    "the interval of a grid ends one value too late": Fault(
        "dbanon/source/type_families.py",
        "({grid} - 1 - {rest})",
        "({grid} - {rest})",
        ("tests/policy/test_coarsening.py",),
    ),
    "weeks begin on Sunday": Fault(
        "sql/release/plan/number_column.sql",
        "7000000003",
        "7000000004",
        ("tests/policy/test_coarsening.py", "tests/policy/test_missing_codes_profile.py"),
    ),
    "decades and centuries begin a month early": Fault(
        "sql/release/plan/number_column.sql", "95999999", "96000000", ("tests/source/test_types.py",)
    ),
    "NULLs count as values of their class": Fault(
        "sql/release/plan/generalize.sql",
        " FILTER (WHERE e.{{ 'code'|of(q) }} IS NOT NULL))::BIGINT AS {{ 'filled'|of(q) }}",
        ")::BIGINT AS {{ 'filled'|of(q) }}",
        ("tests/table_functions/test_sql_forms.py", "tests/release/plan/test_metrics.py"),
    ),
    "one row of each class is missing": Fault(
        "sql/release/plan/output_rows.sql",
        "[], r.size)",
        "[], r.size - 1)",
        ("tests/table_functions/test_sql_forms.py",),
    ),
    "records of a group are in each other's classes": Fault(
        "sql/release/plan/classes_of_records.sql",
        "greatest(p.first, d.last - d.size + 1)",
        "greatest(p.first, d.last - d.size)",
        ("tests/release/test_row_order.py",),
    ),
    # The gate
    "the gate accepts classes of k - 1 records": Fault(
        "sql/gate/gate.sql",
        "{% endif %}, 0) < {{ k }}",
        "{% endif %}, 0) < {{ k }} - 1",
        ("tests/gate/test_gate.py",),
    ),
    "the gate does not check that values are covered": Fault(
        "sql/gate/gate.sql",
        "WHEN covered.uncovered > 0 THEN "
        "{{ messages.failure('values that do not cover the original', gate_say.uncovered) }}",
        "",
        ("tests/gate/test_gate.py", "tests/gate/test_mutants.py"),
    ),
    "the gate accepts every class that misses a privacy model": Fault(
        "sql/gate/checks.sql",
        "(SELECT count(*) FROM {{ 'class sizes'|of(s) }}) - count(*) FILTER (WHERE {{ met(m) }})",
        "(SELECT count(*) FROM {{ 'class sizes'|of(s) }}) - count(*)",
        ("tests/gate/test_model_gate.py",),
    ),
    "the gate accepts ends of intervals above top": Fault(
        "sql/gate/policy_conformance.sql",
        "{% if r.bottom %} AND {% endif %}{{ end }} < {{ r.top }}",
        "{% if r.bottom %} AND {% endif %}true",
        ("tests/policy/test_missing_codes_profile.py", "tests/gate/test_mutants.py", "tests/gate/test_gate.py"),
    ),
    "the gate does not count persons with unique linked rows": Fault(
        "sql/gate/linked_rows.sql",
        "FROM followed_records GROUP BY ALL HAVING count(DISTINCT person) < {{ k }}",
        "FROM followed_records GROUP BY ALL HAVING count(DISTINCT person) < 0",
        ("tests/policy/transforms/test_linked.py",),
    ),
    "the gate ignores which persons share several pseudonyms": Fault(
        "dbanon/gate/linked_patterns.py",
        '("component", tuple(normalized_rows))',
        '("component", tuple(line[:2] for line in normalized_rows))',
        ("tests/policy/transforms/test_linked_patterns.py", "tests/policy/transforms/test_multiple_pseudonyms.py"),
    ),
    "k counts the values of every pseudonym column": Fault(
        "dbanon/policy/column_roles.py",
        "if name == pseudonym and roles[name] in",
        'if declared == "pseudonym" and roles[name] in',
        ("tests/policy/transforms/test_multiple_pseudonyms.py",),
    ),
    "versions are linked by pseudonyms that identify no persons": Fault(
        "dbanon/ledger/composition/linked_versions.py",
        "if not _are_pseudonyms_of_persons(cursor, spec):",
        "if False:",
        ("tests/policy/transforms/test_linked_versions.py",),
    ),
    "a mask keeps all characters": Fault(
        "dbanon/release/spec/transformed_columns.py",
        """repeat({character}, {length} - {n_shown})""",
        """repeat({character}, 0)""",
        ("tests/policy/transforms/test_roles.py",),
    ),
    # Privacy models
    "every class is l-diverse": Fault(
        "sql/privacy_models/is_satisfied.sql",
        ">= {{ m.bound }} - 1e-9",
        ">= {{ m.bound }} - 9",
        ("tests/gate/test_model_gate.py",),
    ),
    "algorithms accept classes one below the model's bound": Fault(
        "dbanon/privacy_models/model.py",
        "measures >= bound - SLACK",
        "measures >= bound - 1",
        ("tests/privacy_models/test_conformance.py", "tests/privacy_models/test_model_contract.py"),
    ),
    "a cluster that misses the model is not repaired": Fault(
        "dbanon/algorithms/postprocess/merge_small_clusters.py",
        "    if not failing:\n",
        "    if failing:\n",
        ("tests/privacy_models/test_model_contract.py", "tests/algorithms/test_algorithms.py"),
    ),
    "more records are suppressed than the call allows": Fault(
        "dbanon/algorithms/runner.py",
        "max_by_share = int(share * space.rows)",
        "max_by_share = int(share * space.rows) + 1",
        ("tests/algorithms/test_suppress.py",),
    ),
    "persons are counted as records": Fault(
        "dbanon/privacy_models/constraint.py",
        "        if space.persons is None:\n            return len(rows)\n",
        "        if True:\n            return len(rows)\n",
        ("tests/privacy_models/test_constraint.py",),
    ),
    # Algorithms
    "the second nearest record is taken as the nearest": Fault(
        "dbanon/encoding/distance.py",
        "np.append(np.abs(self.positions - self.positions[code]), self.null)",
        "np.append(np.abs(self.positions - self.positions[code] - 1), self.null)",
        ("tests/algorithms/test_kacpc.py", "tests/encoding/test_index.py"),
    ),
    "the search of neighbours stops one record early": Fault(
        "dbanon/kernels/tree_search.py",
        "if n_held >= records and (bound > sums[0]",
        "if n_held >= records - 1 and (bound > sums[0]",
        ("tests/encoding/test_index.py", "tests/algorithms/test_kacpc.py"),
    ),
    "the search for a cut along a line ends too early": Fault(
        "dbanon/kernels/optimal_cut.py",
        "total[promising] + loss * (i - promising) >= lowest",
        "total[promising] + loss * (i - first_start) >= lowest",
        ("tests/algorithms/test_path.py",),
    ),
    "a cut joins another run than the one that was measured": Fault(
        "dbanon/kernels/optimal_cut.py",
        "(promising - edge + min_size - 1) // step",
        "(promising - edge + min_size) // step",
        ("tests/algorithms/test_path.py",),
    ),
    "the cache returns clusters of another k": Fault(
        "dbanon/udf/cluster.py",
        '            "k",\n            "options",\n',
        '            "options",\n',
        ("tests/table_functions/test_sql_forms.py", "tests/release/plan/test_metrics.py"),
    ),
    "noise is drawn without the key of the table": Fault(
        "dbanon/algorithms/base/noise.py",
        "hashlib.shake_256(key + name.encode())",
        "hashlib.shake_256(name.encode())",
        ("tests/gate/test_noise.py",),
    ),
    # The policy
    "a call can publish a quasi-identifier unchanged": Fault(
        "dbanon/policy/column_roles.py",
        '"quasi": ("quasi", "identifier", "person", WITHHELD)',
        '"quasi": ("quasi", "insensitive", "identifier", "person", WITHHELD)',
        ("tests/policy/test_policy.py",),
    ),
    "columns without a role are published": Fault(
        "dbanon/policy/column_roles.py",
        "return call_role or WITHHELD",
        'return call_role or "insensitive"',
        ("tests/policy/test_policy.py", "tests/table_functions/test_sql_forms.py"),
    ),
    "a call can use finer intervals than the declared grid": Fault(
        "dbanon/policy/attribute.py",
        'return declared_grid != "none" and not',
        'return declared_grid == "none" and not',
        ("tests/policy/test_policy.py",),
    ),
    "a masked prefix keeps one more character": Fault(
        "sql/policy/hierarchies/prefix.sql",
        "left(value, n_kept)",
        "left(value, n_kept + 1)",
        ("tests/policy/hierarchies/test_hierarchy.py",),
    ),
    # Metrics
    "precision is the loss of precision": Fault(
        "sql/release/metrics/precision.sql", "value: 1 - ", "value: ", ("tests/release/plan/test_metrics.py",)
    ),
    "the size of the smallest class is that of the largest": Fault(
        "sql/release/metrics/k.sql", "value: smallest", "value: largest", ("tests/release/plan/test_metrics.py",)
    ),
    "the certificate computes k from the largest class": Fault(
        "dbanon/publishing/recompute_queries.py",
        '"k": self._class_size_metric("min(size)")',
        '"k": self._class_size_metric("max(size)")',
        ("tests/publishing/test_certificate.py",),
    ),
    "linkage ignores other candidates": Fault(
        "sql/audit/attacks/linkage.sql",
        "greatest(l.candidates, l.rivals)",
        "l.candidates",
        ("tests/audit/attacks/test_attack.py",),
    ),
    "membership ignores the other people of a class": Fault(
        "sql/audit/attacks/membership.sql",
        "any_value(k.records)::DOUBLE / sum(p.people) AS presence",
        "1.0::DOUBLE AS presence",
        ("tests/audit/attacks/test_attack_membership.py",),
    ),
    "the agreement of clusters is not corrected for chance": Fault(
        "dbanon/audit/cluster_validity.py",
        "expected = in_first * in_second / (n_records * (n_records - 1) / 2) if n_records > 1 else 0.0",
        "expected = 0.0",
        ("tests/audit/test_cluster_validity.py",),
    ),
    "majority guesses the rarest value": Fault(
        "sql/audit/attacks/majority.sql",
        "(PARTITION BY place ORDER BY size DESC,",
        "(PARTITION BY place ORDER BY size ASC,",
        ("tests/audit/attacks/test_attack.py",),
    ),
    "an attack with a sample uses the whole table": Fault(
        "sql/audit/attacks/sample.sql",
        "        LIMIT {{ sample }}\n",
        "",
        ("tests/audit/attacks/test_attack.py", "tests/publishing/report/test_report.py"),
    ),
    "refinement takes a record from a class of k records": Fault(
        "dbanon/audit/attacks/refinement.py",
        "self.records - self.k, MAX_MOVED",
        "self.records - self.k + 1, MAX_MOVED",
        ("tests/audit/attacks/test_attack_refinement.py",),
    ),
    "refinement adds too many records to a class": Fault(
        "dbanon/audit/attacks/refinement_columns.py",
        "self.scale - (last - first)",
        "self.scale",
        ("tests/audit/attacks/test_attack_refinement.py",),
    ),
    # Versions and files
    "a version is not compared with other versions": Fault(
        "dbanon/views/build_version.py",
        """    n_small_differences += _count_differences_from_old(cursor, entry, spec, version_options, others)
    same_name = version_differences.versions_of_release(entry, others)
    compare_version.check_changed_keys(cursor, entry, version_options, recognized, same_name)
    linked_versions.check_linked_versions(cursor, entry, spec, others, OLD_SUFFIX)
    differences = version_differences.small_differences(cursor, entry, spec, same_name, old_suffix=OLD_SUFFIX)
""",
        """    same_name = version_differences.versions_of_release(entry, others)
    differences: list[version_differences.SmallDifference] = []
""",
        ("tests/views/test_refresh.py", "tests/ledger/composition/test_version_differences.py"),
    ),
    "a renamed table is taken for another table": Fault(
        "dbanon/ledger/same_source.py",
        "    places_found |= {other.place for other in same_content(entry, rest, cursor)}\n",
        "",
        ("tests/ledger/people/test_source_identity.py",),
    ),
    "an unknown source is taken for an unrelated one": Fault(
        "dbanon/ledger/people/unknown_sources.py",
        "        if base_reasons := unknown_bases or _unknown_bases(other):",
        "        if why := []:",
        ("tests/ledger/people/test_source_identity.py",),
    ),
    "a row of the ledger that another connection locks is not waited for": Fault(
        "dbanon/ledger/publishing_lock.py",
        '        if cursor.execute(f"UPDATE {table} SET turns = turns + 1 WHERE id = 1").fetchall() == [(1,)]:',
        '        if cursor.execute(f"SELECT id FROM {table}").fetchall() == [(1,)]:',
        ("tests/ledger/test_publishing_lock.py",),
    ),
    # Streaming views
    "rows that a stream has read can be missing from its table": Fault(
        "dbanon/views/stream_refresh.py",
        "    if n_lost:",
        "    if False:",
        ("tests/views/test_streaming.py",),
    ),
    "records that are pending too long stay pending": Fault(
        "sql/gate/stream_gate.sql",
        "n.arrived - l.rid + 1 >= {{ stream.delta }}",
        "n.arrived - l.rid + 1 >= 100 * {{ stream.delta }}",
        ("tests/views/test_streaming.py",),
    ),
    "too many records are pending": Fault(
        "sql/gate/stream_gate.sql",
        "WHERE pending >= {{ stream.delta }}",
        "WHERE false",
        ("tests/algorithms/streams/test_stream_trigger.py",),
    ),
    "published values that the source lacks are accepted for NULLs": Fault(
        "sql/gate/stream_gate.sql", " + invented.records", "", ("tests/algorithms/streams/test_incomplete.py",)
    ),
    "one deferred record is published": Fault(
        "sql/release/plan/withheld_records.sql",
        "> coalesce(w.records, 0)",
        ">= coalesce(w.records, 0)",
        ("tests/views/test_refresh_hold.py",),
    ),
    "people who return are not compared with earlier classes": Fault(
        "dbanon/views/build_version.py",
        "    if entry.keeps_classes:\n        differences += version_differences.returned_people(",
        "    if False:\n        differences += version_differences.returned_people(",
        ("tests/views/test_refresh_hold.py",),
    ),
    "other releases of the same people are not compared": Fault(
        "sql/ledger/composition/composition.sql",
        "WHERE candidates < k OR",
        "WHERE candidates < 0 OR",
        ("tests/ledger/composition/test_composition.py",),
    ),
    "the first version is taken as the latest": Fault(
        "dbanon/ledger/releases.py",
        "return max(versions, key=lambda e: e.version)",
        "return min(versions, key=lambda e: e.version)",
        ("tests/publishing/test_certificate.py", "tests/views/test_refresh.py"),
    ),
    "a changed file passes the verification": Fault(
        "dbanon/publishing/verify.py",
        "elif file_hash(file) != expected:",
        "elif not expected:",
        ("tests/runtime/test_drafts.py",),
    ),
    # User input
    "a quote in a name ends the name": Fault(
        "dbanon/sqltext/quote.py",
        """'"' + name.replace('"', '""') + '"'""",
        """'"' + name + '"'""",
        ("tests/sqltext/test_injection.py", "tests/table_functions/test_arguments.py"),
    ),
    "a quote in a text ends the text": Fault(
        "dbanon/sqltext/quote.py",
        """piece.replace("'", "''")""",
        "piece",
        ("tests/table_functions/test_arguments.py", "tests/sqltext/test_injection.py"),
    ),
    "an argument that is given twice is accepted": Fault(
        "dbanon/table_functions/arguments.py",
        "        if name in values:\n            raise errors.RepeatedArgumentError",
        "        if False:\n            raise errors.RepeatedArgumentError",
        ("tests/table_functions/test_arguments.py", "tests/errors/test_errors.py"),
    ),
    "k = 1 is accepted": Fault(
        "dbanon/algorithms/base/common_parameters.py",
        '    "k",\n    Integer(2),',
        '    "k",\n    Integer(1),',
        ("tests/errors/test_errors.py", "tests/table_functions/test_arguments.py"),
    ),
    "an error contains a value of the source": Fault(
        "dbanon/errors/redaction.py",
        "        if redacted is None or not source_names:\n",
        "        if redacted is not None or not source_names:\n",
        ("tests/errors/test_cells.py",),
    ),
    "an error ends with exit code 0": Fault(
        "dbanon/cli/terminal/common.py",
        "raise ExitError(",
        "raise click.exceptions.Exit(0) if True else ExitError(",
        ("tests/cli/test_cli.py",),
    ),
    # Reports and exports of a release
    "a table of other rows is taken for the release": Fault(
        "dbanon/audit/release_lookup.py",
        'hashes.version_changes(call.cursor, entry, table_suffixes=("",))',
        "None",
        ("tests/audit/test_ledger_sources.py",),
    ),
    "another source than that of the release is taken": Fault(
        "dbanon/audit/release_lookup.py",
        "    if not _is_same_relation(ledger_source, call_source):\n",
        "    if False:\n",
        ("tests/audit/test_ledger_sources.py",),
    ),
    "a release is read with changed hierarchies": Fault(
        "dbanon/audit/release_lookup.py",
        "_hierarchy_fingerprint(call, entry, hierarchies) != entry.hierarchy_fingerprint",
        "False",
        ("tests/audit/test_ledger_sources.py",),
    ),
    "files are written in the newest storage version": Fault(
        "dbanon/publishing/release_files.py",
        "storage_version or runtime_storage_version.DEFAULT_VERSION",
        'storage_version or "latest"',
        ("tests/runtime/test_storage.py", "tests/publishing/test_publish.py"),
    ),
    # Related tables
    "persons who are unique over several tables are not counted": Fault(
        "sql/gate/related_gate.sql",
        "count(*) FILTER (WHERE size < {{ k }}) AS small",
        "0 AS small",
        ("tests/release/related/test_related_mutants.py",),
    ),
    "sensitive values of related rows are not counted": Fault(
        "sql/gate/related_person_values.sql",
        "count(DISTINCT {{ t.names.key }}) AS holders",
        "1 AS holders",
        ("tests/release/related/test_related_mutants.py",),
    ),
    "people with a sensitive value are not counted": Fault(
        "dbanon/algorithms/postprocess/multivalued_diversity.py",
        "len(people) // int(holders.max())",
        "len(people)",
        ("tests/release/related/test_related_attack.py", "tests/release/related/test_related_mutants.py"),
    ),
    "a key that differs from dbanon.relation is accepted": Fault(
        "dbanon/release/related/person_keys.py",
        "if call_key is not None and _folded_pairs(call_key) != _folded_pairs(stored_key):",
        "if call_key is not None and len(call_key) != len(stored_key):",
        ("tests/policy/test_relation.py",),
    ),
    "a release beside related tables is not refused": Fault(
        "dbanon/ledger/composition/overlap.py",
        "overlapping = [other for other in _all_related_releases(cursor) if bases & _related_bases(cursor, other)]",
        "overlapping = [other for other in _all_related_releases(cursor) if bases < _related_bases(cursor, other)]",
        ("tests/views/test_related_views.py",),
    ),
    "a class publishes one more related row than all its people have": Fault(
        "sql/release/related/pipeline.sql",
        "WHERE place <= size",
        "WHERE place <= size + 1",
        ("tests/release/related/test_related_attack.py", "tests/release/related/test_related_release.py"),
    ),
}

FAULTS: dict[str, Fault] = {}
"""All faults by name."""

for _of_a_topic in (_FAULTS, GATE_FAULTS, OUTPUT_FAULTS, SERVE_FAULTS, SPARK_FAULTS):
    assert not FAULTS.keys() & _of_a_topic.keys(), "two faults have one name"
    FAULTS |= _of_a_topic
