{#- What a name or a value is in SQL. -#}

{#- A relation as the argument of a function: best({{ dbanon.name(ref('patients')) }}, k=10), whatever its name is. -#}
{% macro name(relation) %}
  {%- if relation.external -%}
    {{ return(relation.external) }}
  {%- endif -%}
  {%- set parts = [] -%}
  {%- for part in [relation.database, relation.schema, relation.identifier] if part -%}
    {%- do parts.append('"' ~ part | replace('"', '""') ~ '"') -%}
  {%- endfor -%}
  {{ return(dbanon.text(parts | join('.'))) }}
{% endmacro %}


{% macro text(value) %}
  {{ return("'" ~ value | string | replace("'", "''") ~ "'") }}
{% endmacro %}


{#- A list of texts, or NULL for none. -#}
{% macro texts(values) %}
  {%- if values is none -%}
    {{ return('NULL') }}
  {%- endif -%}
  {%- set found = [] -%}
  {%- for value in ([values] if values is string else values) -%}
    {%- do found.append(dbanon.text(value)) -%}
  {%- endfor -%}
  {{ return('[' ~ found | join(', ') ~ ']') }}
{% endmacro %}
