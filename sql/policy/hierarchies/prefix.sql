{#- Label paths that mask text from the right: 02138, 0213*, 021**, *. Values that begin equally share a node whatever
    their lengths: 02138 and 02138-1234 are both 021**. -#}
WITH
-- One row per value.
column_values AS (
    SELECT DISTINCT {{ label }} COLLATE POSIX AS value FROM {{ source }} WHERE {{ column }} IS NOT NULL
),
-- One row: a usual length of the values, which fewer than a twentieth of them fall below. A label is filled with * \
    up to
-- it, so that labels of one column have one length where its values do, and reveal no length where they do not.
lengths AS (
    SELECT quantile_disc(length(value), 0.05) AS usual_length, max(length(value)) AS max_length FROM column_values
),
-- One row per value and number of characters that are kept of it: a prefix of the value. A value is its own prefix only
-- where a longer one begins with it.
prefixes AS (
    SELECT value, n_kept, left(value, n_kept) AS prefix
    FROM (
        SELECT value, unnest(
            {% if keep %}
            [{% for n in keep|reverse %}{{ n }}{{ sql(', ') if not loop.last }}{% endfor %}]
            {% else %}
            range(1, (SELECT max_length FROM lengths))
            {% endif %}
        ) AS n_kept
        FROM column_values
    )
    WHERE n_kept <= length(value)
    QUALIFY max(length(value)) OVER (PARTITION BY n_kept, prefix) > n_kept
),
-- One row per value that has prefixes: their labels from short to long.
prefix_labels AS (
    SELECT
        value,
        list(prefix || repeat('*', greatest(usual_length - n_kept, 1)) ORDER BY n_kept ASC) AS labels
    FROM prefixes, lengths
    GROUP BY value
),
-- One row per value: the labels from the root to it.
label_lists AS (
    SELECT value, list_concat(['*'], coalesce(labels, []), [value]) AS labels
    FROM column_values
    LEFT JOIN prefix_labels USING (value)
)
-- Equal texts one below the other are one node.
SELECT
    list_filter(labels, lambda label, i: i = 1 OR label <> labels[i - 1]) AS path,
    row_number() OVER (ORDER BY value ASC NULLS LAST) AS place
FROM label_lists
