{#- The release gate. It reads what is about to be published and the source, and shares no step with the code that
    made it: the published values are regrouped, interval texts are parsed back, and every category is climbed from the
    stored hierarchy. `passed` is read where the output is put together, so no row leaves before all have been
    checked. -#}
{%- from 'part/placed.sql' import records with context -%}
{%- from 'part/checks.sql' import left_out_and_judged, records_due, refuse_left_out, refuse_models, sizes, untrue with context -%}
{% include 'part/original.sql' %}
{% include 'part/covering.sql' %}
{% for q in quasi %}
{% if q.is_number and not typed %}
{# `25`, `[25, 29]`, `<=18`, `[85, >=90]` back into numbers; an end without limit is NULL with a flag. #}
parsed_{{ q.i }} AS MATERIALIZED (
    SELECT
        published,
        starts_with(low, '<=') AS unbounded_low,
        starts_with(high, '>=') AS unbounded_high,
        {% for end, mark in (('low', '>='), ('high', '<=')) %}
        {# A day is a day, not an instant that is cut to one. #}
        {% if q.end_is_day %}CASE WHEN NOT contains({{ sql(end) }}, ':') THEN {% endif -%}
        TRY_CAST(regexp_replace({{ sql(end) }}, '^{{ sql(mark) }}', '') AS {{ q.end_type }})
        {%- if q.end_is_day %} END{% endif %} AS {{ sql(end) }}{% if not loop.last %},{% endif %}

        {% endfor %}
    FROM (
        SELECT
            published,
            CASE WHEN starts_with(published, '[') THEN regexp_extract(published, '^\[(.*), (.*)\]$', 1) ELSE published END AS low,
            CASE WHEN starts_with(published, '[') THEN regexp_extract(published, '^\[(.*), (.*)\]$', 2) ELSE published END AS high
        FROM (SELECT DISTINCT p{{ q.i }} AS published FROM published WHERE p{{ q.i }} IS NOT NULL AND p{{ q.i }} <> '*')
    )
),
{% endif %}
{% endfor %}
{% include 'part/judged.sql' %}
gate AS MATERIALIZED (
    SELECT CASE
        WHEN counted.unknown > 0 THEN error({{ gate_say.unknown }})
        WHEN counted.rows_out{% if suppress %} + left_out.records{% endif %} <> counted.rows_in THEN error({{ gate_say.lost }})
        {{ refuse_left_out() }}
        WHEN untrue.classes > 0 THEN error({{ gate_say.untrue }})
        WHEN classes.small > 0 THEN error({{ gate_say.small }})
        WHEN classes.confused > 0 THEN error({{ gate_say.confused }})
        WHEN counted.uncovered > 0 THEN error({{ gate_say.uncovered }})
        {{ refuse_models() }}
        ELSE counted.rows_out > 0
    END AS passed
    FROM (
        SELECT
            {# The left joins keep every record, so as many as there are means each of them once. #}
            {{ records_due() }} AS rows_in,
            coalesce(sum(r.size), 0) AS rows_out,
            coalesce(sum(r.size) FILTER (WHERE c.class_id IS NULL), 0) AS unknown,
            coalesce(sum(r.size) FILTER (WHERE NOT coalesce(true
                {% for q in quasi %}
        {% if q.is_number and typed %}
        AND CASE
            WHEN c.low{{ q.i }} IS NULL AND c.high{{ q.i }} IS NULL THEN true
            WHEN r.q{{ q.i }} IS NULL THEN false
            ELSE (r.q{{ q.i }}{% if q.end_is_day %}::DATE{% endif %} >= c.low{{ q.i }}{% if q.bottom %} OR c.low{{ q.i }} <= {{ q.bottom }}{% endif %})
                AND (r.q{{ q.i }}{% if q.end_is_day %}::DATE{% endif %} <= c.high{{ q.i }}{% if q.top %} OR c.high{{ q.i }} >= {{ q.top }}{% endif %})
            END
        {% elif q.is_number %}
        AND CASE
            WHEN c.p{{ q.i }} IS NULL THEN r.q{{ q.i }} IS NULL
            WHEN c.p{{ q.i }} = '*' THEN true
            ELSE (r.q{{ q.i }}{% if q.end_is_day %}::DATE{% endif %} >= t{{ q.i }}.low OR t{{ q.i }}.unbounded_low)
                AND (r.q{{ q.i }}{% if q.end_is_day %}::DATE{% endif %} <= t{{ q.i }}.high OR t{{ q.i }}.unbounded_high)
            END
        {% else %}
        AND CASE
            WHEN c.p{{ q.i }} IS NULL THEN r.q{{ q.i }} IS NULL
            WHEN c.p{{ q.i }} = '*' AND r.q{{ q.i }} IS NULL THEN true
            ELSE t{{ q.i }}.published IS NOT NULL
            END
        {% endif %}
                {% endfor %}, false)), 0) AS uncovered
        FROM original AS r
        LEFT JOIN published AS c ON c.class_id = r.class_id
        {% for q in quasi %}
        {% if not q.is_number %}
        LEFT JOIN covering_{{ q.i }} AS t{{ q.i }} ON t{{ q.i }}.value = r.q{{ q.i }} AND t{{ q.i }}.published = c.p{{ q.i }}
        {% elif not typed %}
        LEFT JOIN parsed_{{ q.i }} AS t{{ q.i }} ON t{{ q.i }}.published = c.p{{ q.i }}
        {% endif %}
        {% endfor %}
    ) AS counted,
    {{ untrue() }},
    (
        SELECT
            count(*) FILTER (WHERE coalesce(size, 0) < {{ k }}) AS small,
            count(*) FILTER (WHERE low <> high) + count(*) - count(DISTINCT low) AS confused
        FROM (
            SELECT sum(r.size) AS size, min(c.class_id) AS low, max(c.class_id) AS high
            FROM published AS c
            LEFT JOIN (
                {{ sizes() }}
            ) AS r ON r.class_id = c.class_id
            GROUP BY {% for q in quasi %}{% if not loop.first %}, {% endif %}{% if q.is_number and typed %}c.low{{ q.i }}, c.high{{ q.i }}{% else %}c.p{{ q.i }}{% endif %}{% endfor %}

        )
    ) AS classes
    {{ left_out_and_judged() }}
)
