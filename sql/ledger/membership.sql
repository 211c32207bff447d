{#- Who is in which class of a release that is made: NULL for records that are left out. Never published. -#}
{%- from 'part/row.sql' import row_hash, person_key with context -%}
{% include 'part/path.sql' %}
SELECT
    {{ person_key(sql('s.')) }} AS person_key, {% if suppress %}nullif(l.class_id, -1) AS class_id{% else %}l.class_id{% endif %},
    {{ row_hash(sql('s.')) }} AS row_hash, count(*)::BIGINT AS records
FROM source AS s
LEFT JOIN placed AS l ON l.rid = s.rid
WHERE (SELECT passed FROM gate)
GROUP BY ALL
