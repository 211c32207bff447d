{#- The comparisons of the gate of a stream. -#}
{%- from 'gate/reread_check.sql' import seal with context -%}
{#- Whether a row (of) has other unchanged values than a record of the source (from); texts distinguish values that
    compare equal. -#}
{% macro differs(of, from) -%}
    (hash({% for u in unchanged %}{% if not loop.first %}, {% endif %}{{ of }}{{ u.name }}{% endfor %}) \
        <> hash({% for u in unchanged %}{% if not loop.first %}, {% endif %}{{ from }}{{ u.column }}{% endfor %})
    {%- for u in unchanged if not u.text_is_value %} OR {{ of }}{{ u.name }}::VARCHAR \
        IS DISTINCT FROM {{ from }}{{ 'text'|of(u) }}{% endfor %})
{%- endmacro %}
{#- A hash of all that is read of a record, in the order of arrival too; `own`: as the gate reads it. -#}
{% macro sealed(own) -%}
    hash({{ seal(own) }}{% for o in order %}, \
        {% if own %}{{ read_order[loop.index0] }}{% else %}"order: {{ loop.index }}"{% endif %}{% endfor %})
{%- endmacro %}
