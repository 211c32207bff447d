{#- What must hold before anything is clustered: one row, the first problem or NULL. Nothing here quotes a cell. -#}
{%- from 'shared/messages.sql' import named_messages with context -%}
-- One row: the number of records of the source, and of values in each column.
source_counts AS MATERIALIZED (
    SELECT
        coalesce(sum(size), 0)::BIGINT AS records
        {% for q in quasi %}, coalesce(sum(size) FILTER (WHERE {{ q.column }} IS NOT NULL), 0)::BIGINT AS {{ 'filled'|of(q) }}
        {% if q.is_number and q.family.has_infinity %}, coalesce(sum(size) FILTER (WHERE {{ q.column }} IS NOT NULL AND NOT isfinite({{ q.column }})), 0)::BIGINT AS {{ 'not finite'|of(q) }}{% endif %}{% endfor %}
    FROM source
),
-- One row: the number of records that are clustered.
usable_counts AS MATERIALIZED (
    SELECT coalesce(sum(size), 0)::BIGINT AS records{% if person %}, count(DISTINCT person) AS persons{% endif %} FROM tuples
),
{% if trees %}
-- One row per hierarchy: properties of its nodes and of the values of its column.
tree_facts AS MATERIALIZED (SELECT unnest((read).facts, max_depth := 2) FROM trees),
-- One row per hierarchy: its first problem, or NULL.
tree_problems AS (
    SELECT
        list_position([{% for q in trees %}{{ q.tree }}{{ sql(', ') if not loop.last }}{% endfor %}], tree) AS place,
        CASE tree
        {% for q in trees %}
        WHEN {{ q.tree }} THEN CASE
            {% if q.rows %}
            WHEN coalesce(roots, 0) <> 1 THEN {{ messages.failure(q.raw_name ~ ': hierarchy with one root', q.say.roots) }}
            WHEN stored <> coalesce(reached, 0) THEN {{ messages.failure(q.raw_name ~ ': reachable nodes', q.say.unreachable) }}
            WHEN same_labels THEN {{ messages.failure(q.raw_name ~ ': labels of siblings', q.say.siblings) }}
            WHEN inner_names < inner_nodes THEN {{ messages.failure(q.raw_name ~ ': published names of nodes', q.say.same_name) }}
            {% if not q.is_sensitive %}
            WHEN inner_stars > 0 THEN {{ messages.failure(q.raw_name ~ ': inner node *', q.say.inner_star) }}
            {% endif %}
            {% endif %}
            {% if not escape and not q.is_sensitive %}
            WHEN reserved > 0 THEN {{ messages.failure(q.raw_name ~ ': reserved values', q.say.reserved) }}
            {% endif %}
            {% if q.is_zoned and q.rows and not q.is_sensitive %}
            WHEN uncovered > 0 AND EXISTS (
                FROM (SELECT DISTINCT {{ q.column }} AS value FROM tuples WHERE {{ q.column }} IS NOT NULL) AS instants
                WHERE TRY_CAST(value AS TIMESTAMPTZ)::VARCHAR <> value
                    AND TRY_CAST(value AS TIMESTAMPTZ)::VARCHAR IN (SELECT label FROM ({{ q.rows }}) AS stored)
            ) THEN {{ messages.failure(q.raw_name ~ ': labels of another time zone', q.say.other_zone) }}
            {% endif %}
            WHEN uncovered > 0 THEN {{ messages.failure(q.raw_name ~ ': values without a leaf', q.say.uncovered) }}
            WHEN ambiguous > 0 THEN {{ messages.failure(q.raw_name ~ ': values with several leaves', q.say.ambiguous) }}
            {% if escape %}
            WHEN several_nodes > 0 THEN {{ messages.failure(q.raw_name ~ ': values that several nodes publish', q.say.several_nodes) }}
            {% endif %}
        END
        {% endfor %}
        END AS failure
    FROM tree_facts
),
{% endif %}
-- One row: the first problem of the source or the call, or NULL.
problem AS MATERIALIZED (
    SELECT coalesce(
        CASE WHEN {{ fingerprint_sql }} IS DISTINCT FROM {{ fingerprint }} THEN {{ messages.failure('policy changed', say.policy_changed) }} END,
        {% if bare %}
        CASE WHEN EXISTS (FROM duckdb_tables() WHERE database_name = 'temp' AND lower(table_name) = {{ bare }})
            OR EXISTS (FROM duckdb_views() WHERE database_name = 'temp' AND lower(view_name) = {{ bare }})
        THEN {{ messages.failure('temporary table of this name', say.shadowed) }} END,
        {% endif %}
        {% if continuation is not defined %}
        CASE WHEN source_counts.records = 0 THEN {{ messages.failure('no rows', say.empty) }} END,
        {% endif %}
        {% for q in quasi %}
        {% if nulls == 'error' %}
        CASE WHEN source_counts.{{ 'filled'|of(q) }} < source_counts.records THEN {{ messages.failure(q.raw_name ~ ': NULL', q.say.nulls) }} END,
        {% endif %}
        {% if q.is_number and q.family.has_infinity %}
        CASE WHEN source_counts.{{ 'not finite'|of(q) }} > 0 THEN {{ messages.failure(q.raw_name ~ ': NaN and infinity', q.say.wild) }} END,
        {% endif %}
        {% if continuation is not defined %}
        CASE WHEN {% if whole_table %}NOT EXISTS (FROM {{ 'larger'|of(q) }} WHERE {{ q.column }} IS NOT NULL){% else %}source_counts.{{ 'filled'|of(q) }} = 0{% endif %} THEN {{ messages.failure(q.raw_name ~ ': no values', q.say.no_values) }} END,
        {% endif %}
        {% endfor %}
        {% if continuation is not defined %}
        CASE WHEN usable_counts.records = 0 THEN {{ messages.failure('no rows without NULL', say.nothing_left) }} END,
        {% if person %}
        CASE WHEN usable_counts.persons < 2 THEN {{ messages.failure('fewer than two persons', say.few_persons) }} WHEN usable_counts.persons < {{ k }} THEN {{ messages.failure('fewer than k persons', say.k_persons) }} END,
        {% else %}
        CASE WHEN usable_counts.records < 2 THEN {{ messages.failure('fewer than two records', say.few_records) }} WHEN usable_counts.records < {{ k }} THEN {{ messages.failure('fewer than k records', say.k_records) }} END,
        {% endif %}
        {% endif %}
        {% if trees %}
        (SELECT first(failure ORDER BY place ASC) FROM tree_problems WHERE failure IS NOT NULL),
        {% endif %}
        {% if waiting is not defined and continuation is not defined %}
        {% for u in unchanged if u.check_rare %}
        (SELECT CASE WHEN count(*) > 0 THEN {{ messages.failure('rare values of ' ~ u.raw_name, u.say_rare) }} END
            FROM (SELECT {{ u.column }} FROM usable_records GROUP BY {{ u.column }}
                HAVING {% if person %}count(DISTINCT person){% else %}sum(size){% endif %} < {{ k }})),
        {% endfor %}
        {% if check_combinations %}
        (SELECT CASE WHEN count(*) > 0 THEN {{ messages.failure('rare combinations of values', say.rare_together) }} END
            FROM (SELECT 1 FROM usable_records GROUP BY {% for u in unchanged if u.check_rare %}{% if not loop.first %}, {% endif %}{{ u.column }}{% endfor %}
                HAVING {% if person %}count(DISTINCT person){% else %}sum(size){% endif %} < {{ k }})),
        {% endif %}
        {% endif %}
        NULL
    ) AS failure
    FROM source_counts, usable_counts
),
{{ named_messages('input_messages') }}