{#- NAME_classes('table', ...) of related tables: one row per class of people with equal published values in all
    tables. -#}
{% include 'release/related/pipeline.sql' %}
{% include 'release/related/classes_of_table.sql' %}
