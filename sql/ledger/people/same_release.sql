{#- How many kinds of published rows two versions have not in common, or not equally often. -#}
{% macro rows(of) -%}
SELECT label_hash, value_hash, sum(records)::BIGINT AS records FROM {{ of }} WHERE class_id IS NOT NULL GROUP BY ALL
{%- endmacro %}
SELECT count(*) FROM (({{ rows(mine) }} EXCEPT {{ rows(theirs) }}) UNION ALL ({{ rows(theirs) }} EXCEPT {{ rows(mine) }}))
