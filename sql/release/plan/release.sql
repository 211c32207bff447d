{#- NAME('table', ...): the released rows in the order of the table's columns, then class_id. -#}
{% include 'release/plan/pipeline.sql' %}
{% include 'release/plan/result.sql' %}
