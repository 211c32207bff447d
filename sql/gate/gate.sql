{#- The release gate. It checks the rows in their published form (release/plan/output_rows.sql) against a second reading
    of the source, and against the policy as it reads it itself (dbanon/gate/rules.py). It shares no step with the code
    that made the rows: the published values are grouped again, interval texts are parsed, and every category is looked
    up in the stored hierarchy, level by level. From the plan it takes which record is in which class; it checks that
    the records are those of the source, and that each may be in its class. `passed` is read where rows are returned, so
    no row is returned before all have been checked. -#}
{%- from 'shared/record_assignment.sql' import records with context -%}
{%- from 'gate/checks.sql' import checksum, compared_classes, is_untrue, left_out_and_judged, n_misassigned, \
    out_of_order, records_due, refuse_left_out, refuse_links, refuse_models, refuse_rows, sizes with context -%}
{%- from 'gate/covered_values.sql' import uncovered_values with context -%}
{%- from 'gate/policy_conformance.sql' import keeps_typed with context -%}
{%- from 'shared/messages.sql' import message_text, messages_by_name with context -%}
{%- from 'gate/reread_check.sql' import reread with context -%}
{#- The number of published values that are finer than the policy allows. -#}
{% macro n_finer() -%}
    {%- set counts = [] -%}
    {%- if is_wide and not typed -%}
        {%- for block in rule_blocks %}{% set _ = counts.append('parsed'|of(block[0])) %}{% endfor -%}
    {%- else -%}
        {%- for r in rules if r.is_number %}{% set _ = counts.append(('conforms' if typed else 'parsed')|of(r)) %}\
            {% endfor -%}
    {%- endif -%}
    {%- for count in counts -%}
        {%- if not typed -%} (SELECT count(*) FROM {{ count }} WHERE NOT keeps)
        {%- else -%} count(*) FILTER (WHERE NOT {{ count }}) {%- endif -%}
        {%- if not loop.last %} + {% endif -%}
    {%- endfor -%}
    {%- if not counts %}0{% endif -%}
{%- endmacro %}
{% include 'gate/source_by_class.sql' %}
{% include 'gate/allowed_ancestors.sql' %}
-- One row per class: its published values, its number of records and the checksum of their unchanged values, according
-- to the published rows.
regrouped_classes AS MATERIALIZED (
    SELECT
        {{ class_id }} AS class_id, sum(len({{ copies }})) AS size,
        sum(len({{ copies }}) * {{ checksum(named=true) }}) AS checksum
        {% for r in rules %}
        {% if r.is_number and typed %}, {{ r.ends.low }} AS {{ 'low'|of(r) }}, \
            {{ r.ends.high }} AS {{ 'high'|of(r) }}{% else %}, {{ r.text }} AS {{ 'published'|of(r) }}{% endif %}
        {% endfor %}
    FROM published_rows
    GROUP BY ALL
),
{% include 'gate/parsed_intervals.sql' %}
{% if without_losses is not defined or model_columns or (follows is defined and follows) %}
{% include 'gate/released_values.sql' %}
{% endif %}
{% if follows is defined and follows %}
{% include 'gate/linked_rows.sql' %}
{% endif %}
{% include 'gate/model_measures.sql' %}
-- One row: the first check that fails, or NULL. The published rows are compared with the source and the policy. Their
-- order is checked, too: that of the source, for example, would reveal more than the rows.
checks AS MATERIALIZED (
    SELECT counted.records_assigned > 0 AS has_rows, CASE
        {{ refuse_rows() }}
        WHEN counted.unknown > 0 THEN {{ messages.failure('records without a class', gate_say.unknown) }}
        WHEN counted.misassigned > 0 \
            THEN {{ messages.failure('records less than once in a class', gate_say.misassigned) }}
        WHEN counted.records_assigned{% if suppress %} + left_out.records{% endif %} <> counted.records_due \
            THEN {{ messages.failure('missing records', gate_say.lost) }}
        {{ refuse_left_out() }}
        WHEN counted.untrue > 0 THEN {{ messages.failure('records of the source', gate_say.untrue) }}
        WHEN classes.small > 0 THEN {{ messages.failure('classes below k', gate_say.small) }}
        {{ refuse_links() }}
        WHEN classes.confused > 0 THEN {{ messages.failure('equal classes', gate_say.confused) }}
        WHEN covered.uncovered > 0 \
            THEN {{ messages.failure('values that do not cover the original', gate_say.uncovered) }}
        WHEN classes.finer > 0 THEN {{ messages.failure('values finer than the policy', gate_say.finer) }}
        {{ refuse_models() }}
    END AS failure
    FROM
    -- Every record of the source is in one class, and its unchanged values are published there.
    (
        SELECT
            {# The left joins keep every record, so as many as there are means each of them once. #}
            {{ records_due() }} AS records_due,
            {{ n_misassigned() }} AS misassigned,
            coalesce(sum(originals.size), 0) AS records_assigned,
            coalesce(sum(originals.size) FILTER (WHERE released.class_id IS NULL), 0) AS unknown,
            count(*) FILTER (WHERE {{ is_untrue() }}) AS untrue
        FROM {{ compared_classes(sql('regrouped_classes')) }}
    ) AS counted,
    -- The published values of a class cover those of its records.
    (
        {{ uncovered_values(sql('class_originals AS r LEFT JOIN regrouped_classes AS c USING (class_id)'), \
            sql('r.size'), false) }}
    ) AS covered,
    -- A second reading of the source finds the same records.
    {{ reread() }},
    -- The order of the rows follows from what is published.
    {{ out_of_order() }},
    -- Every class has at least {{ k }} {% if person %}persons{% else %}records{% endif %} (k). \
        Equal published values are one class, and no value is finer than the policy allows.
    (
        SELECT
            count(*) FILTER (WHERE coalesce({% if person %}persons{% else %}size{% endif %}, 0) < {{ k }}) AS small,
            count(*) FILTER (WHERE least_class <> greatest_class) + count(*) - count(DISTINCT least_class) AS confused,
            {{ n_finer() }} AS finer
        FROM (
            SELECT
                sum({% if person %}people.size{% else %}c.size{% endif %}) \
                AS {% if person %}persons{% else %}size{% endif %}, \
                min(c.class_id) AS least_class, max(c.class_id) AS greatest_class
                {% if typed %}{% for r in rules if r.is_number %}, \
                    bool_and(coalesce({{ keeps_typed(r, sql('c.', 'low'|of(r)), true) }} \
                    AND {{ keeps_typed(r, sql('c.', 'high'|of(r)), false) }}, \
                    false)) AS {{ 'conforms'|of(r) }}{% endfor %}{% endif %}
            FROM regrouped_classes AS c
            {% if person %}
            LEFT JOIN (
                {{ sizes() }}
            ) AS people ON people.class_id = c.class_id
            {% endif %}
            GROUP BY {% for q in rules %}{% if not loop.first %}, {% endif %}\
                {% if q.is_number and typed %}c.{{ 'low'|of(q) }}, \
                c.{{ 'high'|of(q) }}{% else %}c.{{ 'published'|of(q) }}{% endif %}{% endfor %}
        )
    ) AS classes
    {{ left_out_and_judged() }}
),
-- One row: whether there are rows, or an error. No row is published before this is read.
gate AS MATERIALIZED (
    SELECT CASE WHEN failure IS NULL THEN has_rows ELSE error({{ message_text() }}) END AS passed
    FROM checks
    LEFT JOIN {{ messages_by_name() }}
)
