{#- The gate of metrics: it compares the final rows (metric_rows) with the gate's own formulas, computed from the rows
    of the release and the source. -#}
{%- from 'gate/gate_distance.sql' import apart with context -%}
{%- from 'shared/record_assignment.sql' import dealt, records with context -%}
{%- from 'gate/checks.sql' import sizes with context -%}
{%- from 'gate/column_rows.sql' import column_numbers -%}
{%- from 'shared/hierarchies.sql' import setting with context -%}
{%- set plain = unchanged|rejectattr('is_link')|list -%}
{%- set climbing = rules|rejectattr('is_number')|list -%}
{%- set lifted = [] -%}
{%- for r in climbing if r.min_level and quasi[r.i].rows -%}{%- if lifted.append(r) -%}{%- endif -%}{%- endfor -%}
{% include 'gate/class_loss.sql' %}
{% macro coded(r) -%}
    CASE WHEN {{ r.column }} IS NOT NULL \
        THEN {% if r.top %}least({% endif %}{% if r.bottom %}greatest({% endif %}{{ r.column }}{% if r.bottom %}, \
        {{ r.bottom }}){% endif %}{% if r.top %}, {{ r.top }}){% endif %} END
{%- endmacro %}
-- One row: true, or an error if a metric differs from the result of the gate's own formula.
stated_check AS MATERIALIZED (
    SELECT CASE WHEN NOT (SELECT passed FROM gate) THEN false \
        WHEN count(*) FILTER (WHERE m.value IS DISTINCT FROM o.value \
        AND NOT coalesce(abs(m.value - o.value) <= 1e-6 * greatest(1, abs(o.value)), false)) > 0 \
        OR count(*) > count(DISTINCT o.metric) THEN error({{ gate_say.stated }}) ELSE true END AS passed
    FROM (
        SELECT 'records' AS metric, sum(size)::DOUBLE AS value FROM released_values
        UNION ALL
        SELECT 'suppressed', {% if suppress %}(SELECT coalesce(sum(size), 0) FROM record_classes WHERE class_id = -1)\
            {% else %}0{% endif %}
        {% for s in model_columns %}{% for m in s.models %}
        UNION ALL
        {# The achieved value is that of the worst class. #}
        (SELECT {{ m.metric_label }}, value FROM {{ ('measured ' ~ m.parameter)|of(m) }} \
            ORDER BY value {% if m.higher %}ASC{% else %}DESC{% endif %} NULLS LAST LIMIT 1)
        {% endfor %}{% endfor %}
        {% if person %}
        UNION ALL
        SELECT 'persons', count(DISTINCT s.person) FROM {{ records() }}
        {% endif %}
        {% for u in unchanged if u.is_sensitive %}
        UNION ALL
        SELECT 'n_rare_values:' || {{ u.label }}, count(*)
        FROM ({% if person %}SELECT count(DISTINCT s.person) AS size FROM {{ records() }} \
            GROUP BY s.{{ u.column }}{% else %}SELECT sum(len({{ copies }})) AS size FROM published_rows \
            GROUP BY {{ u.name }}{% endif %})
        WHERE size < {{ k }}
        UNION ALL
        SELECT 'homogeneous_share:' || {{ u.label }}, \
            coalesce(sum(size) FILTER (WHERE NOT differs), 0)::DOUBLE / sum(size)
        FROM (
            SELECT
                sum(len({{ copies }})) AS size,
                count(DISTINCT {{ u.name }}) + (count({{ u.name }}) < count(*))::INTEGER > 1 AS differs
            FROM published_rows
            GROUP BY {{ class_id }}
        )
        {% endfor %}
        {% if not noise %}
        UNION ALL
        SELECT unnest([
            {'metric': 'classes', 'value': count(*)::DOUBLE},
            {'metric': 'is_single_class', 'value': CASE WHEN count(*) > 1 THEN 0 ELSE 1 END},
            {'metric': 'class_size_average', 'value': avg(v.size)},
            {'metric': 'class_size_greatest', 'value': max(v.size)},
            {'metric': 'c_avg', 'value': avg(v.size) / {{ k }}},
            {'metric': 'k', 'value': min(p.size)},
            {'metric': 'risk_highest', 'value': 1.0::DOUBLE / min(p.size)},
            {'metric': 'risk_average', 'value': sum(v.size / p.size::DOUBLE) / sum(v.size)},
            {% if can_check_loss %}
            {'metric': 'information_loss', 'value': sum(v.size * l.loss) * {{ rules|length }}},
            {'metric': 'precision', 'value': 1 - sum(v.size * l.loss) / sum(v.size)},
            {% endif %}
            {'metric': 'discernibility', 'value': sum(v.size::DOUBLE * v.size::DOUBLE)}
        ], max_depth := 2)
        FROM regrouped_classes AS v
        FULL JOIN ({{ sizes() }}) AS p ON p.class_id = v.class_id
        {% if can_check_loss %}
        LEFT JOIN own_loss AS l ON l.class_id = v.class_id
        {% endif %}
        {% if plain and not person %}
        UNION ALL
        SELECT 'k_full_record', min(size) \
            FROM (SELECT sum(len({{ copies }})) AS size FROM published_rows \
            GROUP BY {{ class_id }}{% for u in plain %}, {{ u.name }}{% endfor %})
        UNION ALL
        SELECT 'unique_by_unchanged_columns', count(*) \
            FROM (SELECT sum(len({{ copies }})) AS size FROM published_rows \
            GROUP BY {% for u in plain %}{% if not loop.first %}, {% endif %}{{ u.name }}{% endfor %}) WHERE size = 1
        {% endif %}
        {% if can_check_squares %}
        UNION ALL
        {# Variance times records, over the range of all; a category counts those that do not have the mode. #}
        SELECT 'square_error', coalesce(sum(error), 0)
        FROM (
            {% for r in rules if r.is_number %}
            SELECT CASE WHEN filled IS NULL THEN 0 WHEN filled < size THEN size \
                ELSE greatest(squares - total * total / size, 0) END AS error
            FROM (
                SELECT class_id, sum(size)::DOUBLE AS size, sum(size) FILTER (WHERE x IS NOT NULL) AS filled, \
                    sum(size * x) AS total, sum(size * x * x) AS squares
                FROM (
                    SELECT class_id, size, CASE WHEN x IS NOT NULL \
                        THEN coalesce({{ apart(r.compared, sql('x'), sql('min(x) OVER ()')) }} \
                        / nullif({{ apart(r.compared, sql('max(x) OVER ()'), sql('min(x) OVER ()')) }}, 0), 0.0) \
                        END AS x
                    FROM (SELECT class_id, size, {{ coded(r) }} AS x FROM class_originals)
                )
                GROUP BY class_id
            )
            {% if not loop.last or climbing %}UNION ALL{% endif +%}
            {% endfor %}
            {% if climbing %}
            SELECT CASE WHEN sum(size) FILTER (WHERE x IS NOT NULL) < sum(size) THEN sum(size) \
                ELSE sum(size) - max(size) END AS error
            FROM (
                SELECT o.class_id, o.tree, {% if lifted %}coalesce(c.lifted, o.x){% else %}o.x{% endif %} AS x, \
                    sum(o.size) AS size
                FROM (
                    SELECT class_id, size, {{ column_numbers(climbing) }} AS tree, unnest([{% for r in climbing %}\
                        {% if r.min_level and not quasi[r.i].rows %}CASE WHEN {{ r.column }} IS NOT NULL THEN '*' END\
                        {% else %}{{ r.column }}{% endif %}{{ sql(', ') if not loop.last }}{% endfor %}]) \
                        COLLATE POSIX AS x
                    FROM class_originals
                ) AS o
                {% if lifted %}
                LEFT JOIN (
                    SELECT tree, value, \
                        array_to_string(labels[least({{ setting(lifted, 'min_level', 0, sql('tree')) }}, \
                        len(labels) - 1) + 1:], ' > ') AS lifted
                    FROM ancestor_paths
                    WHERE parent IS NULL AND tree IN ({% for r in lifted %}{{ r.tree }}{{ sql(', ') if not loop.last }}\
                        {% endfor %})
                ) AS c ON c.tree = o.tree AND c.value = o.x
                {% endif %}
                GROUP BY ALL
            )
            GROUP BY class_id, tree
            {% endif %}
        )
        {% endif %}
        {% endif %}
    ) AS o
    LEFT JOIN metric_rows AS m USING (metric)
)
