{#- NAME_metrics('table', ...): one row per metric. -#}
{% include 'release/plan/pipeline.sql' %},
{% include 'release/plan/metric_inputs.sql' %},
{% include 'release/plan/information_loss.sql' %}
{% include 'release/plan/dispersion.sql' %}
{% include 'release/plan/metric_totals.sql' %}
