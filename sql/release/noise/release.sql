{#- NAME('table', ...) of noise: one row per record in the order of the table's columns, then class_id. -#}
{% include 'release/noise/pipeline.sql' %}
{% include 'release/plan/result.sql' %}
