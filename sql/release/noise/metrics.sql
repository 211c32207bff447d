{#- NAME_metrics('table', ...) of noise: one row per metric. -#}
{% include 'release/noise/pipeline.sql' %},
{% include 'release/plan/metric_inputs.sql' %},
{% include 'release/plan/metric_totals.sql' %}
