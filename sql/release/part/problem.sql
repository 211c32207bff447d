{#- What must hold before anything is clustered: one row, the first problem or NULL. Nothing here quotes a cell. -#}
-- One row: how many records the source has, and how many values each column.
facts AS MATERIALIZED (
    SELECT
        count(*) AS records
        {% if person %}, count(DISTINCT person) AS persons{% endif %}
        {% for q in quasi %}, count(q{{ q.i }}) AS filled{{ q.i }}
        {% if q.is_number %}, count(*) FILTER (WHERE q{{ q.i }} IS NOT NULL AND NOT (true{{ q.is_finite }})) AS wild{{ q.i }}{% endif %}{% endfor %}
    FROM source
),
-- One row: how many records are left to cluster.
kept_facts AS MATERIALIZED (
    SELECT count(*) AS records{% if person %}, count(DISTINCT person) AS persons{% endif %} FROM kept
),
-- One row: the first reason to refuse the call, or NULL.
problem AS MATERIALIZED (
    SELECT coalesce(
        CASE WHEN {{ fingerprint_sql }} IS DISTINCT FROM {{ fingerprint }} THEN {{ say.policy_changed }} END,
        {% if bare %}
        CASE WHEN EXISTS (FROM duckdb_tables() WHERE database_name = 'temp' AND lower(table_name) = {{ bare }})
            OR EXISTS (FROM duckdb_views() WHERE database_name = 'temp' AND lower(view_name) = {{ bare }})
        THEN {{ say.shadowed }} END,
        {% endif %}
        CASE WHEN facts.records = 0 THEN {{ say.empty }} END,
        {% for q in quasi %}
        {% if nulls == 'error' %}
        CASE WHEN facts.filled{{ q.i }} < facts.records THEN {{ q.say.nulls }} END,
        {% endif %}
        {% if q.is_number %}
        CASE WHEN facts.wild{{ q.i }} > 0 THEN {{ q.say.wild }} END,
        {% endif %}
        CASE WHEN facts.filled{{ q.i }} = 0 THEN {{ q.say.no_values }} END,
        {% endfor %}
        CASE WHEN kept_facts.records = 0 THEN {{ say.nothing_left }} END,
        {% if person %}
        CASE WHEN kept_facts.persons < 2 THEN {{ say.few_persons }} WHEN kept_facts.persons < {{ k }} THEN {{ say.k_persons }} END,
        {% else %}
        CASE WHEN kept_facts.records < 2 THEN {{ say.few_records }} WHEN kept_facts.records < {{ k }} THEN {{ say.k_records }} END,
        {% endif %}
        {% for q in trees %}
        {% if q.rows %}
        (SELECT CASE WHEN count(*) FILTER (WHERE parent IS NULL) <> 1 THEN {{ q.say.roots }}
            WHEN count(*) <> (SELECT count(*) FROM {{ 'tree'|of(q) }}) THEN {{ q.say.unreachable }}
            END FROM {{ 'hierarchy'|of(q) }}),
        (SELECT CASE WHEN max(n) > 1 THEN {{ q.say.siblings }} END
            FROM (SELECT count(*) AS n FROM {{ 'hierarchy'|of(q) }} GROUP BY parent, label)),
        (SELECT CASE WHEN count(*) <> count(DISTINCT published) THEN {{ q.say.same_name }} END
            FROM {{ 'tree'|of(q) }} WHERE NOT is_leaf),
        {% endif %}
        {% if not escape and not q.is_sensitive %}
        (SELECT CASE WHEN count(*) > 0 THEN {{ q.say.reserved }} END FROM {{ 'values'|of(q) }} WHERE reserved),
        {% endif %}
        (SELECT CASE WHEN count(*) > 0 THEN {{ q.say.uncovered }} END FROM {{ 'values'|of(q) }} WHERE hits = 0),
        (SELECT CASE WHEN count(*) > 0 THEN {{ q.say.ambiguous }} END FROM {{ 'values'|of(q) }} WHERE hits > 1 AND is_leaf),
        {% if escape %}
        (SELECT CASE WHEN count(*) > 0 THEN {{ q.say.several_nodes }} END FROM {{ 'values'|of(q) }} WHERE hits > 1 AND NOT is_leaf),
        {% endif %}
        {% endfor %}
        {% for u in unchanged if u.check_rare %}
        (SELECT CASE WHEN count(*) > 0 THEN {{ u.say_rare }} END
            FROM (SELECT u{{ u.i }} FROM kept GROUP BY u{{ u.i }}
                HAVING {% if person %}count(DISTINCT person){% else %}count(*){% endif %} < {{ k }})),
        {% endfor %}
        {% if check_together %}
        (SELECT CASE WHEN count(*) > 0 THEN {{ say.rare_together }} END
            FROM (SELECT 1 FROM kept GROUP BY {% for u in unchanged if u.check_rare %}{% if not loop.first %}, {% endif %}u{{ u.i }}{% endfor %}
                HAVING {% if person %}count(DISTINCT person){% else %}count(*){% endif %} < {{ k }})),
        {% endif %}
        NULL
    ) AS message
    FROM facts, kept_facts
),
