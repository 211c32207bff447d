{#- Whether the source and the call can be clustered, by the checks that come before the clustering: an error, or one
    row that is true. Nothing is clustered. -#}
{%- from 'shared/messages.sql' import message_text with context -%}
{% include 'release/plan/encoded.sql' %}
-- One row: true, or the error of the first check that failed.
checked_input AS (
    SELECT CASE WHEN failure IS NULL THEN true ELSE error({{ message_text() }}) END AS passed
    FROM problem LEFT JOIN input_messages AS m ON m.name = (failure).name
)
SELECT passed FROM checked_input
