{#- The release gate. It judges the rows as they leave (leaving.sql) beside a second reading of the source and the policy as
    it reads it itself (gate_rules.py), and shares no step with the code that made them: the published values are regrouped,
    interval texts are parsed back, and every category is climbed from the stored hierarchy. What it takes from the plan
    is which record is in which class; that the records are those of the source, and that each may be in its class, it
    checks. `passed` is read where rows leave, so none does before all have been checked. -#}
{%- from 'release/part/assignment.sql' import records with context -%}
{%- from 'release/part/checks.sql' import left_out_and_judged, out_of_order, records_due, refuse_left_out, refuse_models, refuse_rows, sizes, untrue with context -%}
{%- from 'release/part/keeps.sql' import keeps_text, keeps_typed with context -%}
{%- from 'release/part/second.sql' import reread with context -%}
{#- Months, quarters and years, of the grid that holds: 2020-03, 2020-Q1, 2020. Decades and centuries are told by years. -#}
{% macro unit_form(r) -%}
    {%- if r.unit == 'month' -%} '(?:[<>]=)?[0-9]{4}-(?:0[1-9]|1[0-2])' {%- elif r.unit == 'quarter' -%} '(?:[<>]=)?[0-9]{4}-Q[1-4]' {%- else -%} '(?:[<>]=)?[0-9]{4}' {%- endif -%}
{%- endmacro %}
{#- The day that such an end is: a lower one, and one from which on values lie, begins its unit; the others end it. -#}
{% macro day_of_unit(r, end) -%}
    {%- set token -%} ltrim({{ end }}, '<>=') {%- endset -%}
    {%- set month -%}
        (left({{ token }}, 4)::INTEGER * 12 {%- if r.unit == 'month' %} + right({{ token }}, 2)::INTEGER - 1 {%- elif r.unit == 'quarter' %} + right({{ token }}, 1)::INTEGER * 3 - 3 {%- endif -%})
    {%- endset -%}
    {%- set next -%} ({{ month }} + {% if r.unit == 'month' %}1{% elif r.unit == 'quarter' %}3{% else %}12{% endif %}) {%- endset -%}
    CASE
        WHEN {% if end == 'low' %}NOT starts_with({{ end }}, '<='){% else %}starts_with({{ end }}, '>='){% endif %} THEN make_date({{ month }} // 12, {{ month }} % 12 + 1, 1)
        ELSE make_date({{ next }} // 12, {{ next }} % 12 + 1, 1) - 1
    END
{%- endmacro %}
{% include 'release/part/original.sql' %}
{% include 'release/part/ancestors.sql' %}
-- A row a class: what it publishes and how many records, as the leaving rows say.
visible AS MATERIALIZED (
    SELECT
        {{ class_id }} AS class_id, sum(len({{ copies }})) AS size
        {% for r in rules %}
        {% if r.is_number and typed %}, {{ r.low }} AS low{{ r.i }}, {{ r.high }} AS high{{ r.i }}{% else %}, {{ r.text }} AS p{{ r.i }}{% endif %}
        {% endfor %}
    FROM leaving
    GROUP BY ALL
),
{% for r in rules %}
{% if r.is_number and not typed %}
-- A row a published text, such as 25, [25, 29], <=18 or [85, >=90]: the numbers it says, and whether they keep to the
-- policy.
{{ 'parsed'|of(r) }} AS MATERIALIZED (
    SELECT
        published, unbounded_low, unbounded_high, low, high,
        coalesce({{ keeps_text(r, sql('low_text'), sql('low'), true) }} AND {{ keeps_text(r, sql('high_text'), sql('high'), false) }}, false) AS keeps
    FROM (
        SELECT
            published, low AS low_text, high AS high_text,
            starts_with(low, '<=') AS unbounded_low,
            starts_with(high, '>=') AS unbounded_high,
            {% for end in ('low', 'high') %}
            {# A day is a day, not an instant that is cut to one. #}
            {% if r.is_day %}CASE {% if r.unit in ('month', 'quarter', 'year', 'decade', 'century') %}WHEN regexp_full_match({{ sql(end) }}, {{ unit_form(r) }}) THEN {{ day_of_unit(r, sql(end)) }} {% endif %}WHEN NOT contains({{ sql(end) }}, ':') THEN {% endif -%}
            TRY_CAST(regexp_replace({{ sql(end) }}, '^[<>]=', '') AS {{ r.ends }})
            {%- if r.is_day %} END{% endif %} AS {{ sql(end) }}{% if not loop.last %},{% endif %}
            {% endfor %}
        FROM (
            SELECT
                published,
                CASE WHEN starts_with(published, '[') THEN regexp_extract(published, '^\[(.*), (.*)\]$', 1) ELSE published END AS low,
                CASE WHEN starts_with(published, '[') THEN regexp_extract(published, '^\[(.*), (.*)\]$', 2) ELSE published END AS high
            FROM (SELECT DISTINCT p{{ r.i }} AS published FROM visible WHERE p{{ r.i }} IS NOT NULL AND p{{ r.i }} <> '*')
        )
    )
),
{% endif %}
{% endfor %}
{% include 'release/part/judged.sql' %}
-- One row: true, or an error. What leaves is held against the source and the policy; no row leaves before this is
-- read.
gate AS MATERIALIZED (
    SELECT CASE
        {{ refuse_rows() }}
        WHEN counted.unknown > 0 THEN error({{ gate_say.unknown }})
        WHEN counted.rows_out{% if suppress %} + left_out.records{% endif %} <> counted.rows_in THEN error({{ gate_say.lost }})
        {{ refuse_left_out() }}
        WHEN untrue.classes > 0 THEN error({{ gate_say.untrue }})
        WHEN classes.small > 0 THEN error({{ gate_say.small }})
        WHEN classes.confused > 0 THEN error({{ gate_say.confused }})
        WHEN counted.uncovered > 0 THEN error({{ gate_say.uncovered }})
        WHEN classes.finer > 0 THEN error({{ gate_say.finer }})
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
                {% for q in rules %}
        {% if q.is_number and typed %}
        AND CASE
            WHEN c.low{{ q.i }} IS NULL AND c.high{{ q.i }} IS NULL THEN true
            WHEN r.q{{ q.i }} IS NULL THEN false
            ELSE (r.q{{ q.i }}{% if q.whole_days %}::DATE{% endif %} >= c.low{{ q.i }}{% if q.bottom %} OR c.low{{ q.i }} <= {{ q.bottom }}{% endif %})
                AND (r.q{{ q.i }}{% if q.whole_days %}::DATE{% endif %} <= c.high{{ q.i }}{% if q.top %} OR c.high{{ q.i }} >= {{ q.top }}{% endif %})
            END
        {% elif q.is_number %}
        AND CASE
            WHEN c.p{{ q.i }} IS NULL THEN r.q{{ q.i }} IS NULL
            WHEN c.p{{ q.i }} = '*' THEN true
            ELSE (r.q{{ q.i }}{% if q.whole_days %}::DATE{% endif %} >= t{{ q.i }}.low OR t{{ q.i }}.unbounded_low)
                AND (r.q{{ q.i }}{% if q.whole_days %}::DATE{% endif %} <= t{{ q.i }}.high OR t{{ q.i }}.unbounded_high)
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
        LEFT JOIN visible AS c ON c.class_id = r.class_id
        {% for q in rules %}
        {% if not q.is_number %}
        LEFT JOIN (FROM ancestors WHERE tree = {{ q.tree }}) AS t{{ q.i }} ON t{{ q.i }}.value = r.q{{ q.i }} AND t{{ q.i }}.published = c.p{{ q.i }}
        {% elif not typed %}
        LEFT JOIN {{ 'parsed'|of(q) }} AS t{{ q.i }} ON t{{ q.i }}.published = c.p{{ q.i }}
        {% endif %}
        {% endfor %}
    ) AS counted,
    {{ reread() }},
    {{ out_of_order() }},
    {{ untrue() }},
    (
        SELECT
            count(*) FILTER (WHERE coalesce(size, 0) < {{ k }}) AS small,
            count(*) FILTER (WHERE low <> high) + count(*) - count(DISTINCT low) AS confused,
            0{% for r in rules if r.is_number %} + {% if typed %}count(*) FILTER (WHERE NOT keeps{{ r.i }}){% else %}(SELECT count(*) FROM {{ 'parsed'|of(r) }} WHERE NOT keeps){% endif %}{% endfor %} AS finer
        FROM (
            SELECT
                sum(r.size) AS size, min(c.class_id) AS low, max(c.class_id) AS high
                {% if typed %}{% for r in rules if r.is_number %}, bool_and(coalesce({{ keeps_typed(r, sql('c.low', r.i), true) }} AND {{ keeps_typed(r, sql('c.high', r.i), false) }}, false)) AS keeps{{ r.i }}{% endfor %}{% endif %}
            FROM visible AS c
            LEFT JOIN (
                {{ sizes() }}
            ) AS r ON r.class_id = c.class_id
            GROUP BY {% for q in rules %}{% if not loop.first %}, {% endif %}{% if q.is_number and typed %}c.low{{ q.i }}, c.high{{ q.i }}{% else %}c.p{{ q.i }}{% endif %}{% endfor %}
        )
    ) AS classes
    {{ left_out_and_judged() }}
)
