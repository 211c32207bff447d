{#- NAME_metrics('table', ...) of related tables: one row per metric. -#}
{% include 'release/related/pipeline.sql' %},
{% include 'release/related/metric_inputs.sql' %}
{% include 'release/related/metrics_of_table.sql' %}
