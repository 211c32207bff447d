{#- From a table to what its classes hold, shared by the measures:
    cells -> classes -> placed -> for sensitive column j: part_j, held_j, overall_j. -#}
{%- from 'audit/anonymity/hierarchies.sql' import tree -%}
{% macro count_people() -%}
    {% if person %}count(DISTINCT person){% else %}sum(records)::BIGINT{% endif %}
{%- endmacro %}
{% set known %}{% if person %}WHERE person IS NOT NULL{% endif %}{% endset %}
WITH RECURSIVE
-- A row a combination of values of the release: how many records have it. The source is read once, and records that
-- nothing here tells apart are one row.
cells AS MATERIALIZED (
    SELECT
        {% for q in quasi %}{{ q.value }} AS q{{ loop.index0 }}, {% endfor %}
        {% for s in sensitive %}{{ s.value }} AS s{{ s.i }}, {% endfor %}
        {% for u in beside | default([]) %}{{ u }} AS u{{ loop.index0 }}, {% endfor %}
        {% if person %}{{ person }} AS person, {% endif %}
        count(*) AS records
    FROM {{ source }}
    GROUP BY ALL
),
-- A row a class of equal quasi-identifiers: its records, and its size in records or persons.
classes AS MATERIALIZED (
    SELECT row_number() OVER () AS class_id, *
    FROM (
        SELECT {% for q in quasi %}q{{ loop.index0 }}, {% endfor %}sum(records)::BIGINT AS records, {{ count_people() }} AS size
        FROM cells
        GROUP BY {% for q in quasi %}{% if not loop.first %}, {% endif %}q{{ loop.index0 }}{% endfor %}
    )
),
{% if sensitive %}
-- A row a class and a combination of sensitive values in it. A record of nobody known never counts.
placed AS MATERIALIZED (
    SELECT k.class_id{% for s in sensitive %}, c.s{{ s.i }}{% endfor %}, {% if person %}c.person{% else %}c.records{% endif %}
    FROM cells AS c
    JOIN classes AS k
        ON {% for q in quasi %}{% if not loop.first %} AND {% endif %}k.q{{ loop.index0 }} IS NOT DISTINCT FROM c.q{{ loop.index0 }}{% endfor %}
    {{ known }}
),
{% endif %}
{% for s in sensitive %}
-- A row a class, or a part of one, that is judged alone: its size. What a model is judged in: the class, or its
-- records of equal other sensitive values.
{{ 'part'|of(s) }} AS MATERIALIZED (
    {% if joint %}
    SELECT row_number() OVER () AS class_id, *
    FROM (
        SELECT class_id AS whole{% for o in sensitive if o.i != s.i %}, s{{ o.i }}{% endfor %}, {{ count_people() }} AS size
        FROM placed
        GROUP BY class_id{% for o in sensitive if o.i != s.i %}, s{{ o.i }}{% endfor %}
    )
    {% else %}
    SELECT class_id, class_id AS whole, size FROM classes WHERE size > 0
    {% endif %}
),
-- A row a judged class and a sensitive value in it: how many records (persons).
{{ 'held'|of(s) }} AS MATERIALIZED (
    {% if joint %}
    SELECT p.class_id, c.s{{ s.i }} AS value, {{ count_people() }} AS size
    FROM placed AS c
    JOIN {{ 'part'|of(s) }} AS p
        ON p.whole = c.class_id{% for o in sensitive if o.i != s.i %} AND p.s{{ o.i }} IS NOT DISTINCT FROM c.s{{ o.i }}{% endfor %}
    GROUP BY p.class_id, c.s{{ s.i }}
    {% else %}
    SELECT class_id, s{{ s.i }} AS value, {{ count_people() }} AS size
    FROM placed
    GROUP BY class_id, s{{ s.i }}
    {% endif %}
),
-- A row a sensitive value: how many records (persons) of the release have it.
{{ 'overall'|of(s) }} AS MATERIALIZED (
    {% if person %}
    SELECT s{{ s.i }} AS value, count(DISTINCT person) AS size FROM placed GROUP BY s{{ s.i }}
    {% else %}
    SELECT value, sum(size)::BIGINT AS size FROM {{ 'held'|of(s) }} GROUP BY value
    {% endif %}
),
{% if s.rows %}
{{ tree(s) }}
{% endif %}
{% endfor %}
-- One row: the first reason to refuse the call, or NULL.
problem AS MATERIALIZED (
    SELECT coalesce(
        CASE WHEN {{ fingerprint_sql }} IS DISTINCT FROM {{ fingerprint }} THEN {{ say.policy_changed }} END,
        {% if bare %}
        CASE WHEN EXISTS (FROM duckdb_tables() WHERE database_name = 'temp' AND lower(table_name) = {{ bare }})
            OR EXISTS (FROM duckdb_views() WHERE database_name = 'temp' AND lower(view_name) = {{ bare }})
        THEN {{ say.shadowed }} END,
        {% endif %}
        CASE WHEN NOT EXISTS (FROM classes) THEN {{ say.empty }} END,
        {% for s in sensitive if s.rows %}
        (SELECT CASE WHEN count(*) FILTER (WHERE parent IS NULL) <> 1 THEN {{ s.say.roots }}
            WHEN count(*) <> (SELECT count(*) FROM {{ 'node'|of(s) }}) THEN {{ s.say.unreachable }}
            END FROM {{ 'hierarchy'|of(s) }}),
        (SELECT CASE WHEN max(n) > 1 THEN {{ s.say.siblings }} END
            FROM (SELECT count(*) AS n FROM {{ 'hierarchy'|of(s) }} GROUP BY parent, label)),
        (SELECT CASE WHEN uncovered > 0 THEN {{ s.say.uncovered }} END FROM (SELECT count(*) AS uncovered FROM {{ 'leaf'|of(s) }} WHERE hits = 0)),
        (SELECT CASE WHEN count(*) > 0 THEN {{ s.say.ambiguous }} END FROM {{ 'leaf'|of(s) }} WHERE hits > 1),
        {% endfor %}
        NULL
    ) AS message
)
