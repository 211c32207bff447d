{#- What a new version reveals together with all that were published before it of the same people.

    A record is a published value of a person (person_identity, value_hash, and a number among equal ones). Within
    classes record_identity takes the place of the person: it is what counts of the record that matters, because it is
    not known which of two equal records is in which class. In a set of records (all; those published with equal
    quasi-identifiers; a cluster that was kept) the presence of a record in each earlier version is its signature, and
    the records of one signature are an atom. A reader can isolate only atoms by adding and subtracting versions. If all
    atoms meet the model, all that can be computed from the versions follows from a release with the atoms as classes,
    which would be allowed. So the new version may split an atom only into parts that meet the model, and new records
    must meet it, too. (Signed combinations of versions require less, because not every atom can be isolated alone, but
    there are 3^n of them.) Parts that were isolated before do not count again.

    `linked`: two versions only, and the sets are classes of both that are connected by records in both, whose sums can
    be subtracted. `refined`: the classes that a record was in, version by version, instead of its mere presence: then
    comparing versions narrows nothing at all.

    One row per signature whose parts fail: bits of the versions that had it, whether the new one has it, how many sets,
    people and which parameters. It shares no step with what made the versions. -#}
{%- from 'release/plan/row_identity.sql' import value_hash, cells with context -%}
{% macro before() -%}
{% for c in chunks %}before{{ loop.index0 }}, {% endfor %}
{%- endmacro %}
{% macro masks() -%}
{% for c in chunks %}{{ c.mask }}, {% endfor %}
{%- endmacro %}
{% macro is_in_earlier_versions() -%}
({% for c in chunks %}before{{ loop.index0 }} <> 0{{ sql(' OR ') if not loop.last }}{% endfor %})
{%- endmacro %}
{#- The signature of records, from rows of set_values. -#}
{% macro signature() -%}
{% if refined %}
        set_id + sum(CASE WHEN version < {{ last }} THEN hash(version, class_id)::HUGEINT ELSE 0 END) AS id,
        {% else %}
        set_id AS id,
        {% endif %}
        {% for c in chunks %}
        bit_or(CASE
            WHEN version BETWEEN {{ c.first }} AND {{ c.last }} THEN 1::BIGINT << (version - {{ c.first }})::BIGINT
            ELSE 0::BIGINT
        END) AS before{{ loop.index0 }},
        {% endfor %}
        max(CASE WHEN version = {{ last }} THEN class_id END) AS new_class
{%- endmacro %}
{% set record = sql('person_identity') if alike == who else sql('record_identity') %}
{#- The sets in which records are compared besides `whole`: their kind, and the column that numbers them. -#}
{% set kinds = (('linked', 'component'),) if linked else (('label', 'label_hash'), ('lineage', 'lineage')) %}
{#- The records of value_counts or version_values with an identity and a value of which something has changed. -#}
{% macro changed(join, identity) -%}
{{ join }} JOIN changed_values AS c
        ON c.{{ identity }} IS NOT DISTINCT FROM v.{{ identity }} AND c.value_hash IS NOT DISTINCT FROM v.value_hash
{%- endmacro %}
{#- The columns that identify a person and a record. -#}
{% macro identities() -%}person_identity{% if alike != who %}, record_identity{% endif %}{%- endmacro %}
{#- Whether the records of a set value have the same signature. -#}
{% macro is_common() -%} (min(records) = max(records) AND min(start) = max(start)) {%- endmacro %}
WITH RECURSIVE
-- One row per version, person, class and published value, as it is stored: how many records.
version_values AS MATERIALIZED (
    {% for v in versions %}
    {% if not loop.first %}
    UNION ALL
    {% endif %}
    SELECT
        {{ v.i }} AS version, {{ who }} AS person_identity, \
        {% if alike != who %}{{ alike }} AS {{ record }}, {% endif %}{{ v.value }} AS value_hash, class_id, label_hash,
        {% if v.lineage is none %}
        NULL::HUGEINT AS lineage,
        {% else %}
        cluster_id::HUGEINT + 4294967296::HUGEINT * {{ v.lineage }} AS lineage,
        {% endif %}
        {% if linked %}
        component,
        {% endif %}
        records
    FROM {{ v.members }}
    {% if linked %}
    LEFT JOIN (
        SELECT unnest($classes{{ v.i }}::BIGINT[]) AS class_id, unnest($numbers{{ v.i }}::BIGINT[]) AS component
    ) USING (class_id)
    {% endif %}
    WHERE class_id IS NOT NULL
    {% endfor %}
),
{% if not refined %}
-- One row per person, published value and the sets that have it: whether every version has it once, with the same
-- number of records. Then these records have the same signature in every set.
value_counts AS MATERIALIZED (
    SELECT
        {{ identities() }}, value_hash{% for _, id in kinds %}, {{ sql(id) }}{% endfor %}, \
        min(records) AS records,
        count(*) = {{ last + 1 }} AND max(version) = {{ last }} AND min(records) = max(records)
        {% for c in chunks %}
            AND bit_or(CASE
                WHEN version BETWEEN {{ c.first }} AND {{ c.last }} THEN 1::BIGINT << (version - {{ c.first }})::BIGINT
                ELSE 0::BIGINT
            END) = {{ c.mask }}
        {% endfor %}
        AS is_unchanged
    FROM version_values
    GROUP BY {{ identities() }}, value_hash{% for _, id in kinds %}, {{ sql(id) }}{% endfor +%}
),
-- One row per person, record and published value of which something has changed.
changed_values AS MATERIALIZED (
    SELECT DISTINCT {{ identities() }}, value_hash FROM value_counts WHERE NOT is_unchanged
),
{% endif %}
-- One row per set, version and record value: how many records, and how many equal ones come before them. Values that no
-- version has changed are not among them.
set_values AS MATERIALIZED (
    {% if refined %}
    SELECT
        'refined' AS kind, 0::HUGEINT AS set_id, version, record_identity, value_hash, class_id, records,
        (sum(records) OVER (PARTITION BY version, record_identity, value_hash ORDER BY class_id ASC))::BIGINT
            - records AS start
    FROM (
        SELECT version, {{ record }} AS record_identity, value_hash, class_id, sum(records)::BIGINT AS records
        FROM version_values
        GROUP BY ALL
    )
    {% else %}
    SELECT
        'whole' AS kind, 0::HUGEINT AS set_id, version, person_identity AS record_identity, value_hash, 0 AS class_id,
        sum(records)::BIGINT AS records, 0 AS start
    FROM version_values AS v
    {{ changed(sql('SEMI'), sql('person_identity')) }}
    GROUP BY version, person_identity, value_hash
    {% for kind, id in kinds %}
    UNION ALL
    SELECT
        '{{ sql(kind) }}', {{ sql(id) }}::HUGEINT, version, v.{{ record }}, value_hash, 0, sum(records)::BIGINT, 0
    FROM version_values AS v
    {{ changed(sql('SEMI'), record) }}
    WHERE {{ sql(id) }} IN (SELECT {{ sql(id) }} FROM version_values WHERE version = {{ last }})
        AND {{ sql(id) }} IN (SELECT {{ sql(id) }} FROM version_values WHERE version < {{ last }})
    GROUP BY version, v.{{ record }}, value_hash, {{ sql(id) }}
    {% endfor %}
    {% endif %}
),
-- One row per set and record value: the signature of its records if they have the same one, because all versions that
-- have the value have it equally often; otherwise signatures are computed record by record.
value_signatures AS MATERIALIZED (
    SELECT
        kind, set_id, record_identity, value_hash, {{ signature() }},
        any_value(records) AS size, {{ is_common() }} AS is_common
    FROM set_values
    GROUP BY kind, set_id, record_identity, value_hash
),
-- One row per record of a set, or for `size` records: the signature, which is the bits of the earlier versions that
-- have it (before0 and so on), and its class in the new version.
record_signatures AS MATERIALIZED (
    SELECT
        kind, {{ sql('record_identity') if person else sql('NULL') }} AS record_identity, value_hash, id, \
        {{ before() }}new_class, sum(size)::BIGINT AS size
    FROM (
        SELECT kind, record_identity, value_hash, id, {{ before() }}new_class, size
        FROM value_signatures
        WHERE is_common
        UNION ALL
        {# Equal records are numbered in each version. Those between two bounds are in the same versions. #}
        SELECT
            kind, record_identity, value_hash, {{ signature() }},
            any_value(struct_extract(bounds, 2) - struct_extract(bounds, 1))::BIGINT AS size
        FROM (
            SELECT
                s.*,
                unnest(list_filter(
                    list_zip(v.bounds[1:-2], v.bounds[2:]),
                    lambda b: struct_extract(b, 1) >= s.start AND struct_extract(b, 2) <= s.start + s.records
                )) AS bounds
            FROM set_values AS s
            JOIN (
                SELECT
                    kind, set_id, record_identity, value_hash,
                    list_sort(list_distinct(flatten(list([start, start + records]))), 'ASC', 'NULLS LAST') AS bounds
                FROM set_values
                GROUP BY kind, set_id, record_identity, value_hash
                HAVING NOT {{ is_common() }}
            ) AS v
                ON v.kind = s.kind AND v.set_id = s.set_id AND v.value_hash IS NOT DISTINCT FROM s.value_hash
                AND v.record_identity IS NOT DISTINCT FROM s.record_identity
        )
        GROUP BY kind, set_id, record_identity, value_hash, bounds
        {% if not refined %}
        UNION ALL
        {# Unchanged records are in every version. Only a set that lost records can split the atom that they are in. #}
        SELECT
            'whole', {{ sql('v.person_identity') if person else sql('NULL') }}, value_hash, 0::HUGEINT, \
            {{ masks() }}0, sum(records)::BIGINT
        FROM value_counts AS v
        {{ changed(sql('ANTI'), sql('person_identity')) }}
        GROUP BY ALL
        {% for kind, id in kinds %}
        UNION ALL
        SELECT
            '{{ sql(kind) }}', {{ sql('v.', record) if person else sql('NULL') }}, value_hash, \
            {{ sql(id) }}::HUGEINT, {{ masks() }}0, sum(records)::BIGINT
        FROM value_counts AS v
        {{ changed(sql('ANTI'), record) }}
        WHERE {{ sql(id) }} IN (SELECT {{ sql(id) }} FROM value_counts WHERE NOT is_unchanged)
        GROUP BY ALL
        {% endfor %}
        {% endif %}
    )
    GROUP BY ALL
),
-- One row per atom: whether the new version splits it.
atoms AS (
    SELECT
        kind, id, {{ before() }}
        count(DISTINCT new_class) + (count(*) > count(new_class))::INTEGER > 1 AS is_split
    FROM record_signatures
    GROUP BY kind, id, {{ before() }}true
),
-- One row per record of an atom that is split, or new (or for `size` records): the number of its part.
part_records AS MATERIALIZED (
    SELECT dense_rank() OVER (ORDER BY kind ASC, id ASC, {{ before() }}new_class ASC NULLS LAST) AS class_id, *
    FROM record_signatures
    JOIN atoms USING ({{ before() }}kind, id)
    WHERE (is_split OR NOT {{ is_in_earlier_versions() }})
        {% if side %}
        AND {{ side }}
        {% endif %}
        {% if linked %}
        AND kind <> 'whole'
        {% endif %}
),
-- One row per published value in a part: how many records (of a person) have it.
pieces AS MATERIALIZED (
    SELECT class_id, value_hash, {% if person %}record_identity AS person, {% endif %}sum(size)::BIGINT AS size
    FROM part_records
    GROUP BY ALL
),
-- One row per hash of published values: the values.
published_values AS MATERIALIZED (
    SELECT
        {% if exact %}
        {{ value_hash(sql(''), true) }} AS value_hash
        {% elif unchanged %}
        md5_number_lower({{ cells(sql(''), true) }}::VARCHAR) AS value_hash
        {% else %}
        0::UBIGINT AS value_hash
        {% endif %}
        {% for u in unchanged %}
        , any_value({{ u.name }}) AS {{ u.column }}
        {% endfor %}
    FROM (
        SELECT DISTINCT *
        FROM (
            {% for t in known %}
            {% if not loop.first %}
            UNION ALL BY NAME
            {% endif %}
            SELECT {% for u in unchanged %}{{ u.name }}, {% if not u.text_is_value %}{{ u.name }}::VARCHAR \
                AS {{ 'text'|of(u) }}, {% endif %}{% endfor %}true AS is_known FROM {{ t }}
            {% endfor %}
        )
    )
    GROUP BY value_hash
),
{#- A set is compared with the records of the new version, or, if it was removed, with the earlier records. -#}
{% set compared %}
SELECT
        {% if person %}
        record_identity AS person{{ sql(',') if unchanged }}
        {% endif %}
        {% for u in unchanged %}
        v.{{ u.column }}{{ sql(',') if not loop.last }}
        {% endfor %}
    FROM (
        SELECT kind, record_identity, value_hash, {{ before() }}new_class, unnest(range(size)) AS layer
        FROM record_signatures
    )
    JOIN published_values AS v USING (value_hash)
    WHERE kind IN ('whole', 'refined')
        {% if side == sql('new_class IS NULL') %}
        AND {{ is_in_earlier_versions() }}
        {% else %}
        AND new_class IS NOT NULL
        {% endif %}
{% endset %}
{% include 'ledger/composition/class_differences.sql' %}
SELECT
    kind, [{{ before() }}]::BIGINT[] AS before, is_new, count(*)::BIGINT AS sets, sum(people)::BIGINT AS people,
    list_sort(list_distinct(flatten(list(parameters))), 'ASC', 'NULLS LAST') AS parameters
FROM (SELECT class_id, list(DISTINCT parameter) AS parameters FROM missed_models GROUP BY class_id)
JOIN (
    SELECT DISTINCT class_id, kind, {{ before() }}new_class IS NOT NULL AS is_new FROM part_records
) USING (class_id)
JOIN (
    SELECT class_id, {% if person %}greatest(persons, 1){% else %}records{% endif %} AS people FROM piece_sizes
) USING (class_id)
GROUP BY kind, is_new, {{ before() }}true
ORDER BY kind ASC, is_new ASC, before ASC
