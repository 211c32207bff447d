{#- How many distinct published rows two versions do not have equally often. -#}
{% macro rows(members) -%}
SELECT label_hash, value_hash, sum(records)::BIGINT AS records
        FROM {{ members }}
        WHERE class_id IS NOT NULL
        GROUP BY ALL
{%- endmacro %}
SELECT count(*)
FROM (
    (
        {{ rows(mine) }}
        EXCEPT {{ rows(theirs) }}
    )
    UNION ALL
    (
        {{ rows(theirs) }}
        EXCEPT {{ rows(mine) }}
    )
)
