{#- The loss of each class by the gate's own formula: own_loss (class_id, loss), if every column can be measured in this
    way. -#}
{%- from 'gate/published_losses.sql' import published_losses with context -%}
{% if can_check_loss %}
-- One row per class: the loss of a record, computed from published values alone.
own_loss AS MATERIALIZED (
    SELECT class_id, sum(loss) / {{ rules|length }} AS loss
    FROM (
        {{ published_losses() }}
    )
    GROUP BY class_id
),
{% endif %}
