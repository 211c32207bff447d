{#- NAME('table', ...): the released rows in the order of the table's columns, then class_id. -#}
{% include 'part/path.sql' %}
{% include 'part/out.sql' %}
