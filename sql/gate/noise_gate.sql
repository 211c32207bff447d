{#- The release gate of noise, which has a separate model: code cannot show how well noise hides a value, but the
    necessary conditions can be checked. A class has k records (persons) and their unchanged values; a category is a
    text with which a record of the class may be published; a number is within top, bottom and (if noise keeps to it)
    the column, and on its grid; each class has its NULLs. It shares no step with the code that drew the values. -#}
{%- from 'gate/checks.sql' import checksum, compared_classes, is_untrue, left_out_and_judged, n_misassigned, \
    out_of_order, records_due, refuse_left_out, refuse_models, refuse_rows, sizes with context -%}
{%- from 'gate/policy_conformance.sql' import at_edge with context -%}
{%- from 'shared/messages.sql' import message_text, messages_by_name with context -%}
{%- from 'gate/reread_check.sql' import reread with context -%}
{% include 'gate/source_by_class.sql' %}
{% include 'gate/released_values.sql' %}
{% include 'gate/allowed_ancestors.sql' %}
{% for q in quasi %}
-- One row per class and value published in it: how many records have it.
{{ 'published values'|of(q) }} AS MATERIALIZED (
    SELECT class_id, {{ 'published'|of(q) }} AS value, sum(size) AS size FROM released_values GROUP BY ALL
),
{% endfor %}
{% include 'gate/model_measures.sql' %}
-- One row: the first check that fails, or NULL. The published rows are compared with the source and the policy.
checks AS MATERIALIZED (
    SELECT counted.records_assigned > 0 AS has_rows, CASE
        {{ refuse_rows() }}
        WHEN counted.unknown > 0 THEN {{ messages.failure('records without a class', gate_say.unknown) }}
        WHEN counted.misassigned > 0 \
            THEN {{ messages.failure('records less than once in a class', gate_say.misassigned) }}
        WHEN counted.records_assigned{% if suppress %} + left_out.records{% endif %} <> counted.records_due \
            THEN {{ messages.failure('missing records', gate_say.lost) }}
        {{ refuse_left_out() }}
        WHEN untrue.classes > 0 THEN {{ messages.failure('records of the source', gate_say.untrue) }}
        WHEN classes.small > 0 THEN {{ messages.failure('classes below k', gate_say.small) }}
        {% for q in quasi %}
        WHEN {{ 'outside'|of(q) }}.classes > 0 \
            THEN {{ messages.failure('values of ' ~ q.raw_name, gate_say['strange' ~ q.i]) }}
        {% endfor %}
        {{ refuse_models() }}
    END AS failure
    FROM (
        SELECT
            {{ records_due() }} AS records_due,
            {{ n_misassigned() }} AS misassigned,
            coalesce(sum(size), 0) AS records_assigned,
            coalesce(sum(size) FILTER (WHERE class_id IS NULL), 0) AS unknown
        FROM released_values
    ) AS counted,
    {{ reread() }},
    {{ out_of_order() }},
    (
        SELECT count(*) FILTER (WHERE {{ is_untrue() }}) AS classes
        FROM {{ compared_classes( \
            sql('(SELECT class_id, size, size * ', checksum(), ' AS checksum FROM released_values)')) }}
    ) AS untrue,
    (SELECT count(*) FILTER (WHERE size < {{ k }}) AS small FROM ({{ sizes() }})) AS classes
    {{ left_out_and_judged() }}
    {% for q in quasi %}
    {% set r = rules[q.i] %}
    , (
        {% if r.is_number %}
        SELECT count(*) AS classes
        FROM (
            SELECT
                t.class_id, sum(t.size) FILTER (WHERE t.value IS NULL) AS nulls,
                count(*) FILTER (WHERE t.value IS NOT NULL AND NOT (true
                    {% if r.top %}AND t.value <= {{ r.top }}{% endif %} {% if r.bottom %}AND t.value \
                        >= {{ r.bottom }}{% endif %}
                    {% if not by_column %}AND t.value <= e.high{% if not (r.grid.unit or r.grid.step) %} AND t.value \
                        >= e.low{% endif %}{% endif %}
                    {% if r.grid.unit or r.grid.step %}
                    AND ({% if r.top %}t.value = {{ r.top }} OR {% endif %}{% if r.bottom %}t.value \
                        = {{ r.bottom }} OR {% endif %}{% if r.ends.min_value %}t.value \
                        = {{ r.ends.min_value }} OR {% endif %}{{ at_edge(r, r.grid, sql('t.value'), true) }})
                    {% endif %}
                )) AS beyond
            FROM {{ 'published values'|of(q) }} AS t
            CROSS JOIN (SELECT min({{ q.column }}){% if q.ends.is_day %}::DATE{% endif %} AS low, \
                max({{ q.column }}){% if q.ends.is_day %}::DATE{% endif %} AS high FROM source) AS e
            GROUP BY t.class_id
        ) AS t
        FULL JOIN (
            SELECT class_id, sum(size) FILTER (WHERE {{ q.column }} IS NULL) AS nulls FROM class_originals \
                GROUP BY class_id
        ) AS o ON o.class_id = t.class_id
        WHERE t.beyond > 0 OR t.nulls IS DISTINCT FROM o.nulls
        {% elif q.is_drawn %}
        SELECT count(DISTINCT t.class_id) AS classes
        FROM {{ 'published values'|of(q) }} AS t
        WHERE NOT EXISTS (
            FROM (
                SELECT o.class_id, c.published FROM class_originals AS o \
                    JOIN allowed_values AS c ON c.tree = {{ q.tree }} AND c.value = o.{{ q.column }}
                UNION
                SELECT class_id, NULL FROM class_originals WHERE {{ q.column }} IS NULL
            ) AS may
            WHERE may.class_id = t.class_id AND may.published IS NOT DISTINCT FROM t.value
        )
        {% else %}
        {# One value of the class covers all its records. #}
        SELECT count(DISTINCT o.class_id) AS classes
        FROM class_originals AS o
        LEFT JOIN (
            SELECT class_id, any_value(value) AS value, count(*) AS values FROM {{ 'published values'|of(q) }} \
                GROUP BY class_id
        ) AS t ON t.class_id = o.class_id
        LEFT JOIN (FROM allowed_values WHERE tree = {{ q.tree }}) AS c ON c.value = o.{{ q.column }} \
            AND c.published = t.value
        WHERE t.values IS DISTINCT FROM 1 OR NOT CASE
            WHEN t.value IS NULL THEN o.{{ q.column }} IS NULL
            WHEN o.{{ q.column }} IS NULL THEN t.value = '*'
            ELSE c.published IS NOT NULL
        END
        {% endif %}
    ) AS {{ 'outside'|of(q) }}
    {% endfor %}
),
-- One row: true, or an error. No row is published before this is read.
gate AS MATERIALIZED (
    SELECT CASE WHEN failure IS NULL THEN has_rows ELSE error({{ message_text() }}) END AS passed
    FROM checks
    LEFT JOIN {{ messages_by_name() }}
)
