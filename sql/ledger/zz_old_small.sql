{#- Groups of records that a reader of two versions can isolate by subtraction: the rows that one version has in a
    class, by published values, and the other has not. They must be empty or meet the whole model by themselves. If
    classes were kept, the same applies to the records that were removed from each cluster or added as a new one,
    whatever the classes are called now, and to the rest of a cluster that lost records: then any two versions, not
    only consecutive ones, differ by groups that meet the model. One row: the number of groups that do not. It shares
    no step with the code that made the versions. -#}
{%- import 'table_functions/interval_text.sql' as form -%}
{%- from 'release/plan/row_identity.sql' import value_hash with context -%}
{#- The rows of a version, by class and published values: how many. Equal values are hashed once. Published texts are
    compared as days: an earlier version may have the days of the months or years that this one has. -#}
{% macro rows_by_value(relation, id, with_values) -%}
SELECT
        {% for c in quasi_output %}
        {{ 'published'|of(c) }},
        {% endfor %}
        id, {{ value_hash(sql('v.'), false) }} AS value_hash, sum(size)::BIGINT AS size
        {% for u in unchanged if with_values %}
        , any_value(v.{{ u.column }}) AS {{ u.column }}
        {% endfor %}
    FROM (
        SELECT
            {% for c in quasi_output %}
            {% if c.is_dated %}
            {{ form.in_days(sql('CAST(', c.name, ' AS VARCHAR)')) }} AS {{ 'published'|of(c) }},
            {% else %}
            {{ c.name }} AS {{ 'published'|of(c) }},
            {% endif %}
            {% endfor %}
            {{ id }} AS id
            {% for u in unchanged %}
            , {{ u.name }} AS {{ u.column }}
            {% if not u.text_is_value %}
            , {{ u.name }}::VARCHAR AS {{ 'text'|of(u) }}
            {% endif %}
            {% endfor %}
            , count(*) AS size
        FROM {{ relation }}
        GROUP BY ALL
    ) AS v
    GROUP BY {% for c in quasi_output %}{{ 'published'|of(c) }}, {% endfor %}id, value_hash
{%- endmacro %}
{% macro names_of_texts() -%}
{% for c in quasi_output %}{{ 'published'|of(c) }}, {% endfor %}
{%- endmacro %}
{% macro members_of(membership) -%}
SELECT
        cluster_id, class_id, value_hash, {% if person %}person_key, {% endif %}sum(records)::BIGINT AS records
    FROM {{ membership }}
    WHERE class_id IS NOT NULL
    GROUP BY ALL
{%- endmacro %}
{% macro label_classes(rows) -%}
SELECT DISTINCT l.label_id, r.id
    FROM {{ rows }} AS r
    JOIN published_labels AS l
        ON true
        {% for c in quasi_output %}
        AND r.{{ 'published'|of(c) }} IS NOT DISTINCT FROM l.{{ 'published'|of(c) }}
        {% endfor %}
{%- endmacro %}
{% macro people(members, classes) -%}
SELECT label_id, value_hash, person_key, sum(records)::BIGINT AS records
            FROM {{ members }} JOIN {{ classes }} AS c ON c.id = class_id
            GROUP BY ALL
{%- endmacro %}
WITH RECURSIVE
-- One row per class of this version and published value: how many rows.
version_rows AS MATERIALIZED (
    {{ rows_by_value(version, class_id, true) }}
),
-- One row per class of the other version and published value: how many rows.
other_rows AS MATERIALIZED (
    {{ rows_by_value(other, other_class_id, false) }}
),
-- One row per hash of published values: the values.
published_values AS MATERIALIZED (
    SELECT
        value_hash
        {% for u in unchanged %}
        , any_value({{ u.column }}) AS {{ u.column }}
        {% endfor %}
    FROM version_rows
    GROUP BY value_hash
),
-- One row per combination of published quasi-identifiers in any of both versions: its number.
published_labels AS MATERIALIZED (
    SELECT row_number() OVER () AS label_id, *
    FROM (
        SELECT {{ names_of_texts() }}true AS is_published FROM version_rows
        UNION
        SELECT {{ names_of_texts() }}true FROM other_rows
    )
),
-- One row per such combination and class that has it, in each version.
version_classes AS MATERIALIZED (
    {{ label_classes(sql('version_rows')) }}
),
other_classes AS MATERIALIZED (
    {{ label_classes(sql('other_rows')) }}
),
-- One row per combination and published value: how many more rows this version has than the other.
surplus_rows AS MATERIALIZED (
    SELECT label_id, value_hash, v.size - coalesce(o.size, 0) AS size
    FROM (
        SELECT label_id, value_hash, sum(size)::BIGINT AS size
        FROM version_rows JOIN version_classes USING (id)
        GROUP BY ALL
    ) AS v
    LEFT JOIN (
        SELECT label_id, value_hash, sum(size)::BIGINT AS size
        FROM other_rows JOIN other_classes USING (id)
        GROUP BY ALL
    ) AS o USING (label_id, value_hash)
    WHERE v.size > coalesce(o.size, 0)
),
-- One row per cluster, class and published value (of a person): how many records, in each version.
version_members AS MATERIALIZED (
    {{ members_of(members) }}
),
other_members AS MATERIALIZED (
    {{ members_of(other_members) }}
),
-- One row per published value (of a person) in a set that a reader could subtract.
pieces AS MATERIALIZED (
    SELECT
        dense_rank() OVER (ORDER BY kind ASC, id ASC) AS class_id, value_hash, size{% if person %}, person{% endif +%}
    FROM (
        {% if person %}
        {# These rows are about people who have a value of them more often in the class than in the other version. #}
        SELECT
            'label' AS kind, label_id AS id, value_hash, v.records - coalesce(o.records, 0) AS size,
            v.person_key AS person
        FROM surplus_rows AS s
        JOIN (
            {{ people(sql('version_members'), sql('version_classes')) }}
        ) AS v USING (label_id, value_hash)
        LEFT JOIN (
            {{ people(sql('other_members'), sql('other_classes')) }}
        ) AS o
            ON o.label_id = s.label_id AND o.value_hash = s.value_hash
            AND o.person_key IS NOT DISTINCT FROM v.person_key
        WHERE v.records > coalesce(o.records, 0)
        UNION ALL
        {# A set of no person is one, too. #}
        SELECT 'label', label_id, value_hash, size, NULL FROM surplus_rows
        {% else %}
        SELECT 'label' AS kind, label_id AS id, value_hash, size FROM surplus_rows
        {% endif %}
        {% if kept_clusters %}
        UNION ALL
        SELECT kind, cluster_id, value_hash, size{% if person %}, person_key{% endif +%}
        FROM (
            SELECT
                unnest(['moved', 'unmoved']) AS kind, unnest([n_moved, records - n_moved]) AS size, *
            FROM (
                SELECT v.*, greatest(v.records - coalesce(o.records, 0), 0) AS n_moved
                FROM (SELECT * EXCLUDE (class_id) FROM version_members) AS v
                LEFT JOIN (SELECT * EXCLUDE (class_id) FROM other_members) AS o
                    ON o.cluster_id = v.cluster_id AND o.value_hash = v.value_hash
                    {% if person %}
                    AND o.person_key IS NOT DISTINCT FROM v.person_key
                    {% endif %}
            )
        )
        WHERE size > 0
            {% if is_new %}
            AND (kind = 'moved' OR cluster_id IN (
                SELECT cluster_id
                FROM (SELECT cluster_id, sum(records) AS records FROM other_members GROUP BY ALL) AS o
                JOIN (SELECT cluster_id, sum(records) AS records FROM version_members GROUP BY ALL) AS v
                    USING (cluster_id)
                WHERE o.records > v.records
            ))
            {% else %}
            AND kind = 'moved'
            {% endif %}
        {% endif %}
    )
),
{% include 'ledger/composition/class_differences.sql' %}
SELECT count(DISTINCT class_id)::BIGINT AS classes FROM missed_models
