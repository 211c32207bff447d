{#- problems (message): why the table cannot be measured, or NULL. -#}
-- One row: the first reason to refuse the call, or NULL.
problems AS MATERIALIZED (
    SELECT coalesce(
        CASE WHEN {{ fingerprint_sql }} IS DISTINCT FROM {{ fingerprint }} THEN {{ say.policy_changed }} END,
        {% if bare %}
        CASE WHEN EXISTS (FROM duckdb_tables() WHERE database_name = 'temp' AND lower(table_name) = {{ bare }})
            OR EXISTS (FROM duckdb_views() WHERE database_name = 'temp' AND lower(view_name) = {{ bare }})
        THEN {{ say.shadowed }} END,
        {% endif %}
        CASE WHEN NOT EXISTS (FROM classes) THEN {{ say.empty }} END,
        {% for s in sensitive if s.rows %}
        (SELECT CASE WHEN count(*) FILTER (WHERE parent IS NULL) <> 1 THEN {{ s.say.roots }}
            WHEN count(*) <> (SELECT count(*) FROM {{ 'nodes'|of(s) }}) THEN {{ s.say.unreachable }}
            END FROM {{ 'hierarchy'|of(s) }}),
        (SELECT CASE WHEN max(n) > 1 THEN {{ s.say.siblings }} END
            FROM (SELECT count(*) AS n FROM {{ 'hierarchy'|of(s) }} GROUP BY parent, label)),
        (SELECT CASE WHEN uncovered > 0 THEN {{ s.say.uncovered }} END
            FROM (SELECT count(*) AS uncovered FROM {{ 'leaves'|of(s) }} WHERE n_leaves = 0)),
        (SELECT CASE WHEN count(*) > 0 THEN {{ s.say.ambiguous }} END FROM {{ 'leaves'|of(s) }} WHERE n_leaves > 1),
        {% endfor %}
        NULL
    ) AS message
)
