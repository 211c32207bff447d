{#- NAME('table', ...): the released rows in the order of the table's columns, then class_id. -#}
{% if with_losses is not defined %}
{% set without_losses = true %}
{% endif %}
{% include 'release/plan/pipeline.sql' %}
{% include 'release/plan/result.sql' %}
