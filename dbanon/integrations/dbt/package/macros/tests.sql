{#- Tests of a released table. A failure shows a number, and no class. -#}

{% test k_anonymous(model, k, qi=none, person=none) %}
  {{ dbanon.below(model, 'k_anonymity', k, qi, none, person) }}
{% endtest %}


{% test l_diverse(model, l, qi=none, sensitive=none, person=none) %}
  {{ dbanon.below(model, 'distinct_l', l, qi, sensitive, person) }}
{% endtest %}


{#- The measures of a kind of which a table achieves less. -#}
{% macro below(table, measure, least, qi, sensitive, person) %}
  SELECT model, sensitive, achieved
  FROM anonymity({{ dbanon.name(table) }}, qi := {{ dbanon.texts(qi) }}, sensitive := {{ dbanon.texts(sensitive) }},
    person := {{ 'NULL' if person is none else dbanon.text(person) }})
  WHERE model = {{ dbanon.text(measure) }} AND NOT coalesce(achieved >= {{ least }}, false)
{% endmacro %}
