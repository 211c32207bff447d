{#- The number of original values (of records r, `size` each) that the texts published for their class (c) do not
    cover. `records` is SQL of the pairs of r and c. Each value is compared in a separate row, so that the cost grows
    with the number of columns and not with its square. `maybe`: NULL is covered by texts that cover values. -#}
{%- from 'gate/column_rows.sql' import column_list, column_numbers, derived_list -%}
{% macro uncovered_values(records, size, maybe) -%}
{% if not rules %}SELECT 0 AS uncovered{% else -%}
SELECT coalesce(sum(size) FILTER (WHERE NOT coalesce(is_covered, false)), 0) AS uncovered
        FROM (
            {% set climbing = rules|rejectattr('is_number')|list %}
            {% if climbing %}
            SELECT v.size, CASE
                WHEN v.published IS NULL{% if maybe %} OR v.value IS NULL{% endif %} THEN v.value IS NULL
                WHEN v.published = '*' AND v.value IS NULL THEN true
                ELSE a.published IS NOT NULL
            END AS is_covered
            FROM (
                SELECT
                    {{ size }} AS size, {{ column_numbers(climbing) }} AS tree, \
                    unnest({{ column_list(climbing, sql('r.')) }}) COLLATE POSIX AS value,
                    unnest({{ derived_list(climbing, sql('c.'), 'published') }}) COLLATE POSIX AS published
                FROM {{ records }}
            ) AS v
            LEFT JOIN allowed_values AS a ON a.tree = v.tree AND a.value = v.value AND a.published = v.published
            {% endif %}
            {% if is_wide %}
            {% for block in rule_blocks %}
            {% if climbing or not loop.first %}UNION ALL{% endif +%}
            {{ uncovered_numbers(block, records, size, maybe) }}
            {% endfor %}
            {% else %}
            {% for q in rules if q.is_number %}
            {% if climbing or not loop.first %}UNION ALL{% endif +%}
            {% set value %}r.{{ q.column }}{% if q.ends.whole_days %}::DATE{% endif %}{% endset %}
            {% if typed %}
            SELECT {{ size }} AS size, CASE
                WHEN c.{{ 'low'|of(q) }} IS NULL AND c.{{ 'high'|of(q) }} IS NULL THEN true
                WHEN r.{{ q.column }} IS NULL THEN {% if maybe %}true{% else %}false{% endif +%}
                ELSE ({{ value }} >= c.{{ 'low'|of(q) }}{% if q.bottom %} OR c.{{ 'low'|of(q) }} \
                    <= {{ q.bottom }}{% endif %})
                    AND ({{ value }} <= c.{{ 'high'|of(q) }}{% if q.top %} OR c.{{ 'high'|of(q) }} \
                        >= {{ q.top }}{% endif %})
            END AS is_covered
            FROM {{ records }}
            {% else %}
            SELECT {{ size }} AS size, CASE
                WHEN c.{{ 'published'|of(q) }} IS NULL{% if maybe %} OR r.{{ q.column }} \
                    IS NULL{% endif %} THEN r.{{ q.column }} IS NULL
                WHEN c.{{ 'published'|of(q) }} = '*' THEN true
                ELSE ({{ value }} >= a.low OR a.unbounded_low) AND ({{ value }} <= a.high OR a.unbounded_high)
            END AS is_covered
            FROM {{ records }}
            LEFT JOIN {{ 'parsed'|of(q) }} AS a ON a.published = c.{{ 'published'|of(q) }}
            {% endif %}
            {% endfor %}
            {% endif %}
        )
{% endif +%}
{%- endmacro %}
{#- Wide tables: the same of all numbers with one rule. -#}
{% macro uncovered_numbers(block, records, size, maybe) -%}
{%- set q = block[0] -%}
{%- set value %}v.value{% if q.ends.whole_days %}::DATE{% endif %}{% endset -%}
SELECT v.size, CASE
                {% if typed %}
                WHEN v.low IS NULL AND v.high IS NULL THEN true
                WHEN v.value IS NULL THEN {% if maybe %}true{% else %}false{% endif +%}
                ELSE ({{ value }} >= v.low{% if q.bottom %} OR v.low <= {{ q.bottom }}{% endif %})
                    AND ({{ value }} <= v.high{% if q.top %} OR v.high >= {{ q.top }}{% endif %})
                {% else %}
                WHEN v.published IS NULL{% if maybe %} OR v.value IS NULL{% endif %} THEN v.value IS NULL
                WHEN v.published = '*' THEN true
                ELSE ({{ value }} >= a.low OR a.unbounded_low) AND ({{ value }} <= a.high OR a.unbounded_high)
                {% endif %}
            END AS is_covered
            FROM (
                SELECT
                    {{ size }} AS size, unnest({{ column_list(block, sql('r.')) }}) AS value,
                    {% if typed %}
                    unnest({{ derived_list(block, sql('c.'), 'low') }}) AS low, \
                    unnest({{ derived_list(block, sql('c.'), 'high') }}) AS high
                    {% else %}
                    unnest({{ derived_list(block, sql('c.'), 'published') }}) AS published
                    {% endif %}
                FROM {{ records }}
            ) AS v
            {% if not typed %}
            LEFT JOIN {{ 'parsed'|of(q) }} AS a ON a.published = v.published
            {% endif %}
{%- endmacro %}
