{#- risk('release', ...) and its single functions: one row a number, with the classes that drive it. -#}
{%- from 'audit/query_error/random_queries.sql' import reading, unfit, moved -%}
{%- from 'audit/risk/published_cells.sql' import raw_cells, ends_of, inside -%}
{%- from 'audit/risk/risk_values.sql' import value, shift with context -%}
{% include 'audit/anonymity/inputs.sql' %},
{% set told %}{% for q in quasi %}q{{ loop.index0 }} AS {{ sql('p', loop.index0) }}{% if not loop.last %}, {% endif %}{% endfor %}{% endset %}
{% if attributes %}
-- A row a class: what it publishes.
told_cells AS MATERIALIZED (SELECT {{ told }} FROM classes),
{% endif %}
{% if others %}
-- A row a class: what it publishes of the columns of the population.
other_told AS MATERIALIZED (SELECT {% for c in others %}q{{ c.qi_index }} AS p{{ c.i }}{% if not loop.last %}, {% endif %}{% endfor %} FROM classes),
{% endif %}
{% for r in raws %}
{{ raw_cells(r) }}
{% endfor %}
{% for c in attributes %}
{{ reading(c) }}
{{ shift(c) }}
{% endfor %}
{% if others %}
{% for c in others %}
{{ reading(c) }}
{% endfor %}
-- A row a class: the least and the greatest value that each column may have.
class_ends AS MATERIALIZED ({{ ends_of(others, sql('classes')) }}),
-- A row a combination of values in the population: how many people have it.
other_tuples AS MATERIALIZED (
    SELECT {% for c in others %}coalesce({% if c.is_number %}t.v{{ c.i }}{% else %}l{{ c.i }}.place{% endif %}, '-inf'::DOUBLE) AS v{{ c.i }}, {% endfor %}{% if raws[-1].person %}t.person{% else %}sum(t.records)::BIGINT AS records{% endif %}
    FROM other_cells AS t
    {% for c in others if not c.is_number %}
    LEFT JOIN {{ 'leaf'|of(c) }} AS l{{ c.i }} ON l{{ c.i }}.value = t.v{{ c.i }}
    {% endfor %}
    {# What is missing is missing; what no hierarchy knows fits no node. #}
    WHERE true{% for c in others if not c.is_number %} AND (t.v{{ c.i }} IS NULL OR l{{ c.i }}.place IS NOT NULL){% endfor %}
    GROUP BY ALL
),
-- A row a class: how many people of the population may be in it.
fits AS MATERIALIZED (
    SELECT k.class_id, {% if raws[-1].person %}count(DISTINCT t.person){% else %}sum(t.records)::BIGINT{% endif %} AS people
    FROM other_tuples AS t
    CROSS JOIN class_ends AS k
    WHERE {{ inside(others) }}

    GROUP BY k.class_id
),
{% endif %}
{% if sample %}
-- A row a class that is looked at. The classes of least hash of what they publish: whatever the order of the rows,
-- and as many as are asked for.
drawn AS MATERIALIZED (
    SELECT class_id
    FROM classes
    QUALIFY row_number() OVER (
        ORDER BY md5_number_lower(row('dbanon 1', {{ seed }}{% for q in quasi %}, q{{ loop.index0 }}{% endfor %})::VARCHAR) ASC{% for q in quasi %}, q{{ loop.index0 }} ASC NULLS LAST{% endfor %}
    ) <= greatest(ceil(round(count(*) OVER () * {{ sample }}, 9)), 1)
),
{% endif %}
-- One row: the first reason why the tables do not fit together, or NULL.
misfit AS MATERIALIZED (
    SELECT coalesce(
        {{ moved(sources) }}
        {% if attributes %}
        CASE WHEN NOT EXISTS (FROM true_cells) THEN {{ say.empty_source }} END,
        {% endif %}
        {% for c in attributes %}
        {{ unfit(c) }}
        {% endfor %}
        {% for c in others %}
        {{ unfit(c) }}
        {% endfor %}
        (SELECT message FROM problem)
    ) AS message
),
{% for n in numbers %}
-- A row a class: the number that is asked for.
value_{{ n.number }} AS MATERIALIZED (
    SELECT k.*, round({% if sample %}v.value{% else %}coalesce(v.value, 0){% endif %}, 12)::DOUBLE AS value
    FROM classes AS k
    LEFT JOIN ({{ value(n) }}) AS v USING (class_id)
),
-- One row: that number over all classes.
total_{{ n.number }} AS MATERIALIZED (
    SELECT round(
        {% if n.total == 'highest' %}max(value)
        {% elif n.total == 'lowest' %}min(value)
        {% elif n.total == 'average' %}sum(records * value) / sum(records)
        {% elif n.total == 'share_above' %}coalesce(sum(records) FILTER (WHERE value > {{ threshold }}), 0) / sum(records)
        {% else %}sum(value)
        {% endif %}, 9)::DOUBLE AS value
    FROM value_{{ n.number }}
),
-- A row a class that the total comes from.
driver_{{ n.number }} AS MATERIALIZED (
    SELECT v.*
    FROM value_{{ n.number }} AS v
    CROSS JOIN total_{{ n.number }} AS t
    WHERE {% if n.drives in ('at_highest', 'at_lowest') %}round(v.value, 9) = t.value
        {%- elif n.drives == 'above_average' %}round(v.value, 9) >= t.value AND v.value > 0
        {%- elif n.drives == 'above_threshold' %}v.value > {{ threshold }}
        {%- else %}v.value > 0{% endif %}
),
{% endfor %}
-- A row a class and a number of it that is shown.
shown AS (
    {% for n in numbers %}
    {% set by %}value DESC, records DESC{% for q in quasi %}, q{{ loop.index0 }} ASC NULLS LAST{% endfor %}{% endset %}
    SELECT
        {{ n.number }} AS number, {{ n.name }} AS name, {{ n.sensitive }}::VARCHAR AS sensitive,
        (SELECT value FROM total_{{ n.number }}) AS value,
        (SELECT count(*) FROM driver_{{ n.number }}) AS classes,
        (SELECT coalesce(sum(records), 0)::BIGINT FROM driver_{{ n.number }}) AS records,
        (
            SELECT coalesce(list({
                'class': struct_pack({% for q in quasi %}{{ q.name }} := q{{ loop.index0 }}{% if not loop.last %}, {% endif %}{% endfor %}),
                'records': records, 'value': value
            } ORDER BY {{ by }}), [])
            FROM (FROM driver_{{ n.number }} ORDER BY {{ by }} LIMIT 10)
        ) AS worst,
        {{ n.what }} AS description
    {% if not loop.last %}UNION ALL{% endif %}
    {% endfor %}
)
SELECT s.name, s.sensitive, s.value, s.classes, s.records, s.worst, s.description
FROM misfit AS p
LEFT JOIN shown AS s ON true
WHERE CASE WHEN p.message IS NULL THEN true ELSE error(p.message) END
ORDER BY s.number ASC
