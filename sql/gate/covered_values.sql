{#- Whether what is published of a class (c) stands for an original record (r), by what texts say (published_texts joins them). -#}
{% macro is_covered(maybe) -%}
true
                {% for q in rules %}
        {% if q.is_number and typed %}
        AND CASE
            WHEN c.{{ 'low'|of(q) }} IS NULL AND c.{{ 'high'|of(q) }} IS NULL THEN true
            WHEN r.{{ q.column }} IS NULL THEN {% if maybe %}true{% else %}false{% endif %}
            ELSE (r.{{ q.column }}{% if q.ends.whole_days %}::DATE{% endif %} >= c.{{ 'low'|of(q) }}{% if q.bottom %} OR c.{{ 'low'|of(q) }} <= {{ q.bottom }}{% endif %})
                AND (r.{{ q.column }}{% if q.ends.whole_days %}::DATE{% endif %} <= c.{{ 'high'|of(q) }}{% if q.top %} OR c.{{ 'high'|of(q) }} >= {{ q.top }}{% endif %})
            END
        {% elif q.is_number %}
        AND CASE
            WHEN c.{{ 'published'|of(q) }} IS NULL{% if maybe %} OR r.{{ q.column }} IS NULL{% endif %} THEN r.{{ q.column }} IS NULL
            WHEN c.{{ 'published'|of(q) }} = '*' THEN true
            ELSE (r.{{ q.column }}{% if q.ends.whole_days %}::DATE{% endif %} >= {{ 'allowed'|of(q) }}.low OR {{ 'allowed'|of(q) }}.unbounded_low)
                AND (r.{{ q.column }}{% if q.ends.whole_days %}::DATE{% endif %} <= {{ 'allowed'|of(q) }}.high OR {{ 'allowed'|of(q) }}.unbounded_high)
            END
        {% else %}
        AND CASE
            WHEN c.{{ 'published'|of(q) }} IS NULL{% if maybe %} OR r.{{ q.column }} IS NULL{% endif %} THEN r.{{ q.column }} IS NULL
            WHEN c.{{ 'published'|of(q) }} = '*' AND r.{{ q.column }} IS NULL THEN true
            ELSE {{ 'allowed'|of(q) }}.published IS NOT NULL
            END
        {% endif %}
                {% endfor %}
{%- endmacro %}
{% macro published_texts() -%}
        {% for q in rules %}
        {% if not q.is_number %}
        LEFT JOIN (FROM allowed_values WHERE tree = {{ q.tree }}) AS {{ 'allowed'|of(q) }} ON {{ 'allowed'|of(q) }}.value = r.{{ q.column }} AND {{ 'allowed'|of(q) }}.published = c.{{ 'published'|of(q) }}
        {% elif not typed %}
        LEFT JOIN {{ 'parsed'|of(q) }} AS {{ 'allowed'|of(q) }} ON {{ 'allowed'|of(q) }}.published = c.{{ 'published'|of(q) }}
        {% endif %}
        {% endfor %}
{%- endmacro %}
