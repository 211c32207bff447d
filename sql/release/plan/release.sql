{#- NAME('table', ...): the released rows in the order of the table's columns, then class_id. -#}
{% set without_losses = true %}
{% include 'release/plan/pipeline.sql' %}
{% include 'release/plan/result.sql' %}
