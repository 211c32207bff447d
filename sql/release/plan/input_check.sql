{#- Whether the source and the call can be clustered, by the checks that come before the clustering: an error, or one
    row that is true. Nothing is clustered. -#}
{% include 'release/plan/encoded.sql' %}
-- One row: true, or the error of the first check that failed.
checked_input AS (
    SELECT CASE WHEN message IS NULL THEN true ELSE error(message) END AS passed FROM problem
)
SELECT passed FROM checked_input
