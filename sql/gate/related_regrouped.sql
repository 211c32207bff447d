{#- The values of a published row, computed by the gate itself: its texts as bytes, in the order of the gate's rules.
    -#}
{% macro bytes(t) -%}
    list_transform([{% for r in t.rules %}{% if not loop.first %}, {% endif %}{{ r.text }}{% endfor %}]::VARCHAR[], \
        lambda x: coalesce(encode('=' || x), ''::BLOB))::BLOB[]
{%- endmacro %}
{% macro texts(t) -%}
    list_concat({{ bytes(t) }}, \
        list_transform([{% for u in t.unchanged %}{% if not loop.first %}, {% endif %}\
        {% if u.is_zoned %}epoch_us({{ u.name }}){% else %}{{ u.name }}{% endif %}::VARCHAR{% endfor %}]::VARCHAR[], \
        lambda x: coalesce(encode('=' || x), ''::BLOB))::BLOB[], [''::BLOB])
{%- endmacro %}
