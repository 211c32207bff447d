{#- NAME('table', ...): the released rows in the order of the table's columns, then class_id. -#}
{% include 'release/part/path.sql' %}
{% include 'release/part/out.sql' %}
