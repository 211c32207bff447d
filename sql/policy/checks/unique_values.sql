{#- How many records no other record (person) shares all unchanged columns with, 0 if they are a small share; and which
    of these columns has most values, counted from 1. -#}
SELECT
    CASE WHEN n_unique >= {{ share }} * n_records THEN n_unique ELSE 0 END AS repeated,
    list_position(value_counts, list_max(value_counts)) AS most_values
FROM (
    SELECT
        coalesce(sum(records) FILTER (WHERE people <= 1), 0)::BIGINT AS n_unique,
        coalesce(sum(records), 0)::BIGINT AS n_records,
        [
            {% for v in values %}
            approx_count_distinct(hashes[{{ loop.index }}]){{ sql(',') if not loop.last }}
            {% endfor %}
        ] AS value_counts
    FROM (
        SELECT
            count(*) AS records,
            count({% if person %}DISTINCT {{ person }}{% else %}*{% endif %}) AS people,
            [
                {% for v in values %}
                hash({{ v }}){{ sql(',') if not loop.last }}
                {% endfor %}
            ] AS hashes
        FROM {{ source }}
        GROUP BY
            {% for v in values %}
            {{ v }}{{ sql(',') if not loop.last }}
            {% endfor %}
    )
)
