{#- Models that add a release to the one before: a reader of both has more than any of them promised. -#}

{% macro refuse_appending() %}
  {%- if execute and flags.WHICH in ['run', 'build', 'snapshot'] -%}
    {%- set names = run_query("SELECT DISTINCT a.function_name FROM system.main.duckdb_functions() AS a JOIN system.main.duckdb_functions() AS b ON b.function_name = a.function_name || '_metrics' AND b.database_name = 'temp' WHERE a.database_name = 'temp'").columns[0].values() -%}
    {%- set calls = modules.re.compile('\\b(' ~ names | join('|') ~ ')(_classes)?"?\\s*\\(', modules.re.IGNORECASE) -%}
    {%- for id in selected_resources if names -%}
      {%- set node = graph.nodes.get(id) -%}
      {%- if node and (node.resource_type == 'snapshot' or node.config.materialized == 'incremental') and calls.search(node.raw_code) -%}
        {% do exceptions.raise_compiler_error(node.resource_type ~ ' ' ~ node.name ~ ' calls ' ~ calls.search(node.raw_code).group(1) ~ ' and keeps what it has: releases of the same people would stand side by side, and together they tell more than each of them. Use materialized=\'anonymized\', or \'table\' for what nobody is given.') %}
      {%- endif -%}
    {%- endfor -%}
  {%- endif -%}
{% endmacro %}
