# ruff: noqa: E501
"""Faults between the source and the output, behind and within the release gate."""

from __future__ import annotations

from .fault import Fault

GATE_FAULTS: dict[str, Fault] = {
    "persons are distinguished by row numbers": Fault(
        "sql/release/plan/source.sql",
        "{% if person %}{{ person }} AS person, {% endif %}",
        "{% if person %}({{ person }} || '/' || (length({{ person }}) % 2)::VARCHAR || '/' || {% if has_rowid %}rowid{% else %}0{% endif %} % 2) AS person, {% endif %}",
        ("tests/gate/test_recomputed_rows.py",),
    ),
    "each kind of record has one record less": Fault(
        "sql/release/plan/source.sql",
        "{% if weight %}sum(weight)::BIGINT{% else %}count(*){% endif %} AS size",
        "{% if weight %}sum(weight)::BIGINT{% else %}greatest(count(*) - 1, 1){% endif %} AS size",
        ("tests/gate/test_recomputed_rows.py",),
    ),
    "clusters of one group share a span": Fault(
        "sql/release/plan/generalize.sql",
        "THEN -1 - min(gid) ELSE cluster END{% endif %} AS span",
        "THEN -1 - min(gid) % 4 ELSE cluster END{% endif %} AS span",
        ("tests/gate/test_recomputed_rows.py",),
    ),
    "an interval ends at the 90th percentile": Fault(
        "sql/release/plan/generalize.sql",
        ", min(e.{{ 'code'|of(q) }}) AS {{ 'low'|of(q) }}, max(e.{{ 'code'|of(q) }}) AS {{ 'high'|of(q) }}",
        ", min(e.{{ 'code'|of(q) }}) AS {{ 'low'|of(q) }}, quantile_disc(e.{{ 'code'|of(q) }}, 0.9) AS {{ 'high'|of(q) }}",
        ("tests/gate/test_recomputed_rows.py",),
    ),
    "a class with NULLs and values publishes NULL": Fault(
        "sql/release/plan/span_values.sql",
        "WHEN {{ is_star(sql('x.'), q) }} THEN '*' END AS {{ 'published'|of(q) }}",
        "WHEN {{ is_star(sql('x.'), q) }} THEN NULL END AS {{ 'published'|of(q) }}",
        ("tests/gate/test_recomputed_rows.py",),
    ),
    "the common ancestor is that of smaller nodes": Fault(
        "sql/release/plan/hierarchy_columns.sql",
        "lambda z: z[1] = z[2]",
        "lambda z: z[1] <= z[2]",
        ("tests/gate/test_recomputed_rows.py",),
    ),
    "nodes are rounded one level too deep": Fault(
        "sql/release/plan/hierarchy_columns.sql",
        "t.line[t.depth - t.depth % {{ setting(trees, 'round', 1, sql('c.tree')) }} + 1]",
        "t.line[least(t.depth, t.depth - t.depth % {{ setting(trees, 'round', 1, sql('c.tree')) }} + 2) + 1]",
        ("tests/policy/test_coarsening.py",),
    ),
    "values have codes of another hierarchy": Fault(
        "sql/release/plan/encoded.sql",
        "{% else %}{{ 'domain'|of(q) }}.code{% endif %} AS {{ 'code'|of(q) }}",
        "{% else %}coalesce({{ 'domain'|of(q) }}.code, 0){% endif %} AS {{ 'code'|of(q) }}",
        ("tests/gate/test_recomputed_rows.py",),
    ),
    "top is not applied to upper ends": Fault(
        "sql/release/plan/number_column.sql",
        "least({{ snapped_high(q, value) }}, {{ q.top }})",
        "{{ snapped_high(q, value) }}",
        ("tests/gate/test_recomputed_rows.py",),
    ),
    "bottom is not applied to codes": Fault(
        "sql/release/plan/number_column.sql",
        "greatest({{ value }}, {{ q.bottom }})",
        "{{ value }}",
        ("tests/gate/test_recomputed_rows.py",),
    ),
    "months end two days early": Fault(
        "sql/release/plan/number_column.sql",
        "{%- elif q.grid.months == 1 -%} last_day({{ day(value) }})",
        "{%- elif q.grid.months == 1 -%} last_day({{ day(value) }}) - 2",
        ("tests/gate/test_recomputed_rows.py",),
    ),
    "decades end one day early": Fault(
        "sql/release/plan/number_column.sql",
        "' + ', q.grid.months, ')')) }} - 1",
        "' + ', q.grid.months, ')')) }} - 2",
        ("tests/source/test_types.py",),
    ),
    "a month is published as the next one": Fault(
        "sql/release/plan/number_column.sql",
        "{%- else -%} left({{ end }}::VARCHAR, 7) {%- endif -%}",
        "{%- else -%} left(({{ end }} + 20)::VARCHAR, 7) {%- endif -%}",
        ("tests/gate/test_recomputed_rows.py",),
    ),
    "the ends of intervals are exchanged": Fault(
        "sql/release/plan/number_column.sql",
        "ELSE '[' || {{ from_text }} || ', ' || {{ to_text }} || ']'",
        "ELSE '[' || {{ to_text }} || ', ' || {{ from_text }} || ']'",
        ("tests/gate/test_recomputed_rows.py",),
    ),
    "records with equal codes are ordered by row number": Fault(
        "sql/release/plan/classes_of_records.sql",
        "ORDER BY unchanged_hash ASC, rid ASC ROWS",
        "ORDER BY rid ASC ROWS",
        ("tests/release/test_row_order.py",),
    ),
    "groups in several classes lose a record in each": Fault(
        "sql/release/plan/classes_of_records.sql",
        "greatest(p.first, d.last - d.size + 1) + 1)::BIGINT AS size",
        "greatest(p.first, d.last - d.size + 1))::BIGINT AS size",
        ("tests/release/test_row_order.py",),
    ),
    "rows are published in reverse order": Fault(
        "sql/release/plan/output_rows.sql",
        "ORDER BY r.class_id ASC",
        "ORDER BY r.class_id DESC",
        ("tests/gate/test_recomputed_rows.py",),
    ),
    "rows of a class are not ordered": Fault(
        "sql/release/plan/output_rows.sql",
        "{% for u in unchanged %}, {{ sql(u.sort_key(sql('r.', u.column))) }} ASC NULLS LAST{% if not u.text_is_value %}, r.{{ 'text'|of(u) }} ASC NULLS LAST{% endif %}{% endfor %}) AS {{ place }}",
        ") AS {{ place }}",
        ("tests/gate/test_recomputed_rows.py",),
    ),
    "the clustering takes each record for a person": Fault(
        "sql/release/plan/encoded.sql",
        "THEN md5_number_lower(s.person::VARCHAR) END AS person",
        "THEN md5_number_lower(s.rid::VARCHAR) END AS person",
        ("tests/gate/test_recomputed_rows.py",),
    ),
    "equal published values are several classes": Fault(
        "sql/release/plan/pipeline.sql",
        "        dense_rank() OVER (ORDER BY\n",
        "        dense_rank() OVER (ORDER BY span ASC,\n",
        ("tests/gate/test_recomputed_rows.py",),
    ),
    "each distinct row is published once": Fault(
        "sql/release/plan/output_rows.sql",
        "sum({{ dealt() }})::BIGINT AS size",
        "least(sum({{ dealt() }})::BIGINT, 1) AS size",
        ("tests/gate/test_recomputed_rows.py",),
    ),
    "a kind of record counts once in its group": Fault(
        "sql/release/plan/encoded.sql", "size := s.size", "size := 1", ("tests/release/test_row_order.py",)
    ),
    "persons count in classes without a record of theirs": Fault(
        "sql/gate/checks.sql",
        "FROM record_classes WHERE size < 1",
        "FROM record_classes WHERE false",
        ("tests/gate/test_gate.py",),
    ),
    "open ends of intervals can be off the grid": Fault(
        "sql/gate/policy_conformance.sql",
        "{%- else -%} {{ keeps(r, end, is_low) }} {%- endif -%}",
        "{%- else -%} (regexp_matches({{ words }}, '^[<>]=') OR {{ keeps(r, end, is_low) }}) {%- endif -%}",
        ("tests/release/plan/test_calendar_units.py",),
    ),
    "unchanged values of a class are not compared": Fault(
        "sql/gate/checks.sql",
        " OR released.checksum IS DISTINCT FROM originals.checksum",
        "",
        ("tests/gate/test_gate.py",),
    ),
    "a group in several classes is in each (shared with the gate)": Fault(
        "sql/shared/record_assignment.sql", "coalesce(l.size, s.size)", "s.size", ("tests/release/test_row_order.py",)
    ),
    "outliers are released (shared with the gate)": Fault(
        "sql/shared/record_assignment.sql",
        "l.class_id IS DISTINCT FROM -1{% endif +%}\n{%- endmacro %}\n{#- Every kind",
        "true{% endif +%}\n{%- endmacro %}\n{#- Every kind",
        ("tests/gate/test_recomputed_rows.py",),
    ),
    "dropped NULLs are counted as outliers": Fault(
        "sql/shared/record_assignment.sql",
        "THEN 'outlier' ELSE 'null' END",
        "THEN 'null' ELSE 'outlier' END",
        ("tests/gate/test_recomputed_rows.py",),
    ),
    "values without a node are accepted (shared)": Fault(
        "sql/release/plan/input_errors.sql",
        "                    WHEN uncovered > 0 THEN {{ messages.failure('values without a leaf', say.uncovered) }}\n",
        "",
        ("tests/policy/hierarchies/test_hierarchy.py",),
    ),
    "min_level is not applied to values": Fault(
        "dbanon/udf/hierarchies.py",
        "clustered_nodes = tree.order.ancestors(value_nodes, min_level)",
        "clustered_nodes = tree.order.ancestors(value_nodes, 0)",
        ("tests/gate/test_recomputed_rows.py",),
    ),
    "values without a node are not counted": Fault(
        "dbanon/udf/hierarchies.py",
        '"uncovered": matched.n_uncovered',
        '"uncovered": 0',
        ("tests/policy/hierarchies/test_hierarchy.py",),
    ),
    "a leaf is published with another label": Fault(
        "dbanon/udf/hierarchies.py",
        'label.startswith("\\\\") or self.may_denote_inner_node(label)) else label',
        'label.startswith("\\\\") or self.may_denote_inner_node(label)) else label[::-1]',
        ("tests/udf/test_trees.py",),
    ),
    "classes count records as persons": Fault(
        "sql/release/plan/classes.sql",
        "c.persons AS {{ names.persons }}",
        "c.size AS {{ names.persons }}",
        ("tests/gate/test_recomputed_rows.py",),
    ),
    "the table of classes counts one more of each sensitive value": Fault(
        "sql/release/plan/classes.sql",
        "struct_pack(value := v.value, size := v.size)",
        "struct_pack(value := v.value, size := v.size + 1)",
        ("tests/gate/test_recomputed_rows.py",),
    ),
    "the achieved model is that of the best class, not of the worst": Fault(
        "sql/privacy_models/achieved_value.sql",
        "{% if m.higher %}min{% else %}max{% endif %}",
        "{% if m.higher %}max{% else %}min{% endif %}",
        ("tests/gate/test_recomputed_rows.py",),
    ),
    "k in the metrics is the mean": Fault(
        "sql/release/plan/metric_totals.sql",
        "min({{ people }})",
        "avg({{ people }})",
        ("tests/gate/test_recomputed_rows.py",),
    ),
    "the person is published": Fault(
        "dbanon/release/spec/release_spec.py",
        "names = {*self.roles.sensitive, *self.roles.insensitive, *self.transformed}",
        "names = {*self.roles.sensitive, *self.roles.insensitive, *self.transformed, self.roles.person}",
        ("tests/gate/test_recomputed_rows.py",),
    ),
    "min_level of the policy is ignored": Fault(
        "dbanon/release/plan/template_columns.py",
        "min_level=settings.min_level or 0",
        "min_level=0",
        ("tests/gate/test_recomputed_rows.py",),
    ),
    "top of the policy is ignored": Fault(
        "dbanon/release/plan/number_column.py",
        "top=coding_limit(settings.top)",
        "top=None",
        ("tests/gate/test_recomputed_rows.py",),
    ),
    "every grid of dates is days": Fault(
        "dbanon/release/plan/number_column.py",
        'months=_GRID_MONTHS.get(attribute.grid or "") if is_calendar else None',
        "months=None",
        ("tests/gate/test_recomputed_rows.py",),
    ),
    "texts are read without their first character": Fault(
        "dbanon/release/plan/template_columns.py",
        'return Sql(f"{value_label(self.source_value, self.source_type, self.leaf_shapes)} COLLATE POSIX")',
        'return Sql(f"substr({value_label(self.source_value, self.source_type, self.leaf_shapes)}, 2) COLLATE POSIX")',
        ("tests/gate/test_recomputed_rows.py",),
    ),
    "the gate removes zeros of whole numbers": Fault(
        "dbanon/gate/label_notation.py",
        "CASE WHEN {has_decimals} THEN rtrim",
        "CASE WHEN true THEN rtrim",
        ("tests/policy/hierarchies/test_value_labels.py",),
    ),
    "only the first hierarchy is searched for missing values": Fault(
        "sql/release/plan/input_errors.sql",
        "any_value(failure ORDER BY position ASC)",
        "first(failure ORDER BY position ASC)",
        ("tests/policy/hierarchies/test_missing_values.py",),
    ),
    "codes for missing values are published": Fault(
        "dbanon/release/spec/release_spec.py",
        "self.reading.missing_codes.get(column, ())\n        )\n\n",
        "()\n        )\n\n",
        ("tests/gate/test_recomputed_rows.py",),
    ),
    "pseudonyms of all calls share one scope (shared)": Fault(
        "dbanon/release/spec/resolve.py",
        'return f"call {json.dumps(call, default=str)}"',
        'return "call"',
        ("tests/policy/transforms/test_roles.py::test_one_pseudonym_per_person_without_identifier",),
    ),
    "every reference to a key means DBANON_KEY (shared)": Fault(
        "dbanon/runtime/secret_keys.py",
        'key_text = os.environ.get(name) if kind == "env" else _read_key_file(name)',
        'key_text = os.environ.get("DBANON_KEY") if kind == "env" else _read_key_file(name)',
        ("tests/policy/transforms/test_gate_key.py",),
    ),
    "pseudonyms are computed without the key": Fault(
        "dbanon/policy/transforms/pseudonymize.py",
        "base_mac = hmac.new(key, purpose, hashlib.sha256)",
        'base_mac = hmac.new(b"", purpose, hashlib.sha256)',
        ("tests/policy/transforms/test_pseudonym_generation.py",),
    ),
    "a shift may be zero": Fault(
        "dbanon/policy/transforms/pseudonymize.py",
        "return offset if offset < 0 else offset + 1",
        "return offset",
        ("tests/policy/transforms/test_pseudonym_generation.py",),
    ),
    "dates are shifted by their month": Fault(
        "dbanon/release/spec/transformed_columns.py",
        '"DATE": f"{value} + {days}"',
        '"DATE": f"{value} + {days} % 3"',
        ("tests/policy/transforms/test_roles.py",),
    ),
    "a mask keeps one more character": Fault(
        "dbanon/release/spec/transformed_columns.py",
        "left_grapheme({value_text}, {transform.first})",
        "left_grapheme({value_text}, {transform.first} + 1)",
        ("tests/policy/transforms/test_roles.py",),
    ),
    "the cache returns clusters of other privacy models": Fault(
        "dbanon/udf/cluster.py", '            "models",\n', "", ("tests/gate/test_recomputed_rows.py",)
    ),
    "parts of groups end one record too late": Fault(
        "dbanon/udf/cluster.py",
        "        last_records.astype(np.int32),\n    ]",
        "        (last_records + 1).astype(np.int32),\n    ]",
        ("tests/gate/test_recomputed_rows.py",),
    ),
    "NULLs have the code of the last value": Fault(
        "dbanon/udf/cluster_input.py",
        'return np.asarray(to_numpy(records.field("codes").field(number), attribute.values), np.int32)',
        'return np.asarray(to_numpy(records.field("codes").field(number), attribute.values - 1), np.int32)',
        ("tests/gate/test_recomputed_rows.py",),
    ),
    "the clustering uses k - 1": Fault(
        "dbanon/udf/cluster.py",
        'return Constraint(request["k"],',
        'return Constraint(request["k"] - 1,',
        ("tests/gate/test_recomputed_rows.py",),
    ),
    "streams: suppressed rows keep their values": Fault(
        "sql/release/streams/pipeline.sql",
        "CASE WHEN l.class_id <> -1 THEN s.{{ u.column }} END AS {{ u.column }}",
        "s.{{ u.column }} AS {{ u.column }}",
        ("tests/algorithms/streams/test_stream_functions.py",),
    ),
    "streams: a reused class has the number of the next one": Fault(
        "sql/release/streams/pipeline.sql",
        "coalesce(l.again, c.class_id) END AS class_id",
        "coalesce(l.again + 1, c.class_id) END AS class_id",
        (
            "tests/views/test_streaming.py::test_refreshes_in_pieces_equal_function[l-castle]",
            "tests/views/test_streaming.py::test_class_rows_not_in_arrival_order",
        ),
    ),
    "streams: k - 1 is used": Fault(
        "dbanon/udf/stream.py",
        'Model(request["k"],',
        'Model(request["k"] - 1,',
        ("tests/algorithms/streams/test_stream_functions.py",),
    ),
    "streaming view: the last row is read again (shared)": Fault(
        "dbanon/views/stream_refresh.py",
        'Sql(f"rowid > {last_row}")',
        'Sql(f"rowid >= {last_row}")',
        (
            "tests/views/test_streaming.py::test_refreshes_in_pieces_equal_function[l-castle]",
            "tests/views/test_streaming.py::test_class_rows_not_in_arrival_order",
        ),
    ),
    "streaming view: published records stay pending (shared)": Fault(
        "dbanon/views/stream_refresh.py",
        'WHERE {reading.cluster} <> -2)"',
        'WHERE {reading.cluster} < -2)"',
        (
            "tests/views/test_streaming.py::test_refreshes_in_pieces_equal_function[l-castle]",
            "tests/views/test_streaming.py::test_class_rows_not_in_arrival_order",
        ),
    ),
    "streaming view: arrivals are counted from zero again (shared)": Fault(
        "dbanon/views/stream_refresh.py",
        '"arrived": entry.arrived + result.read',
        '"arrived": result.read',
        (
            "tests/views/test_streaming.py::test_refreshes_in_pieces_equal_function[l-castle]",
            "tests/views/test_streaming.py::test_class_rows_not_in_arrival_order",
        ),
    ),
    "related: people publish as many rows as the one with the most": Fault(
        "sql/release/related/pipeline.sql",
        "least(min({{ 'row count'|of(t) }}), {{ cap }})",
        "least(max({{ 'row count'|of(t) }}), {{ cap }})",
        ("tests/release/related/test_related_release.py",),
    ),
    "related: pseudonyms are in the order of the keys": Fault(
        "sql/release/related/pipeline.sql",
        "row_number() OVER (ORDER BY {% for t in tables %}{{ 'seen'|of(t) }} ASC, {% endfor %}",
        "row_number() OVER (ORDER BY person ASC, {% for t in tables %}{{ 'seen'|of(t) }} ASC, {% endfor %}",
        ("tests/release/related/test_related_rows.py",),
    ),
    "related: rows have the values of the next cluster": Fault(
        "sql/release/related/pipeline.sql",
        "cluster * {{ cap }} + place - 1 AS cluster",
        "cluster * {{ cap }} + 1 AS cluster",
        ("tests/release/related/test_related_rows.py",),
    ),
    "related: rows have the number of another person": Fault(
        "sql/release/related/pipeline.sql",
        "JOIN numbered AS n ON n.person = v.person",
        "JOIN (SELECT * REPLACE (lag(person, 1, person) OVER (ORDER BY person) AS person) FROM numbered) AS n ON n.person = v.person",
        ("tests/release/related/test_related_rows.py",),
    ),
    "related: l-diversity is not checked": Fault(
        "sql/release/related/pipeline.sql",
        "WHERE r.{{ h.column }} IS NOT NULL{% if h.table.i %}",
        "WHERE false AND r.{{ h.column }} IS NOT NULL{% if h.table.i %}",
        ("tests/release/related/test_related_rows.py",),
    ),
    "deferral: no record is deferred": Fault(
        "dbanon/views/deferred_records.py",
        "spec = spec.with_version_constraints(deferred_members=entry.deferred_members)",
        "spec = spec.with_version_constraints(deferred_members=None)",
        ("tests/views/test_refresh_hold.py",),
    ),
    "erasure: the classes of other people are deleted": Fault(
        "dbanon/views/erasure.py",
        "WHERE class_id NOT IN ({ids}))",
        "WHERE class_id IN ({ids}))",
        ("tests/ledger/composition/test_version_differences.py", "tests/views/test_refresh_hold.py"),
    ),
    "versions: nothing is compared with the version before": Fault(
        "dbanon/views/build_version.py",
        "count = compare_version.count_small_differences(cursor, entry, old, spec)",
        "count = 0",
        ("tests/ledger/test_delta_count.py",),
    ),
    "versions: people who stayed are taken for new ones": Fault(
        "dbanon/ledger/composition/version_differences.py",
        "if (o in with_records) != is_new)",
        "if (o in with_records) == is_new)",
        ("tests/ledger/test_delta_count.py",),
    ),
    "output: every row once more (after the gate)": Fault(
        "sql/release/plan/result.sql",
        "unnest({{ copies }})",
        "unnest(list_append({{ copies }}, 0::TINYINT))",
        ("tests/gate/test_recomputed_rows.py",),
    ),
    "output: at most 30 distinct rows (after the gate)": Fault(
        "sql/release/plan/result.sql",
        "FROM (FROM published_rows WHERE",
        "FROM (FROM (FROM published_rows LIMIT 30) WHERE",
        ("tests/gate/test_recomputed_rows.py",),
    ),
    "output: rows in no order (after the gate)": Fault(
        "sql/release/plan/result.sql",
        "ORDER BY {{ place }} ASC",
        "ORDER BY hash({{ place }}) ASC",
        ("tests/gate/test_recomputed_rows.py",),
    ),
    "appended rows: without the gate": Fault(
        "sql/release/streams/appended.sql",
        "WHERE (SELECT passed FROM gate)",
        "WHERE true OR (SELECT passed FROM gate)",
        (
            "tests/views/test_streaming.py::test_refreshes_in_pieces_equal_function[l-castle]",
            "tests/views/test_streaming.py::test_class_rows_not_in_arrival_order",
        ),
    ),
    "stream release: rows in no order": Fault(
        "sql/release/streams/release.sql",
        "ORDER BY {{ stream.published_at }} ASC, {{ class_id }} ASC NULLS LAST, {{ stream.arrived_at }} ASC",
        "",
        ("tests/algorithms/streams/test_stream_functions.py",),
    ),
    "streaming view: pending rows are published too": Fault(
        "dbanon/views/stream_refresh.py",
        "WHERE {reserved['suppressed']} IS NOT NULL ORDER BY",
        "WHERE true ORDER BY",
        (
            "tests/views/test_streaming.py::test_refreshes_in_pieces_equal_function[l-castle]",
            "tests/views/test_streaming.py::test_class_rows_not_in_arrival_order",
        ),
    ),
    "streaming view: rows in the order of their arrival": Fault(
        "dbanon/views/stream_refresh.py",
        "md5(row({columns})::VARCHAR) ASC",
        "1",
        (
            "tests/views/test_streaming.py::test_refreshes_in_pieces_equal_function[l-castle]",
            "tests/views/test_streaming.py::test_class_rows_not_in_arrival_order",
        ),
    ),
    "related: without the gate": Fault(
        "sql/release/related/release.sql", "WHERE", "WHERE true OR", ("tests/release/related/test_related_rows.py",)
    ),
    "composition: sets of candidates have one more person": Fault(
        "sql/ledger/composition/composition.sql",
        "count(DISTINCT person_key) AS candidates FROM class_pairs",
        "count(DISTINCT person_key) + 1 AS candidates FROM class_pairs",
        ("tests/ledger/composition/test_composition.py",),
    ),
    "releases of the same source: none are found": Fault(
        "dbanon/ledger/same_source.py",
        "for e in releases.entries(cursor, database))\n    return [e for e in versions if bases & comparable_bases(e)]",
        "for e in releases.entries(cursor, database))\n    return [e for e in versions if bases < comparable_bases(e)]",
        ("tests/views/test_related_views.py",),
    ),
    "releases of the same source: no stream is found": Fault(
        "dbanon/ledger/same_source.py",
        "for e in streams.entries(cursor, database))\n    return [e for e in all_streams if bases & comparable_bases(e)]",
        "for e in streams.entries(cursor, database))\n    return [e for e in all_streams if bases < comparable_bases(e)]",
        ("tests/views/test_related_views.py",),
    ),
}
