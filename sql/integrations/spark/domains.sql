{#- One row: the domains of the larger table, as the clustering is given them; or an error, where it cannot be
    clustered. -#}
{%- from 'release/plan/domains.sql' import domains with context -%}
{% include 'release/plan/encoded.sql' %}
asked AS (SELECT {{ request }} AS request)
SELECT request {{ domains() }}
FROM asked{% if trees %}, trees{% endif +%}
