{#- policy_review('table'): what is known of each column when the call is planned, and what is counted when it runs. -#}
{# A count with its noun. #}
{% macro counted(count, singular, plural) -%}
    format('{:,}', {{ count }}) || CASE WHEN {{ count }} = 1 THEN {{ singular }} ELSE {{ plural }} END
{%- endmacro %}
WITH
-- One row: how many records and persons there are, and of each column that is counted, how many values, and whether
-- all of them are codes of one length, as zip codes are.
counts AS MATERIALIZED (
    SELECT
        count(*) AS records,
        {% if person %}
        count(DISTINCT {{ person }}) AS persons
        {% else %}
        NULL AS persons
        {% endif %}
        {% for c in columns %}
        , count(DISTINCT {{ c.value }}) AS {{ 'values'|of(c) }}
        , coalesce(
            bool_and(regexp_full_match(CAST({{ c.value }} AS VARCHAR), '[0-9A-Za-z]*[0-9][0-9A-Za-z]*'))
            AND min(length(CAST({{ c.value }} AS VARCHAR))) = max(length(CAST({{ c.value }} AS VARCHAR)))
            AND max(length(CAST({{ c.value }} AS VARCHAR))) BETWEEN 3 AND 10,
            false
        ) AS {{ 'has codes'|of(c) }}
        {% endfor %}
    FROM {{ source }}
),
{% if unchanged %}
-- One row: how many records and persons share all unchanged values with no other.
unique_counts AS MATERIALIZED (
    SELECT
        coalesce(sum(records) FILTER (WHERE people <= 1), 0)::BIGINT AS records,
        count(DISTINCT person_key) FILTER (WHERE people <= 1) AS persons
    FROM (
        SELECT
            count(*) AS records,
            {% if person %}
            count(DISTINCT {{ person }}) AS people, any_value({{ person }}) AS person_key
            {% else %}
            count(*) AS people, NULL AS person_key
            {% endif %}
        FROM {{ source }}
        GROUP BY
            {% for c in unchanged %}
            {{ c.value }}{{ sql(',') if not loop.last }}
            {% endfor %}
    )
),
{% endif %}
-- One row per finding.
findings AS (
    SELECT
        -1 AS rank, 0 AS place, 'source' AS topic, NULL AS column_name,
        {{ counted(sql('records'), sql("' record'"), sql("' records'")) }}
            || CASE
                WHEN persons IS NULL THEN ''
                ELSE ' of ' || {{ counted(sql('persons'), sql("' person'"), sql("' persons'")) }}
            END AS finding,
        NULL AS statement
    FROM counts
    UNION ALL
    ({{ fixed }})
    {% for c in columns %}
    UNION ALL
    {% if c.is_unchanged %}
    SELECT
        {{ topics.unchanged.rank }}, {{ c.place }}, {{ topics.unchanged.name }}, {{ c.name }},
        {{ c.role }} || ', ' || {{ counted('values'|of(c), sql("' value'"), sql("' values'")) }},
        {{ c.statement }}
    FROM counts
    {% else %}
    SELECT
        {{ topics.flat.rank }}, {{ c.place }}, {{ topics.flat.name }}, {{ c.name }},
        'no hierarchy; ' || format('{:,}', {{ 'values'|of(c) }}) \
            || ' values are directly below *: they are published unchanged or as *'
            || CASE
                WHEN {{ 'has codes'|of(c) }} THEN ''
                ELSE '. Hint: write one as a file and load it with hierarchy_from_file' END,
        CASE WHEN {{ 'has codes'|of(c) }}
            THEN {{ c.prefix }}
        END
    FROM counts
    WHERE {{ 'values'|of(c) }} > {{ few }}
    {% endif %}
    {% endfor %}
    {% if unchanged %}
    UNION ALL
    SELECT
        {{ topics.unique.rank }}, 0, {{ topics.unique.name }}, NULL,
        format('{:,}', u.records) || ' of ' || {{ counted(sql('c.records'), sql("' record'"), sql("' records'")) }}
            || CASE WHEN c.records > 0 THEN ' (' || round(100 * u.records / c.records, 1) || ' %)' ELSE '' END
            {% if person %}
            || ' and ' || format('{:,}', u.persons) || ' of '
            || {{ counted(sql('c.persons'), sql("' person'"), sql("' persons'")) }}
            || CASE WHEN c.persons > 0 THEN ' (' || round(100 * u.persons / c.persons, 1) || ' %)' ELSE '' END
            {% endif %}
            || ' are unique by the columns published unchanged: '
            {% for u in unchanged %}
            || {{ u.shown }}{{ sql(" || ', '") if not loop.last }}
            {% endfor %}
        ,
        CASE WHEN u.records > 0 THEN CASE greatest(
            {% for u in unchanged %}
            {{ 'values'|of(u) }}{{ sql(',') if not loop.last }}
            {% endfor %}
        )
            {% for u in unchanged %}
            WHEN {{ 'values'|of(u) }} THEN {{ u.statement }}
            {% endfor %}
        END END
    FROM unique_counts AS u, counts AS c
    {% endif %}
    {% if known %}
    UNION ALL
    SELECT
        {{ topics.problem.rank }}, (row_number() OVER (ORDER BY column_name ASC, problem ASC))::INTEGER, \
            {{ topics.problem.name }},
        column_name, problem, statement
    FROM ({{ known }})
    {% endif %}
)
SELECT topic, column_name, finding, statement
FROM findings
ORDER BY rank ASC, place ASC
