{#- Records that came since a version and wait: who they are about, what they publish, and how many. They are those that
    cannot be clustered (`barred`), of a block that is too small or misses the model, or with a value that may not be
    published because it is rare; or those that some version has shown (`back`), the others (`new`), or everybody. What must hold before anything is clustered must
    hold of them, too: what is wrong with the source is said, it does not wait. -#}
{%- from 'release/plan/domains.sql' import domains, group with context -%}
{%- from 'release/plan/row_identity.sql' import row_hash, person_key, value_hash, cells, quasi_cells with context -%}
{%- from 'shared/messages.sql' import message_text with context -%}
{% macro rare(columns) -%}
EXISTS (
            FROM (
                SELECT {% for u in columns %}{{ u.column }}, {% endfor %}{% if person %}count(DISTINCT person){% else %}sum(size){% endif %} AS known
                FROM usable_records
                GROUP BY ALL
            ) AS r
            WHERE r.known < {{ k }}{% for u in columns %} AND r.{{ u.column }} IS NOT DISTINCT FROM s.{{ u.column }}{% endfor %}
        )
{%- endmacro %}
{% include 'release/plan/encoded.sql' %}
{% include 'release/plan/kept_classes.sql' %}
clustering AS MATERIALIZED (
    SELECT dbanon_cluster(
        (SELECT CASE WHEN failure IS NULL THEN {{ request }} ELSE error({{ message_text() }}) END
            FROM problem LEFT JOIN input_messages AS m ON m.name = (failure).name),
        (SELECT list({{ group() }}) FROM new_groups)
        {{ domains() }}
    ) AS answer
    {% if trees %}FROM tree_domains AS d{% endif +%}
),
new_parts AS MATERIALIZED (
    SELECT unnest(CASE WHEN (answer).error IS NULL THEN (answer).parts ELSE error((answer).error) END, max_depth := 2)
    FROM clustering
),
-- A row a hash of records of a group that cannot be clustered now.
barred AS MATERIALIZED (
    SELECT DISTINCT row_hash FROM hash_of WHERE gid IN (SELECT gid FROM new_parts WHERE cluster = -1)
),
there AS MATERIALIZED (
    SELECT
        {{ person_key(sql('s.')) }} AS person_key, {{ row_hash(sql('s.')) }} AS row_hash, {{ value_hash(sql('s.'), false) }} AS value_hash, {{ cells(sql('s.'), false) }} AS cells, {{ quasi_cells(sql('s.')) }} AS quasi_cells,
        sum(s.size)::BIGINT AS records,
        bool_or(false
        {% for u in unchanged if u.check_rare %}
        OR {{ rare([u]) }}
        {% endfor %}
        {% if check_combinations %}
        OR {{ rare(unchanged|selectattr('check_rare')|list) }}
        {% endif %}
        ) AS is_rare
    FROM usable_records AS s
    GROUP BY ALL
)
SELECT
    t.person_key, NULL::BIGINT AS class_id, NULL::BIGINT AS cluster_id, t.row_hash, t.value_hash, t.cells, t.quasi_cells, NULL::UBIGINT AS label_hash,
    t.records - coalesce(b.records, 0)::BIGINT AS records, true AS waiting
FROM there AS t
LEFT JOIN (SELECT person_key, row_hash, sum(records) AS records FROM {{ kept_members }} GROUP BY ALL) AS b
    ON b.row_hash = t.row_hash AND b.person_key IS NOT DISTINCT FROM t.person_key
WHERE t.records > coalesce(b.records, 0)
    {# Who waits in any case is looked at, too. #}
    AND {% if who == 'barred' %}(t.row_hash IN (FROM barred) OR t.is_rare){% else %}(t.row_hash IN (FROM barred)) IS NOT NULL{% endif %}
    {% if who == 'back' %}AND {{ shown }}{% elif who == 'new' %}AND NOT {{ shown }}{% endif %}
ORDER BY t.row_hash ASC, t.person_key ASC NULLS LAST
