{#- Records that were added since a version and are deferred: their person, their published values, and their number.
    `barred`: those that cannot be clustered, because their block is too small or violates the model, or that have a
    value too rare to publish. `back`: those that some version has published. `new`: the others. The fourth relation:
    all. The conditions before clustering apply to them, too: errors of the source are reported, not deferred. -#}
{%- from 'shared/record_assignment.sql' import shown_values, usable with context -%}
{%- from 'release/plan/domains.sql' import domains, group with context -%}
{%- from 'release/plan/row_identity.sql' import row_hash, person_key, value_hash, cells, quasi_cells with context -%}
{% macro rare(columns) -%}
EXISTS (
            FROM (
                SELECT
                    {{ shown_values(columns) }},
                    {% if person %}count(DISTINCT person){% else %}sum(size){% endif %} AS n_people
                FROM {{ usable() }}
                GROUP BY ALL
            ) AS r
            WHERE r.n_people < {{ k }}
                {% for u in columns %}
                AND r.{{ u.column }} IS NOT DISTINCT FROM s.{{ u.column }}
                {% if not u.text_is_value %}
                AND r.{{ 'text'|of(u) }} IS NOT DISTINCT FROM s.{{ 'text'|of(u) }}
                {% endif %}
                {% endfor %}
        )
{%- endmacro %}
{% include 'release/plan/encoded.sql' %}
{% include 'release/plan/kept_classes.sql' %}
-- One row: what the clustering answers about the records that were added.
clustering AS MATERIALIZED (
    SELECT dbanon_cluster(
        (SELECT CASE WHEN message IS NULL THEN {{ request }} ELSE error(message) END FROM problem),
        (SELECT list({{ group() }}) FROM new_groups)
        {{ domains() }}
    ) AS answer
    {% if trees %}
    FROM trees
    {% endif %}
),
-- One row per group of equal records: its cluster, -1 if it cannot be clustered now.
group_clusters AS MATERIALIZED (
    SELECT unnest(CASE WHEN (answer).error IS NULL THEN (answer).parts ELSE error((answer).error) END, max_depth := 2)
    FROM clustering
),
-- One row per hash of records of a group that cannot be clustered now.
barred_hashes AS MATERIALIZED (
    SELECT DISTINCT row_hash FROM hash_of WHERE gid IN (SELECT gid FROM group_clusters WHERE cluster = -1)
),
-- One row per hash of a record and person in the present source: how many records, and whether a value is rare.
source_records AS MATERIALIZED (
    SELECT
        {{ person_key(sql('s.')) }} AS person_key,
        {{ row_hash(sql('s.')) }} AS row_hash,
        {{ value_hash(sql('s.'), false) }} AS value_hash,
        {{ cells(sql('s.'), false) }} AS cells,
        {{ quasi_cells(sql('s.')) }} AS quasi_cells,
        sum(s.size)::BIGINT AS records,
        bool_or(false
        {% for u in unchanged if u.check_rare %}
        OR {{ rare([u]) }}
        {% endfor %}
        {% if check_combinations %}
        OR {{ rare(unchanged|selectattr('check_rare')|list) }}
        {% endif %}
        ) AS is_rare
    FROM {{ usable() }} AS s
    GROUP BY ALL
)
SELECT
    t.person_key, NULL::BIGINT AS class_id, NULL::BIGINT AS cluster_id,
    t.row_hash, t.value_hash, t.cells, t.quasi_cells, NULL::UBIGINT AS label_hash,
    t.records - coalesce(b.records, 0)::BIGINT AS records, true AS waiting
FROM source_records AS t
LEFT JOIN (SELECT person_key, row_hash, sum(records) AS records FROM {{ kept_members }} GROUP BY ALL) AS b
    ON b.row_hash = t.row_hash AND b.person_key IS NOT DISTINCT FROM t.person_key
WHERE t.records > coalesce(b.records, 0)
    {% if who == 'barred' %}
    AND (t.row_hash IN (FROM barred_hashes) OR t.is_rare)
    {% else %}
    {# Records that are deferred in any case are checked, too. #}
    AND (t.row_hash IN (FROM barred_hashes)) IS NOT NULL
    {% endif %}
    {% if who == 'back' %}
    AND {{ shown }}
    {% elif who == 'new' %}
    AND NOT {{ shown }}
    {% endif %}
ORDER BY t.row_hash ASC, t.person_key ASC NULLS LAST
