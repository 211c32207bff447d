{#- The middle of a published number. Halves first: the ends' sum may be beyond what a DOUBLE holds. -#}
{%- import 'table_functions/interval_text.sql' as form -%}
coalesce(
    {{ form.as_number(form.low_text(sql('published'), form.number)) }} / 2
        + {{ form.as_number(form.high_text(sql('published'), form.number)) }} / 2,
    {{ form.foreign_low(sql('published')) }} / 2 + {{ form.foreign_high(sql('published')) }} / 2
)
