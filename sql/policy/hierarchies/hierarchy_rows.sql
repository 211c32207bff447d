{#- Rows of one hierarchy from its label paths. -#}
{%- from 'shared/hierarchies.sql' import rows_of_paths -%}
{{ rows_of_paths(paths) }}
