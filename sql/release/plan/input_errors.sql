{#- The conditions that must be met before clustering: one row, the first problem or NULL. Nothing here quotes a cell.
    -#}
{%- from 'shared/messages.sql' import message_text, messages_by_name with context -%}
{%- from 'release/plan/rare_values.sql' import checks_rare_values, rare_value_problems with context -%}
{#- The number of persons, or records, that are clustered. -#}
{% macro n_clustered() -%}
    {%- set count %}{% if person %}count(DISTINCT person){% else %}sum(size){% endif %}{% endset -%}
    {% if nulls == 'drop' %}(SELECT {{ count }} FROM usable_records){% else %}{{ count }}{% endif %} \
        AS {% if person %}persons{% else %}records{% endif %}
{%- endmacro %}
{#- The first problem of a hierarchy, of those in the order of the columns, or NULL. Values of sensitive columns are not
    generalized, so they may equal labels of nodes. -#}
{% macro hierarchy_problem() -%}
(
                    SELECT any_value(failure ORDER BY position ASC)
                    FROM (
                        SELECT position, CASE
                            WHEN malformed IS NOT NULL THEN {{ messages.failure('malformed hierarchy', say.malformed) }}
                            {% if not escape %}
                            WHEN reserved > 0 THEN {{ messages.failure('reserved values', say.reserved) }}
                            {% endif %}
                            {% for q in trees if q.is_zoned and q.rows and not q.is_sensitive %}
                            WHEN tree = {{ q.tree }} AND uncovered > 0 AND EXISTS (
                                FROM (SELECT DISTINCT {{ q.column }} AS value FROM source \
                                    WHERE {{ q.column }} IS NOT NULL) AS instants
                                WHERE TRY_CAST(value AS TIMESTAMPTZ)::VARCHAR <> value
                                    AND TRY_CAST(value AS TIMESTAMPTZ)::VARCHAR \
                                        IN (SELECT label FROM ({{ q.rows }}) AS stored)
                            )
                            THEN {{ messages.failure('labels of another time zone', say.other_zone) }}
                            {% endfor %}
                            WHEN uncovered > 0 THEN {{ messages.failure('values without a leaf', say.uncovered) }}
                            {% if escape %}
                            WHEN several_nodes > 0
                            THEN {{ messages.failure('values that several nodes publish', say.several_nodes) }}
                            {% endif %}
                        END AS failure
                        FROM (SELECT unnest((read).facts, max_depth := 2) FROM trees) AS facts
                        JOIN (
                            VALUES
                            {% for q in trees %}
                            ({{ loop.index }}, {{ q.tree }}, {{ q.message_names }}){% if not loop.last %},{% endif +%}
                            {% endfor %}
                        ) AS named (position, tree, table_name, column_name, hierarchy_name, values_call) USING (tree)
                    )
                )
{%- endmacro %}
-- One row: the message of the first problem of the source or the call, or NULL.
problem AS MATERIALIZED (
    SELECT CASE WHEN failure IS NOT NULL THEN {{ message_text() }} END AS message
    FROM (
        SELECT CASE
            -- The policy, and before it the catalog, must be as they were when this statement was written.
            WHEN {{ fingerprint_sql }} IS DISTINCT FROM {{ fingerprint }} \
                THEN {{ messages.failure('policy changed', say.policy_changed) }}
            {% if bare %}
            WHEN EXISTS (FROM duckdb_tables() WHERE database_name = 'temp' AND lower(table_name) = {{ bare }})
                OR EXISTS (FROM duckdb_views() WHERE database_name = 'temp' AND lower(view_name) = {{ bare }})
            THEN {{ messages.failure('temporary table of this name', say.shadowed) }}
            {% endif %}
            {% if continuation is not defined %}
            WHEN kinds = 0 THEN {{ messages.failure('no rows', say.empty) }}
            {% endif %}
            {% for q in quasi %}
            {% if nulls == 'error' %}
            WHEN {{ 'nulls'|of(q) }} > 0 THEN {{ messages.failure('NULL', q.say.nulls) }}
            {% endif %}
            {% if q.is_number and q.family.has_infinity %}
            WHEN {{ 'infinite'|of(q) }} > 0 THEN {{ messages.failure('NaN and infinity', q.say.wild) }}
            {% endif %}
            {% if continuation is not defined %}
            WHEN {% if whole_table %}NOT EXISTS (FROM {{ 'larger'|of(q) }} WHERE {{ q.column }} IS NOT NULL)\
                {% else %}{{ 'filled'|of(q) }} = 0{% endif %} THEN {{ messages.failure('no values', q.say.no_values) }}
            {% endif %}
            {% endfor %}
            {% if continuation is not defined %}
            {% if nulls == 'drop' %}
            WHEN NOT EXISTS (FROM usable_records) \
                THEN {{ messages.failure('no rows without NULL', say.nothing_left) }}
            {% endif %}
            {% if person %}
            WHEN persons < 2 THEN {{ messages.failure('fewer than two persons', say.few_persons) }}
            WHEN persons < {{ k }} THEN {{ messages.failure('fewer than k persons', say.k_persons) }}
            {% else %}
            WHEN records < 2 THEN {{ messages.failure('fewer than two records', say.few_records) }}
            WHEN records < {{ k }} THEN {{ messages.failure('fewer than k records', say.k_records) }}
            {% endif %}
            {% endif %}
            {% if checks_rare_values() %}
            ELSE coalesce(
                {% if trees %}
                {{ hierarchy_problem() }},
                {% endif %}
                {{ rare_value_problems() }}
            )
            {% elif trees %}
            ELSE {{ hierarchy_problem() }}
            {% endif %}
        END AS failure
        FROM (
            SELECT
                count(*) AS kinds
                {% if continuation is not defined %}
                , {{ n_clustered() }}
                {% endif %}
                {% for q in quasi %}
                {% if nulls == 'error' %}
                , sum(size) FILTER (WHERE {{ q.column }} IS NULL) AS {{ 'nulls'|of(q) }}
                {% endif %}
                {% if q.is_number and q.family.has_infinity %}
                , sum(size) FILTER (WHERE NOT isfinite({{ q.column }})) AS {{ 'infinite'|of(q) }}
                {% endif %}
                {% if continuation is not defined and not whole_table %}
                , count({{ q.column }}) AS {{ 'filled'|of(q) }}
                {% endif %}
                {% endfor %}
            FROM source
        )
    )
    LEFT JOIN {{ messages_by_name() }}
),
