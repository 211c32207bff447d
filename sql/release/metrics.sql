{#- NAME_metrics('table', ...): one row a measure. -#}
{% include 'release/part/path.sql' %},
{% include 'release/part/measured.sql' %},
{% include 'release/part/information_loss.sql' %}
{% include 'release/part/dispersion.sql' %}
{% include 'release/part/totals.sql' %}
