{#- Error messages that checks name (see dbanon/sqltext/messages.py): their relation, and the text of one of them. -#}
{% macro named_messages(relation) %}
{% set texts = messages.take_texts() %}
-- One row per error message that a check above names: the pieces of its text, between which values are inserted.
{{ sql(relation) }} AS (
    SELECT col0 AS name, string_split({{ texts.whole_text }}, {{ texts.mark }}) AS pieces
    FROM (
        VALUES
        {% for row in texts.rows %}
        {{ row }}{% if not loop.last %},{% endif +%}
        {% endfor %}
    )
),
{% endmacro %}
{#- The text for a failure, from its pieces in m. A failure without a message is an error, too. -#}
{% macro message_text() -%}
coalesce(list_aggregate(flatten(list_transform(m.pieces, lambda piece, i: [piece, \
    coalesce((failure).values[i], '')])), 'string_agg', ''), 'a check failed that has no message: ' || (failure).name)
{%- endmacro %}
