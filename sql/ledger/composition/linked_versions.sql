{#- What versions with the same pseudonyms reveal together: a reader follows each person from version to version. A
    person's trail is the classes that the rows were in, version by version, and how often. The persons of one trail
    must meet the model, in each class of each version and over all of their rows. What was revealed before the new
    version is not counted again: of persons whom it does not distinguish from others only its own rows count. Values of
    `insensitive`, masked and shifted columns that a person had in any version are compared with those of all other
    persons. One row per parameter that is missed, with how many sets and persons. It shares no step with what made the
    versions. -#}
{%- from 'release/plan/row_identity.sql' import value_hash with context -%}
WITH RECURSIVE
-- One row per version, person, class and published value: how many records.
version_values AS MATERIALIZED (
    {% for v in versions %}
    {% if not loop.first %}
    UNION ALL
    {% endif %}
    SELECT
        {{ v.i }} AS version, person_key, value_hash, class_id, sum(records)::BIGINT AS records
        {% if rare %}
        , list_select(
            cells, [{% for place in rare %}{{ place }}{{ sql(', ') if not loop.last }}{% endfor %}]
        ) AS rare_cells
        {% endif %}
    FROM {{ v.members }}
    WHERE class_id IS NOT NULL AND person_key IS NOT NULL
    GROUP BY ALL
    {% endfor %}
),
-- One row per person: the number of the trail, and of the trail without the new version.
trails AS MATERIALIZED (
    SELECT
        person_key,
        dense_rank() OVER (ORDER BY earlier_steps ASC NULLS FIRST) AS earlier_trail,
        dense_rank() OVER (ORDER BY steps ASC) AS trail
    FROM (
        SELECT
            person_key,
            list(row(version, class_id, records) ORDER BY version ASC, class_id ASC) FILTER (
                WHERE version < {{ last }}
            ) AS earlier_steps,
            list(row(version, class_id, records) ORDER BY version ASC, class_id ASC) AS steps
        FROM (
            SELECT version, person_key, class_id, sum(records) AS records FROM version_values GROUP BY ALL
        )
        GROUP BY person_key
    )
),
-- One row per earlier trail: whether the new version splits its persons.
earlier_trails AS (
    SELECT earlier_trail, count(DISTINCT trail) > 1 AS is_split FROM trails GROUP BY earlier_trail
),
-- One row per person and published value in a set. The sets are all rows of a trail, and its rows in one class.
pieces AS MATERIALIZED (
    SELECT
        dense_rank() OVER (ORDER BY trail ASC, version ASC NULLS FIRST, class_id ASC NULLS FIRST) AS class_id,
        value_hash, person_key AS person, sum(records)::BIGINT AS size
    FROM (
        SELECT
            t.trail, v.value_hash, v.person_key, v.records,
            CASE WHEN NOT is_whole_trail THEN v.version END AS version,
            CASE WHEN NOT is_whole_trail THEN v.class_id END AS class_id
        FROM version_values AS v
        JOIN trails AS t USING (person_key)
        JOIN earlier_trails AS e USING (earlier_trail)
        CROSS JOIN (SELECT unnest([false, true]) AS is_whole_trail)
        WHERE e.is_split OR v.version = {{ last }}
    ) AS trail_values
    GROUP BY trail, trail_values.version, trail_values.class_id, value_hash, person_key
),
-- One row per hash of published values: the values.
published_values AS MATERIALIZED (
    SELECT
        {{ value_hash(sql(''), true) }} AS value_hash
        {% for u in unchanged %}
        , any_value({{ u.name }}) AS {{ u.column }}
        {% endfor %}
    FROM (
        {% for t in known %}
        {% if not loop.first %}
        UNION ALL BY NAME
        {% endif %}
        SELECT {% for u in unchanged %}{{ u.name }}, {% endfor %}true AS is_known FROM {{ t }}
        {% endfor %}
    )
    GROUP BY value_hash
),
{% set compared %}
SELECT
        person_key AS person
        {% for u in unchanged %}
        , v.{{ u.column }}
        {% endfor %}
    FROM version_values
    JOIN published_values AS v USING (value_hash)
{%- endset %}
{% include 'ledger/composition/class_differences.sql' %}
SELECT parameter, count(*) AS sets, sum(persons)::BIGINT AS people
FROM missed_models
JOIN piece_sizes USING (class_id)
GROUP BY parameter
{% if rare %}
UNION ALL
SELECT 'values', count(*), coalesce(sum(persons), 0)
FROM (
    SELECT count(*) AS persons
    FROM (
        SELECT person_key, list(row(rare_cells, records) ORDER BY rare_cells ASC, records ASC) AS value_counts
        FROM (
            SELECT DISTINCT person_key, rare_cells, records
            FROM (
                SELECT version, person_key, rare_cells, sum(records) AS records FROM version_values GROUP BY ALL
            )
        )
        GROUP BY person_key
    )
    GROUP BY value_counts
    HAVING count(*) < {{ k }}
)
HAVING count(*) > 0
{% endif %}
ORDER BY parameter ASC
