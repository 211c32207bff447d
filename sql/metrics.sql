{#- NAME_metrics('table', ...): one row a measure. -#}
{% include 'part/path.sql' %},
{% include 'part/measured.sql' %},
{% include 'part/lost.sql' %}
{% include 'part/spread.sql' %}
{% include 'part/totals.sql' %}
