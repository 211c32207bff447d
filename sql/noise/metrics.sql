{#- NAME_metrics('table', ...) of noise: one row a measure. -#}
{% include 'noise/path.sql' %},
{% include 'part/measured.sql' %},
{% include 'part/totals.sql' %}
