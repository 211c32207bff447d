{#- What versions with the same pseudonyms tell together: a reader follows each person from version to version. A person's
    trail is the classes that the rows were in, version by version, and how often; persons of one trail must meet the
    model, in each class of each version and over all of their rows. What was told before the new version is not told anew:
    of persons whom it does not set apart from others only its own rows count. Values of `insensitive`, masked and shifted columns
    that somebody had in any version are held against those of everybody else. A row a parameter that is missed, with how
    many sets and persons. It shares no step with what made the versions. -#}
{%- from 'release/plan/row_identity.sql' import value_hash with context -%}
WITH RECURSIVE
shown AS MATERIALIZED (
    {% for v in versions %}
    {% if not loop.first %}UNION ALL{% endif %}
    SELECT {{ v.i }} AS version, person_key AS who, value_hash, class_id, sum(records)::BIGINT AS records{% if rare %}, list_select(cells, [{% for place in rare %}{% if not loop.first %}, {% endif %}{{ place }}{% endfor %}]) AS rare{% endif +%}
    FROM {{ v.members }}
    WHERE class_id IS NOT NULL AND person_key IS NOT NULL
    GROUP BY ALL
    {% endfor %}
),
{% macro trail(last) -%}
    SELECT who, list(row(version, class_id, records) ORDER BY version ASC, class_id ASC) FILTER (WHERE version < {{ last }}) AS before, list(row(version, class_id, records) ORDER BY version ASC, class_id ASC) AS trail
    FROM (SELECT version, who, class_id, sum(records) AS records FROM shown GROUP BY ALL)
    GROUP BY who
{%- endmacro %}
trails AS MATERIALIZED (
    SELECT who, dense_rank() OVER (ORDER BY before ASC NULLS FIRST) AS before, dense_rank() OVER (ORDER BY trail ASC) AS trail
    FROM ({{ trail(last) }})
),
split AS (SELECT before, count(DISTINCT trail) > 1 AS is_split FROM trails GROUP BY before),
piece AS MATERIALIZED (
    SELECT dense_rank() OVER (ORDER BY t.trail ASC, CASE WHEN NOT w.whole THEN s.version END ASC NULLS FIRST, CASE WHEN NOT w.whole THEN s.class_id END ASC NULLS FIRST) AS class_id, s.value_hash, s.who AS person, sum(s.records)::BIGINT AS size
    FROM shown AS s
    JOIN trails AS t USING (who)
    JOIN split AS p USING (before)
    CROSS JOIN (SELECT unnest([false, true]) AS whole) AS w
    WHERE p.is_split OR s.version = {{ last }}
    GROUP BY t.trail, CASE WHEN NOT w.whole THEN s.version END, CASE WHEN NOT w.whole THEN s.class_id END, s.value_hash, s.who
),
value_of AS MATERIALIZED (
    SELECT {{ value_hash(sql(''), true) }} AS value_hash{% for u in unchanged %}, any_value({{ u.name }}) AS {{ u.column }}{% endfor %}
    FROM (
        {% for t in known %}
        {% if not loop.first %}UNION ALL BY NAME{% endif %}
        SELECT {% for u in unchanged %}{{ u.name }}, {% endfor %}true AS is_known FROM {{ t }}
        {% endfor %}
    )
    GROUP BY value_hash
),
{% set compared %}
    SELECT who AS person{% for u in unchanged %}, v.{{ u.column }}{% endfor %}
    FROM shown
    JOIN value_of AS v USING (value_hash)
{% endset %}
{% include 'ledger/composition/class_differences.sql' %}
SELECT parameter, count(*) AS sets, sum(persons)::BIGINT AS people
FROM failed
JOIN count_of USING (class_id)
GROUP BY parameter
{% if rare %}
UNION ALL
SELECT 'values', count(*), coalesce(sum(persons), 0)
FROM (
    SELECT count(*) AS persons
    FROM (
        SELECT who, list(row(rare, records) ORDER BY rare ASC, records ASC) AS seen
        FROM (SELECT DISTINCT who, rare, records FROM (SELECT version, who, rare, sum(records) AS records FROM shown GROUP BY ALL))
        GROUP BY who
    )
    GROUP BY seen
    HAVING count(*) < {{ k }}
)
HAVING count(*) > 0
{% endif %}
ORDER BY parameter ASC
