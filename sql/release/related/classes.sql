{#- NAME_classes('table', ...) of related tables: one row a class of people of whom the same is published in all tables. -#}
{% include 'release/related/pipeline.sql' %}
{% include 'release/related/classes_of_table.sql' %}
