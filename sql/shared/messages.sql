{#- Error messages that checks name (see dbanon/sqltext/messages.py): their relation, and the text of one of them. -#}
{#- The messages that were named so far: name and text. -#}
{% macro messages_by_name() -%}
{% set texts = messages.take_texts() %}
(
        SELECT col0 AS name, string_split({{ texts.whole_text }}, {{ texts.mark }}) AS pieces
        FROM (
            VALUES
            {% for row in texts.rows %}
            {{ row }}{% if not loop.last %},{% endif +%}
            {% endfor %}
        )
    ) AS messages ON messages.name = (failure).name
{%- endmacro %}
{#- The text for a failure: the pieces of its message with its values between them. A failure without a message is an
    error, too. -#}
{% macro message_text() -%}
coalesce(list_aggregate(flatten(list_transform(pieces, lambda piece, i: [piece, \
    coalesce((failure).values[i], '')])), 'string_agg', ''), 'a check failed that has no message: ' || (failure).name)
{%- endmacro %}
