{#- Groups of records that a reader of two versions can isolate by subtraction: the rows that one version has in a
    class, by published values, and the other has not. They must be empty or meet the whole model by themselves. If
    classes were kept, the same applies to the records that were removed from each cluster or added as a new one,
    whatever the classes are called now, and to the rest of a cluster that lost records: then any two versions, not
    only consecutive ones, differ by groups that meet the model. One row: the number of groups that do not. It shares
    no step with the code that made the versions. -#}
{%- import 'table_functions/interval_text.sql' as form -%}
{%- from 'release/plan/row_identity.sql' import value_hash with context -%}
{#- The rows that the versions do not have equally often, by published values: how many one of them has. Published texts
    are compared as days: an earlier version may have the days of the months or years that this one has. -#}
{% macro rows_by_value(count) -%}
SELECT
        {% for c in quasi_output %}
        {% if c.is_dated %}
        {{ form.in_days('published'|of(c)) }} AS {{ 'published'|of(c) }},
        {% else %}
        {{ 'published'|of(c) }},
        {% endif %}
        {% endfor %}
        {{ value_hash(sql('v.'), false) }} AS value_hash, sum({{ count }})::BIGINT AS size
    FROM {{ changed_rows }} AS v
    WHERE {{ count }} > 0
    GROUP BY ALL
{%- endmacro %}
{% macro same_labels(one, other) -%}
true
        {% for c in quasi_output %}
        AND {{ one }}.{{ 'published'|of(c) }} IS NOT DISTINCT FROM {{ other }}.{{ 'published'|of(c) }}
        {% endfor %}
{%- endmacro %}
{#- The people whose records have the published quasi-identifiers of such rows, in one version. -#}
{% macro people(relation, id, members) -%}
SELECT label_id, value_hash, person_key, sum(records)::BIGINT AS records
            FROM {{ members }}
            JOIN (
                SELECT DISTINCT l.label_id, r.id
                FROM (
                    SELECT DISTINCT
                        {% for c in quasi_output %}
                        {% if c.is_dated %}
                        {{ form.in_days(sql('CAST(', c.name, ' AS VARCHAR)')) }} AS {{ 'published'|of(c) }},
                        {% else %}
                        {{ c.name }} AS {{ 'published'|of(c) }},
                        {% endif %}
                        {% endfor %}
                        {{ id }} AS id
                    FROM {{ relation }}
                ) AS r
                JOIN published_labels AS l ON {{ same_labels(sql('r'), sql('l')) }}
            ) AS c ON c.id = class_id
            GROUP BY ALL
{%- endmacro %}
{% set n_mine = sql('n_new') if is_new else sql('n_old') %}
{% set n_theirs = sql('n_old') if is_new else sql('n_new') %}
WITH RECURSIVE
-- One row per combination of published quasi-identifiers and value: how many rows of this version, if the other has not
-- the same ones.
version_rows AS MATERIALIZED (
    {{ rows_by_value(n_mine) }}
),
-- The same for the other version.
other_rows AS MATERIALIZED (
    {{ rows_by_value(n_theirs) }}
),
-- One row per hash of published values: the values.
published_values AS MATERIALIZED (
    SELECT
        {{ value_hash(sql('v.'), false) }} AS value_hash
        {% for u in unchanged %}
        , any_value(v.{{ u.column }}) AS {{ u.column }}
        {% endfor %}
    FROM (
        SELECT DISTINCT
            true AS is_published
            {% for u in unchanged %}
            , {{ u.name }} AS {{ u.column }}
            {% if not u.text_is_value %}
            , {{ u.name }}::VARCHAR AS {{ 'text'|of(u) }}
            {% endif %}
            {% endfor %}
        FROM {{ version }}
    ) AS v
    GROUP BY value_hash
),
-- One row per combination of published quasi-identifiers whose rows have changed in this version: its number.
published_labels AS MATERIALIZED (
    SELECT row_number() OVER () AS label_id, *
    FROM (SELECT DISTINCT * EXCLUDE (value_hash, size), true AS is_published FROM version_rows)
),
-- One row per combination and published value: how many more rows this version has than the other.
surplus_rows AS MATERIALIZED (
    SELECT l.label_id, v.value_hash, v.size - coalesce(o.size, 0) AS size
    FROM version_rows AS v
    JOIN published_labels AS l ON {{ same_labels(sql('v'), sql('l')) }}
    LEFT JOIN other_rows AS o ON o.value_hash = v.value_hash AND {{ same_labels(sql('v'), sql('o')) }}
    WHERE v.size > coalesce(o.size, 0)
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
            {{ people(version, class_id, members) }}
        ) AS v USING (label_id, value_hash)
        LEFT JOIN (
            {{ people(other, other_class_id, other_members) }}
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
                unnest(['moved', 'unmoved']) AS kind,
                unnest([greatest({{ n_mine }} - {{ n_theirs }}, 0), least({{ n_mine }}, {{ n_theirs }})]) AS size, *
            FROM {{ changed_members }}
        )
        WHERE size > 0
            {% if is_new %}
            AND (kind = 'moved' OR cluster_id IN (
                SELECT cluster_id FROM {{ changed_members }}
                GROUP BY cluster_id
                HAVING sum(n_old) > sum(n_new) AND sum(n_new) > 0
            ))
            {% else %}
            AND kind = 'moved'
            {% endif %}
        {% endif %}
    )
),
{% include 'ledger/composition/class_differences.sql' %}
SELECT count(DISTINCT class_id)::BIGINT AS classes FROM missed_models
