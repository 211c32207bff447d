{#- p-sensitivity: how many values (Truta and Vinay 2006). A sensitive NULL never counts. -#}
{%- from 'privacy_models/l_diversity.sql' import distinct -%}
{% macro measure(name, of, settings) %}{{ distinct(of) }}{% endmacro %}
