{#- The classes of a table and the sensitive values in them, which all measures read: release_cells -> classes ->
    class_cells -> for each sensitive column "disease: parts", "disease: class values" and "disease: values". -#}
{%- from 'audit/anonymity/hierarchies.sql' import tree -%}
{% macro count_people() -%}
    {% if person %}count(DISTINCT person){% else %}sum(records)::BIGINT{% endif %}
{%- endmacro %}
{#- Records without a known person have no size. -#}
{% macro of_known_persons() -%}
    {% if person %} WHERE person IS NOT NULL{% endif %}
{%- endmacro %}
{#- The columns of the classes, in a row of `alias` or unqualified; how they are ordered, and how they are equal. -#}
{% macro class_columns(alias='') -%}
    {% for q in quasi %}{{ sql(alias) }}{{ q.column }}{% if not loop.last %}, {% endif %}{% endfor %}
{%- endmacro %}
{% macro class_order(alias='') -%}
    {% for q in quasi %}{{ sql(alias) }}{{ q.column }} ASC NULLS LAST{% if not loop.last %}, {% endif %}{% endfor %}
{%- endmacro %}
{% macro class_struct(alias='') -%}
    struct_pack({% for q in quasi %}{{ q.name }} := {{ sql(alias) }}{{ q.column }}
    {{- sql(', ') if not loop.last }}{% endfor %})
{%- endmacro %}
WITH RECURSIVE
-- One row per combination of values of the release: its number of records. The source is read once, and records that
-- do not differ in anything that is measured are one row.
release_cells AS MATERIALIZED (
    SELECT
        {% for q in quasi %}
        {{ q.value }} AS {{ q.column }},
        {% endfor %}
        {% for s in sensitive %}
        {{ s.value }} AS {{ s.column }},
        {% endfor %}
        {% for u in unchanged | default([]) %}
        {{ u.value }} AS {{ u.column }},
        {% endfor %}
        {% if person %}{{ person }} AS person, {% endif %}count(*) AS records
    FROM {{ source }}
    GROUP BY ALL
),
-- One row per class of equal quasi-identifiers: its records, and its size in records or persons.
classes AS MATERIALIZED (
    SELECT
        row_number() OVER () AS class_id, {{ class_columns() }},
        sum(records)::BIGINT AS records, {{ count_people() }} AS size
    FROM release_cells
    GROUP BY {{ class_columns() }}
),
{% if sensitive or unchanged | default([]) %}
-- One row per class and combination of other values in it.
class_cells AS MATERIALIZED (
    SELECT k.class_id, {% for s in sensitive + unchanged | default([]) %}c.{{ s.column }}, {% endfor %}
    {{- sql('c.person' if person else 'c.records') }}
    FROM release_cells AS c
    JOIN classes AS k
        ON row({{ class_columns('k.') }})
            IS NOT DISTINCT FROM row({{ class_columns('c.') }})
),
{% endif %}
{% for s in sensitive %}
{% if models is defined %}
{% if joint %}
-- One row per class and combination of the other sensitive values in it, in which models are measured: its size.
{% else %}
-- One row per class with known persons, in which models are measured: its size.
{% endif %}
{{ 'parts'|of(s) }} AS MATERIALIZED (
    {% if joint %}
    SELECT row_number() OVER () AS class_id, *
    FROM (
        SELECT
            class_id AS whole_class{% for o in sensitive if o.i != s.i %}, {{ o.column }}{% endfor %},
            {{ count_people() }} AS size
        FROM class_cells{{ of_known_persons() }}
        GROUP BY class_id{% for o in sensitive if o.i != s.i %}, {{ o.column }}{% endfor +%}
    )
    {% else %}
    SELECT class_id, class_id AS whole_class, size FROM classes WHERE size > 0
    {% endif %}
),
{% endif %}
-- One row per class{% if joint %} so divided{% endif %} and sensitive value in it: its number of records (persons).
{{ 'class values'|of(s) }} AS MATERIALIZED (
    {% if joint %}
    SELECT p.class_id, c.{{ s.column }} AS value, {{ count_people() }} AS size
    FROM class_cells AS c
    JOIN {{ 'parts'|of(s) }} AS p
        ON p.whole_class = c.class_id
        {% for o in sensitive if o.i != s.i %}
        AND p.{{ o.column }} IS NOT DISTINCT FROM c.{{ o.column }}
        {% endfor %}
    {% if person %}
    WHERE c.person IS NOT NULL
    {% endif %}
    GROUP BY p.class_id, c.{{ s.column }}
    {% else %}
    SELECT class_id, {{ s.column }} AS value, {{ count_people() }} AS size
    FROM class_cells{{ of_known_persons() }}
    GROUP BY class_id, {{ s.column }}
    {% endif %}
),
-- One row per sensitive value: the number of records (persons) of the release that have it.
{{ 'values'|of(s) }} AS MATERIALIZED (
    {% if person %}
    SELECT {{ s.column }} AS value, count(DISTINCT person) AS size
    FROM class_cells{{ of_known_persons() }}
    GROUP BY {{ s.column }}
    {% else %}
    SELECT value, sum(size)::BIGINT AS size FROM {{ 'class values'|of(s) }} GROUP BY value
    {% endif %}
),
{% if s.rows %}
{{ tree(s) }}
{% endif %}
{% endfor %}
