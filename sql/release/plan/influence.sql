{#- influence('table', ...): what each quasi-identifier reveals about each sensitive column, by a random forest. -#}
{%- from 'release/plan/domains.sql' import domains, group with context -%}
{% include 'release/plan/encoded.sql' %}
-- One row: the scores of the random forests.
clustering AS MATERIALIZED (
    SELECT dbanon_influence(
        (SELECT CASE WHEN message IS NULL THEN {{ request }} ELSE error(message) END FROM problem),
        (SELECT list({{ group() }}) FROM code_groups)
        {{ domains() }}
    ) AS answer
    {% if trees %}FROM trees{% endif +%}
)
SELECT sensitive, attribute, influence, rank, zeta, sigma, accuracy, test_accuracy
FROM (
    SELECT unnest(CASE WHEN (answer).error IS NULL THEN (answer).scores ELSE error((answer).error) END, max_depth := 2)
    FROM clustering
)
ORDER BY place ASC, rank ASC
