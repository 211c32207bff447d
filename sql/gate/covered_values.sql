{#- Whether what is published of a class (c) stands for an original record (r), by what texts say (published_texts joins them). -#}
{% macro is_covered(maybe) -%}
true
                {% for q in rules %}
        {% if q.is_number and typed %}
        AND CASE
            WHEN c.low{{ q.i }} IS NULL AND c.high{{ q.i }} IS NULL THEN true
            WHEN r.q{{ q.i }} IS NULL THEN {% if maybe %}true{% else %}false{% endif %}
            ELSE (r.q{{ q.i }}{% if q.ends.whole_days %}::DATE{% endif %} >= c.low{{ q.i }}{% if q.bottom %} OR c.low{{ q.i }} <= {{ q.bottom }}{% endif %})
                AND (r.q{{ q.i }}{% if q.ends.whole_days %}::DATE{% endif %} <= c.high{{ q.i }}{% if q.top %} OR c.high{{ q.i }} >= {{ q.top }}{% endif %})
            END
        {% elif q.is_number %}
        AND CASE
            WHEN c.p{{ q.i }} IS NULL{% if maybe %} OR r.q{{ q.i }} IS NULL{% endif %} THEN r.q{{ q.i }} IS NULL
            WHEN c.p{{ q.i }} = '*' THEN true
            ELSE (r.q{{ q.i }}{% if q.ends.whole_days %}::DATE{% endif %} >= t{{ q.i }}.low OR t{{ q.i }}.unbounded_low)
                AND (r.q{{ q.i }}{% if q.ends.whole_days %}::DATE{% endif %} <= t{{ q.i }}.high OR t{{ q.i }}.unbounded_high)
            END
        {% else %}
        AND CASE
            WHEN c.p{{ q.i }} IS NULL{% if maybe %} OR r.q{{ q.i }} IS NULL{% endif %} THEN r.q{{ q.i }} IS NULL
            WHEN c.p{{ q.i }} = '*' AND r.q{{ q.i }} IS NULL THEN true
            ELSE t{{ q.i }}.published IS NOT NULL
            END
        {% endif %}
                {% endfor %}
{%- endmacro %}
{% macro published_texts() -%}
        {% for q in rules %}
        {% if not q.is_number %}
        LEFT JOIN (FROM ancestors WHERE tree = {{ q.tree }}) AS t{{ q.i }} ON t{{ q.i }}.value = r.q{{ q.i }} AND t{{ q.i }}.published = c.p{{ q.i }}
        {% elif not typed %}
        LEFT JOIN {{ 'parsed'|of(q) }} AS t{{ q.i }} ON t{{ q.i }}.published = c.p{{ q.i }}
        {% endif %}
        {% endfor %}
{%- endmacro %}
