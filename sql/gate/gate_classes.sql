{#- The gate of the table of classes: it compares its final rows (class_rows) with the rows of the release. -#}
{%- from 'gate/checks.sql' import sizes with context -%}
{%- from 'shared/record_assignment.sql' import reasons with context -%}
{% set shown %}{% if not noise %}{% for o in quasi_output %}, {{ o.name }}{% endfor %}{% endif %}{% endset %}
{% include 'gate/class_loss.sql' %}
-- One row: true, or an error if the classes differ from what follows from the published rows.
stated_check AS MATERIALIZED (
    SELECT CASE
        {# After the gate of the rows, which says more. #}
        WHEN NOT (SELECT passed FROM gate) THEN false
        WHEN stated.rows <> own.rows OR stated.seal IS DISTINCT FROM own.seal THEN error({{ gate_say.stated }})
        {% if person %}
        WHEN persons.wrong > 0 THEN error({{ gate_say.stated }})
        {% endif %}
        {% if suppress %}
        WHEN unplaced.wrong > 0 THEN error({{ gate_say.stated }})
        {% endif %}
        {% for u in unchanged if u.is_sensitive %}
        WHEN {{ 'stated'|of(u) }}.seal IS DISTINCT FROM {{ 'recounted'|of(u) }}.seal THEN error({{ gate_say.stated }})
        {% endfor %}
        {% if can_check_loss %}
        WHEN lost.wrong > 0 THEN error({{ gate_say.stated }})
        {% endif %}
        ELSE true
    END AS passed
    FROM
        (SELECT count(*) AS rows, sum(hash({{ class_id }}, {{ names.size }}::BIGINT{{ shown }})) AS seal \
            FROM class_rows WHERE {{ class_id }} IS NOT NULL) AS stated,
        (SELECT count(*) AS rows, sum(hash({{ class_id }}, {{ names.size }}{{ shown }})) AS seal \
            FROM (SELECT {{ class_id }}{{ shown }}, sum(len({{ copies }}))::BIGINT AS {{ names.size }} \
            FROM published_rows GROUP BY ALL)) AS own
        {% if person %}
        , (
            SELECT count(*) AS wrong
            FROM (FROM class_rows WHERE {{ class_id }} IS NOT NULL) AS c
            FULL JOIN ({{ sizes() }}) AS p ON p.class_id = c.{{ class_id }}
            WHERE c.{{ names.persons }} IS DISTINCT FROM p.size
        ) AS persons
        {% endif %}
        {% if suppress %}
        , (
            SELECT count(*) AS wrong
            FROM (FROM class_rows WHERE {{ class_id }} IS NULL) AS c
            FULL JOIN ({{ reasons() }}) AS r ON r.reason = c.{{ names.suppressed }}
            WHERE c.{{ names.size }} IS DISTINCT FROM r.size
        ) AS unplaced
        {% endif %}
        {% for u in unchanged if u.is_sensitive %}
        , (SELECT sum(hash(id, (said).value, (said).size::BIGINT)) AS seal \
            FROM (SELECT {{ class_id }} AS id, unnest({{ u.name }}) AS said FROM class_rows)) AS {{ 'stated'|of(u) }}
        , (SELECT sum(hash(class_id, value, size)) AS seal \
            FROM (SELECT class_id, {{ u.column }} AS value, sum(size)::BIGINT AS size FROM released_values \
            GROUP BY ALL)) AS {{ 'recounted'|of(u) }}
        {% endfor %}
        {% if can_check_loss %}
        , (
            SELECT count(*) AS wrong
            FROM (FROM class_rows WHERE {{ class_id }} IS NOT NULL) AS c
            FULL JOIN own_loss AS o ON o.class_id = c.{{ class_id }}
            WHERE NOT coalesce(abs(c.{{ names.loss }} - o.loss) <= 1e-9, false)
        ) AS lost
        {% endif %}
)
