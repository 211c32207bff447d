{#- The gate of metrics: it compares the final rows (metric_rows) with the gate's own formulas, computed from the rows
    of the release and the source. -#}
{%- from 'gate/gate_distance.sql' import apart with context -%}
{%- from 'shared/record_assignment.sql' import dealt, records with context -%}
{%- from 'gate/checks.sql' import sizes with context -%}
{%- from 'gate/column_rows.sql' import column_numbers -%}
{%- from 'gate/published_losses.sql' import published_losses with context -%}
{%- from 'shared/hierarchies.sql' import setting with context -%}
{%- set plain = unchanged|rejectattr('is_link')|list -%}
{%- set sensitive = unchanged|selectattr('is_sensitive')|list -%}
{%- set climbing = rules|rejectattr('is_number')|list -%}
{%- set lifted = [] -%}
{%- for r in climbing if r.min_level and quasi[r.i].rows -%}{%- if lifted.append(r) -%}{%- endif -%}{%- endfor -%}
{% macro coded(r) -%}
    {%- set low -%} {% if r.bottom %}greatest({{ r.column }}, {{ r.bottom }}){% else %}{{ r.column }}{% endif %} \
    {%- endset -%}
    {%- if r.top -%} CASE WHEN {{ r.column }} IS NOT NULL THEN least({{ low }}, {{ r.top }}) END
    {%- elif r.bottom -%} CASE WHEN {{ r.column }} IS NOT NULL THEN {{ low }} END
    {%- else -%} {{ r.column }} {%- endif -%}
{%- endmacro %}
{#- A number's distance from the least one, over the range of all; numbers have whole steps (is_exact), so that a range
    that is not 0 is at least 1. -#}
{% macro share_of_range(r) -%}
    {%- set value -%} {{ coded(r) }} {%- endset -%}
    {%- set least -%} min({{ value }}) OVER () {%- endset -%}
    {%- set most -%} max({{ value }}) OVER () {%- endset -%}
    {{ apart(r.compared, value, least) }} / greatest({{ apart(r.compared, most, least) }}, 1)
{%- endmacro %}
{#- The value of a category by which it is compared: raised to min_level if it has no stored hierarchy. -#}
{% macro category(r) -%}
    {%- if r.min_level and not quasi[r.i].rows -%} CASE WHEN {{ r.column }} IS NOT NULL THEN '*' END
    {%- else -%} {{ r.column }} {%- endif -%}
{%- endmacro %}
{% if can_check_loss and not noise %}
-- One row per class and quasi-identifier: its number of records, and the loss of one, from published values alone.
own_losses AS (
    {{ published_losses() }}
),
{% endif %}
{% if can_check_squares and not noise %}
-- One row per class, quasi-identifier (attribute) and original value: its number of records. A number is its distance \
    from the least one, over the range.
own_values AS (
    SELECT class_id, attribute, number, {% if lifted %}coalesce(lifted, category) AS {% endif %}category, \
        sum(size) AS size
    FROM (
        SELECT
            class_id, size, {{ column_numbers(rules) }} AS attribute,
            unnest([{% for r in rules %}{% if r.is_number %}{{ share_of_range(r) }}{% else %}NULL\
            {% endif %}{{ sql(', ') if not loop.last }}{% endfor %}]::DOUBLE[]) AS number,
            unnest([{% for r in rules %}{% if r.is_number %}NULL{% else %}{{ category(r) }}{% endif %}{{ \
            sql(', ') if not loop.last }}{% endfor %}]::VARCHAR[]) COLLATE POSIX AS category
        FROM class_originals
    )
    {% if lifted %}
    LEFT JOIN (
        SELECT tree AS attribute, value AS category, array_to_string(\
            labels[least({{ setting(lifted, 'min_level', 0, sql('tree')) }}, \
            len(labels) - 1) + 1:], ' > ') AS lifted
        FROM ancestor_paths
        WHERE parent IS NULL AND tree IN ({% for r in lifted %}{{ r.tree }}\
            {{ sql(', ') if not loop.last }}{% endfor %})
    ) USING (attribute, category)
    {% endif %}
    GROUP BY ALL
),
{% endif %}
-- One row: true, or an error if a metric differs from the result of the gate's own formula. These are computed side by
-- side, one column per metric.
stated_check AS MATERIALIZED (
    SELECT CASE WHEN NOT (SELECT passed FROM gate) THEN false \
        WHEN count(*) FILTER (WHERE m.value IS DISTINCT FROM o.value \
        AND NOT coalesce(abs(m.value - o.value) <= 1e-6 * greatest(1, abs(o.value)), false)) > 0 \
        OR count(*) > count(DISTINCT o.metric) THEN error({{ gate_say.stated }}) ELSE true END AS passed
    FROM (
        FROM (
            SELECT *
            FROM (SELECT sum(size)::DOUBLE AS records FROM released_values)
            POSITIONAL JOIN (SELECT {% if suppress %}coalesce(sum(size), 0) AS suppressed FROM record_classes \
                WHERE class_id = -1{% else %}0 AS suppressed{% endif %})
            {% if person %}
            POSITIONAL JOIN (SELECT count(DISTINCT person) AS persons FROM {{ records() }})
            {% elif plain and not noise %}
            {% set columns %}{% for u in plain %}{% if not loop.first %}, {% endif %}{{ u.name }}\
                {% if not u.text_is_value %}, {{ u.name }}::VARCHAR{% endif %}{% endfor %}{% endset %}
            POSITIONAL JOIN (SELECT min(size) AS k_full_record FROM (SELECT sum(len({{ copies }})) AS size \
                FROM published_rows GROUP BY {{ class_id }}, {{ columns }}))
            POSITIONAL JOIN (SELECT count(*) AS unique_by_unchanged_columns FROM (SELECT sum(len({{ copies }})) \
                AS size FROM published_rows GROUP BY {{ columns }}) WHERE size = 1)
            {% endif %}
            {% for u in sensitive %}
            POSITIONAL JOIN (SELECT count(*) AS {{ sql(u.metric_column('n_rare_values')) }} FROM ({% if person %}\
                SELECT count(DISTINCT person) AS size FROM {{ records() }} GROUP BY {{ u.column }}{% else %}\
                SELECT sum(len({{ copies }})) AS size FROM published_rows GROUP BY {{ u.name }}{% endif %}) \
                WHERE size < {{ k }})
            {% endfor %}
            {% if can_check_loss and not noise %}
            POSITIONAL JOIN (SELECT sum(size * loss) AS information_loss, \
                1 - sum(size * loss) / sum(size) AS precision FROM own_losses)
            {% endif %}
            {% if can_check_squares and not noise %}
            {# Variance times records; a category counts those that do not have the mode. #}
            POSITIONAL JOIN (
                SELECT coalesce(sum(CASE WHEN filled < size THEN size WHEN total IS NULL THEN size - most \
                    ELSE greatest(squares - total * total / size, 0) END), 0) AS square_error
                FROM (
                    SELECT
                        sum(size)::DOUBLE AS size, max(size) AS most, \
                        sum(size) FILTER (WHERE number IS NOT NULL OR category IS NOT NULL) AS filled, \
                        sum(size * number) AS total, sum(size * number * number) AS squares
                    FROM own_values GROUP BY class_id, attribute
                )
            )
            {% endif %}
            {% if sensitive or not noise %}
            POSITIONAL JOIN (
                SELECT
                    {% for u in sensitive %}
                    coalesce(sum(v.size) FILTER (WHERE {{ 'distinct values'|of(u) }} = 1), 0)::DOUBLE / sum(v.size) \
                        AS {{ sql(u.metric_column('homogeneous_share')) }}\
                        {% if not (noise and loop.last) %},{% endif +%}
                    {% endfor %}
                    {% if not noise %}
                    count(*) AS classes, (count(*) <= 1)::INTEGER AS is_single_class, \
                    avg(v.size) AS class_size_average, max(v.size) AS class_size_greatest, \
                    avg(v.size) / {{ k }} AS c_avg, min(p.size) AS k, 1.0::DOUBLE / min(p.size) AS risk_highest, \
                    sum(v.size / p.size::DOUBLE) / sum(v.size) AS risk_average, \
                    sum(v.size::DOUBLE * v.size::DOUBLE) AS discernibility
                    {% endif %}
                FROM (
                    SELECT
                        {{ class_id }} AS class_id, sum(len({{ copies }})) AS size{% for u in sensitive %}, \
                        count(DISTINCT {{ u.name }}) + (count({{ u.name }}) < count(*))::INTEGER \
                        AS {{ 'distinct values'|of(u) }}{% endfor +%}
                    FROM published_rows GROUP BY {{ class_id }}
                ) AS v
                FULL JOIN ({{ sizes() }}) AS p USING (class_id)
            )
            {% endif %}
        ) UNPIVOT INCLUDE NULLS (value FOR metric IN (COLUMNS(*)))
        {% for s in model_columns %}{% for m in s.models %}
        UNION ALL
        {# The achieved value is that of the worst class. #}
        (SELECT {{ m.metric_label }}, value FROM {{ ('measured ' ~ m.label)|of(m) }} \
            ORDER BY value {% if m.higher %}ASC{% else %}DESC{% endif %} NULLS LAST LIMIT 1)
        {% endfor %}{% endfor %}
    ) AS o LEFT JOIN metric_rows AS m USING (metric)
)
