{#- The value that a release achieves for one measure of the privacy models: (metric, detail, value), one row per
    sensitive column. -#}
{% set achieved = [] %}
{% for s in model_columns %}{% for m in s.models if m.metric == metric %}{% if achieved.append(m) %}{% endif %}\
    {% endfor %}{% endfor %}
{% for m in achieved %}
SELECT {{ metric_name }}, {{ m.column }}, {% if m.higher %}min{% else %}max{% endif %}(value) \
    FROM {{ ('measured ' ~ m.label)|of(m) }}
{% if not loop.last %}UNION ALL{% endif +%}
{% endfor %}
