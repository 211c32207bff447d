{#- The input of the UDFs in addition to the request: a group of equal records as a struct, and the domains of its
    codes. -#}
{%- from 'release/plan/number_column.sql' import gap, low_end, high_end, width with context -%}
{% macro group() -%}
struct_pack(
            gid := gid, size := size, tie := tie,
            codes := struct_pack({% for q in quasi %}{% if not loop.first %}, {% endif %}{{ 'code'|of(q) }} \
                := {{ 'code'|of(q) }}{% endfor %})
            {%- for s in model_columns %}{% if loop.first %}, \
                sensitive := struct_pack({% else %}, {% endif %}{{ 'code'|of(s) }} := {{ 'code'|of(s) }}\
                {% if loop.last %}){% endif %}{% endfor %}
            {%- if person %}, person := person{% endif %})
{%- endmacro %}
{#- The number of records (persons) of the larger table with each sensitive value, NULL last. -#}
{% macro counted(s) -%}
    {%- if whole_table %}, whole := (
            SELECT list(size ORDER BY code ASC NULLS LAST)
            FROM (
                SELECT f.code, sum(w.size)::BIGINT AS size
                FROM (SELECT * FROM {{ 'larger'|of(s) }} UNION ALL BY NAME SELECT 0 AS size) AS w
                LEFT JOIN {{ 'sensitive codes'|of(s) }} AS f ON f.value = w.{{ s.column }}
                GROUP BY f.code
            )
        ){% endif -%}
{%- endmacro %}
{#- Those of trees are in the one row of relation trees, in the order of the request. -#}
{% macro tree_domain(q) -%}
(read).domains[{{ (trees|map(attribute='tree')|list).index(q.tree) + 1 }}]
{%- endmacro %}
{#- Wide tables: the positions of all numbers, a list at the number of its quasi-identifier. -#}
{% macro number_positions() -%}
(
        SELECT list(positions ORDER BY attribute ASC) AS lists
        FROM (
            SELECT attribute, list(position ORDER BY code ASC) FILTER (WHERE code IS NOT NULL) AS positions
            FROM (
                SELECT unnest(range({{ quasi|length }})) AS attribute, NULL::INTEGER AS code, NULL::DOUBLE AS position
                {% for block in number_blocks %}
                UNION ALL
                SELECT attribute, code, position FROM {{ 'domain'|of(block[0]) }}
                {% endfor %}
            )
            GROUP BY attribute
        )
    ) AS number_positions
{%- endmacro %}
{#- A number's values with codes and positions. -#}
{% macro domain_values(q) -%}
{% if is_wide %}(SELECT value, code, position FROM {{ 'domain'|of(first_in_block[q.i]) }} WHERE attribute = {{ q.i }})\
    {% else %}{{ 'domain'|of(q) }}{% endif %}
{%- endmacro %}
{% macro domains() %}
        {% for q in quasi %}
        {% set snapped = q.is_number and q.is_snapped %}
        {% if q.is_number and (magnitudes or snapped or (model_columns and person)) %}
        {# Clusters with the same published ends are one class, in which a person is counted once. The loss of
           a record depends on the published ends, for dates and times on the values: their ends may lie beyond
           the type. #}
        , (SELECT struct_pack(
            place := list(position ORDER BY code ASC),
            low := list(low ORDER BY code ASC), high := list(high ORDER BY code ASC),
            below := list(below ORDER BY code ASC), above := list(above ORDER BY code ASC)
            {%- if magnitudes %}, magnitude := list(magnitude ORDER BY code ASC){% endif %}
        ) FROM (
            SELECT
                code, position{% if magnitudes %}, {{ q.magnitude }} AS magnitude{% endif %},
                dense_rank() OVER (ORDER BY {{ low_end(q, sql('value')) }} ASC)::INTEGER AS low,
                dense_rank() OVER (ORDER BY {{ high_end(q, sql('value')) }} ASC)::INTEGER AS high,
                {% if snapped %}
                {{ width(q, low_end(q, sql('value')), low_end(q, sql('first_value'))) }} AS below,
                {{ width(q, high_end(q, sql('value')), low_end(q, sql('first_value'))) }} AS above
                {% else %}
                position AS below, position AS above
                {% endif %}
            FROM {{ domain_values(q) }}
            {% if snapped %}
            CROSS JOIN (SELECT min(value) AS first_value FROM {{ domain_values(q) }})
            {% endif %}
        ))
        {% elif q.is_number and is_wide %}
        , number_positions.lists[{{ q.i + 1 }}]
        {% elif q.is_number %}
        , (SELECT list(position ORDER BY code ASC) FROM {{ 'domain'|of(q) }})
        {% else %}
        {% if magnitudes and q.has_magnitudes %}
        , struct_pack(
            parent := {{ tree_domain(q) }}.parent, value := {{ tree_domain(q) }}.value,
            magnitude := (SELECT list(magnitude ORDER BY code ASC) FROM (
                SELECT code, min(value::DOUBLE) AS magnitude FROM value_codes WHERE tree = {{ q.tree }} GROUP BY code
            ))
        )
        {% else %}
        , {{ tree_domain(q) }}
        {% endif %}
        {% endif %}
        {% endfor %}
        {% for s in model_columns %}
        {% if s.tree %}
        , struct_pack(
            parent := {{ tree_domain(s.tree) }}.parent, value := {{ tree_domain(s.tree) }}.value{% if s.number %},
            place := (SELECT list(position ORDER BY code ASC) \
                FROM {{ 'sensitive codes'|of(s) }}){% endif %}{{ counted(s) }}
        )
        {% else %}
        , (SELECT struct_pack(parent := NULL::INTEGER[], value := list(code){% if s.number %}, \
            place := list(position ORDER BY code ASC){% endif %}{{ counted(s) }}) FROM {{ 'sensitive codes'|of(s) }})
        {% endif %}
        {% endfor %}
{% endmacro %}
{#- The published form of a number, by code: ranks of the lower and the upper end, from 0, and the distances of value
    and ends from the lower end of the least value, in a unit of the column. -#}
{% macro code_ends(q) -%}
SELECT
                code,
                {{ width(q, sql('value::DATE') if q.ends.is_day else sql('value'), sql('least_low')) }} AS place,
                dense_rank() OVER (ORDER BY low ASC)::INTEGER - 1 AS low,
                dense_rank() OVER (ORDER BY high ASC)::INTEGER - 1 AS high,
                {{ width(q, sql('low'), sql('least_low')) }} AS below,
                {{ width(q, sql('high'), sql('least_low')) }} AS above
            FROM (
                SELECT *, min(low) OVER () AS least_low
                FROM (SELECT code, value, {{ low_end(q, sql('value')) }} AS low, \
                    {{ high_end(q, sql('value')) }} AS high FROM {{ domain_values(q) }})
            )
{%- endmacro %}
{#- One row per code: how far the value is above the one before it, as a position (step) and as a place (place_step),
    and how far the published ends are from the value. Sums of these are exact where all positions are far from the
    least. -#}
{% macro code_gaps(q) -%}
{%- set place = sql('value::DATE') if q.ends.is_day else sql('value') -%}
SELECT
                code,
                coalesce({{ gap(q, sql('value'), sql('value_before')) }}, 0) AS step,
                coalesce({{ width(q, place, sql('value_before::DATE') if q.ends.is_day else sql('value_before')) }}, \
                    0) AS place_step,
                {{ width(q, place, low_end(q, sql('value'))) }} AS below_gap,
                {{ width(q, high_end(q, sql('value')), place) }} AS above_gap
            FROM (SELECT code, value, lag(value) OVER (ORDER BY code ASC) AS value_before FROM {{ domain_values(q) }})
{%- endmacro %}
{#- Both as lists. -#}
{% macro ends_of(q) -%}
struct_pack(
            place := list(place ORDER BY code ASC),
            low := list(low ORDER BY code ASC), high := list(high ORDER BY code ASC),
            below := list(below ORDER BY code ASC), above := list(above ORDER BY code ASC),
            step := list(step ORDER BY code ASC), place_step := list(place_step ORDER BY code ASC),
            below_gap := list(below_gap ORDER BY code ASC), above_gap := list(above_gap ORDER BY code ASC)
        ) FROM (
            {{ code_ends(q) }}
        ) JOIN (
            {{ code_gaps(q) }}
        ) USING (code)
{%- endmacro %}
