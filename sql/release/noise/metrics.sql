{#- NAME_metrics('table', ...) of noise: one row a measure. -#}
{% include 'release/noise/path.sql' %},
{% include 'release/part/measured.sql' %},
{% include 'release/part/totals.sql' %}
