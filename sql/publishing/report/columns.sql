{#- report(): how many distinct values columns have, and how many records have none, in the release, and in its source
    where that is published. -#}
{% for c in columns %}
SELECT
    {{ c.label }} AS "column",
    {% if source %}
    (SELECT count(DISTINCT {{ c.before }}) FROM {{ source }}) AS different_before,
    (SELECT count(*) FILTER (WHERE {{ c.missing_before }}) FROM {{ source }}) AS missing_before,
    {% endif %}
    (SELECT count(DISTINCT {{ c.after }}) FROM {{ release }}) AS different_after,
    (SELECT count(*) FILTER (WHERE {{ c.missing_after }}) FROM {{ release }}) AS missing_after
{% if not loop.last %}
UNION ALL
{% endif %}
{% endfor %}
