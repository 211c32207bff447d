{#- One row: the domains of the larger table, as the clustering is given them; or an error, where it cannot be clustered. -#}
{%- from 'release/part/domains.sql' import domains with context -%}
{% include 'release/part/encoded.sql' %}
asked AS (SELECT {{ request }} AS request)
SELECT request {{ domains() }}
FROM asked{% if trees %}, tree_domain AS d{% endif +%}
