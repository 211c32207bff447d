{#- NAME_metrics('table', ...) of related tables: one row a measure. -#}
{% include 'release/related/path.sql' %},
{% include 'release/related/measured.sql' %}
{% include 'release/related/metrics_of.sql' %}
