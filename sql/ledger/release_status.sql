{#- release_status(): one row per published release. It is fresh if its source, policy and hierarchies are
    unchanged. -#}
SELECT
    database_name, schema_name, name, version,
    CASE
        WHEN problem IS NOT NULL THEN 'stale'
        WHEN added + removed + changed > 0 OR policy_changed OR hierarchy_changed THEN 'stale' ELSE 'fresh'
    END AS status,
    added, removed, changed, waiting, policy_changed, hierarchy_changed, problem
FROM (
    SELECT
        NULL::VARCHAR AS database_name, NULL::VARCHAR AS schema_name, NULL::VARCHAR AS name, NULL::INTEGER AS version,
        NULL::BIGINT AS added, NULL::BIGINT AS removed, NULL::BIGINT AS changed, NULL::BIGINT AS waiting,
        NULL::BOOLEAN AS policy_changed, NULL::BOOLEAN AS hierarchy_changed, NULL::VARCHAR AS problem
    WHERE false
    {% for s in states %}
    UNION ALL
    SELECT
        {{ s.database }}, {{ s.schema }}, {{ s.name }}, {{ s.version }},
        {% if s.changes %}
        added, removed, changed,
        {% else %}
        NULL, NULL, NULL,
        {% endif %}
        {{ s.waiting }}::BIGINT, {{ s.policy_changed }}, {{ s.hierarchy_changed }}, {{ s.problem }}
    {% if s.changes %}
    FROM ({{ s.changes }})
    {% endif %}
    {% endfor %}
)
ORDER BY database_name ASC, schema_name ASC, name ASC
