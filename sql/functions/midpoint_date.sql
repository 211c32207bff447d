{#- The middle of a published date or time. -#}
{%- import 'functions/form.sql' as form -%}
make_timestamp(
    (
        {{ form.begins(form.low_text(sql('published'), form.moment)) }}
        + {{ form.begins(form.high_text(sql('published'), form.moment)) }}
    ) // 2
)
