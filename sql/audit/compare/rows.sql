{#- The rows of the answer of a part. -#}
SELECT {{ quasi|length }} AS d, *
FROM (
    SELECT unnest(CASE WHEN (answer).error IS NULL THEN (answer).rows ELSE error((answer).error) END, max_depth := 2)
    FROM answer
)
