{#- policy_review('table'): what is known of each column when the call is planned, and what is counted when it runs. -#}
WITH
-- One row: how many records and persons there are, and of each column that is counted, how many values, and whether
-- all of them are codes of one length, as zip codes are.
counted AS MATERIALIZED (
    SELECT
        count(*) AS records, {% if person %}count(DISTINCT {{ person }}){% else %}NULL{% endif %} AS persons
        {% for c in columns %}
        , count(DISTINCT {{ c.value }}) AS n{{ c.place }}
        , coalesce(bool_and(regexp_full_match(CAST({{ c.value }} AS VARCHAR), '[0-9A-Za-z]*[0-9][0-9A-Za-z]*'))
            AND min(length(CAST({{ c.value }} AS VARCHAR))) = max(length(CAST({{ c.value }} AS VARCHAR)))
            AND max(length(CAST({{ c.value }} AS VARCHAR))) BETWEEN 3 AND 10, false) AS p{{ c.place }}
        {% endfor %}
    FROM {{ source }}
),
{% if unchanged %}
-- One row: records and persons whom nobody else shares all unchanged values with.
alone AS MATERIALIZED (
    SELECT
        coalesce(sum(records) FILTER (WHERE people <= 1), 0)::BIGINT AS records,
        count(DISTINCT who) FILTER (WHERE people <= 1) AS persons
    FROM (
        SELECT
            count(*) AS records,
            {% if person %}count(DISTINCT {{ person }}) AS people, any_value({{ person }}) AS who
            {% else %}count(*) AS people, NULL AS who{% endif %}
        FROM {{ source }}
        GROUP BY {% for c in unchanged %}{% if not loop.first %}, {% endif %}{{ c.value }}{% endfor %}
    )
),
{% endif %}
-- A row a finding.
found AS (
    SELECT -1 AS rank, 0 AS place, 'source' AS topic, NULL AS column_name,
        format('{:,}', records) || ' records' || CASE WHEN persons IS NULL THEN '' ELSE ' of ' || format('{:,}', persons) || ' persons' END AS finding,
        NULL AS statement
    FROM counted
    UNION ALL
    ({{ fixed }})
    {% for c in columns %}
    UNION ALL
    {% if c.is_unchanged %}
    SELECT 0, {{ c.place }}, {{ topics[0] }}, {{ c.name }}, {{ c.role }} || ', ' || format('{:,}', n{{ c.place }}) || ' values', {{ c.statement }}
    FROM counted
    {% else %}
    SELECT 4, {{ c.place }}, {{ topics[4] }}, {{ c.name }},
        'no hierarchy; ' || format('{:,}', n{{ c.place }}) || ' values are right under *: as they are, or *'
            || CASE WHEN p{{ c.place }} THEN '' ELSE '. Hint: write one as a file and load it with hierarchy_from_file' END,
        CASE WHEN p{{ c.place }} THEN {{ c.prefix }} END
    FROM counted
    WHERE n{{ c.place }} > {{ few }}
    {% endif %}
    {% endfor %}
    {% if unchanged %}
    UNION ALL
    SELECT 3, 0, {{ topics[3] }}, NULL,
        format('{:,}', a.records) || ' of ' || format('{:,}', c.records) || ' records'
            || CASE WHEN c.records > 0 THEN ' (' || round(100 * a.records / c.records, 1) || ' %)' ELSE '' END
            {% if person %}
            || ' and ' || format('{:,}', a.persons) || ' of ' || format('{:,}', c.persons) || ' persons'
            || CASE WHEN c.persons > 0 THEN ' (' || round(100 * a.persons / c.persons, 1) || ' %)' ELSE '' END
            {% endif %}
            || ' are alone with what is published as it is: ' || {% for u in unchanged %}{{ u.shown }}{% if not loop.last %} || ', ' || {% endif %}{% endfor %},
        CASE WHEN a.records > 0 THEN CASE greatest({% for u in unchanged %}n{{ u.place }}{% if not loop.last %}, {% endif %}{% endfor %})
            {% for u in unchanged %}WHEN n{{ u.place }} THEN {{ u.statement }} {% endfor %}END END
    FROM alone AS a, counted AS c
    {% endif %}
    {% if known %}
    UNION ALL
    SELECT 5, (row_number() OVER (ORDER BY column_name ASC, problem ASC))::INTEGER, {{ topics[5] }}, column_name, problem, statement FROM ({{ known }})
    {% endif %}
)
SELECT topic, column_name, finding, statement
FROM found
ORDER BY rank ASC, place ASC
