{#- A second reading of the source by the gate itself: `second` is compared with the first by counts and sums of
    hashes. The first is counted as it was assigned to classes, so no record is in two classes or in none. A source
    that gives equal rows twice (a table) is read again; the rows of any other source are stored from the first
    reading. -#}
{%- from 'shared/record_assignment.sql' import dealt, unreleased with context -%}
{% macro seal(own) -%}
    hash(
        {%- for r in rules %}{{ r.source_value if own else r.column }}, {% endfor -%}
        {%- if person %}{{ read_person if own else sql('person') }}, {% endif -%}
        {%- for u in unchanged %}{% set value = read_unchanged[loop.index0] if own else u.column %}{{ value }}, \
            {% if not u.text_is_value %}{% if own %}({{ value }})::VARCHAR\
            {% else %}{{ 'text'|of(u) }}{% endif %}, {% endif %}{% endfor -%}
        {{ rules|length }})
{%- endmacro %}
{% macro reread() -%}
(
        SELECT first.records <> second.records OR first.seal IS DISTINCT FROM second.seal AS differs, first.records
        FROM (
            SELECT coalesce(sum(size), 0) AS records, sum(seal) AS seal
            {% if nulls == 'drop' or suppress %}
            FROM (
                SELECT size, seal FROM class_originals
                UNION ALL
                SELECT {{ dealt() }}, {{ seal(false) }}::HUGEINT * {{ dealt() }} FROM {{ unreleased() }}
            )
            {% else %}
            FROM class_originals
            {% endif %}
        ) AS first,
        (
            SELECT {% if weight %}coalesce(sum(weight), 0){% else %}count(*){% endif %} AS records, \
                sum(seal{% if weight %} * weight{% endif %}) AS seal
            FROM (
                SELECT {% if distinct %}DISTINCT {% endif %}{{ seal(true) }}\
                    {% if weight %}::HUGEINT{% endif %} AS seal{% if weight %}, {{ weight }} AS weight{% endif +%}
                FROM {{ origin }}
                {% for b in bounds %}{% if loop.first %}WHERE {% else %} AND {% endif %}({{ rules[b.i].source_value }} \
                    IS NULL OR {{ rules[b.i].source_value }} BETWEEN {{ b.low }} AND {{ b.high }}){% endfor %}
            )
        ) AS second
    ) AS reread
{%- endmacro %}
