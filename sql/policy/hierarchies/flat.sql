{#- Label paths of a flat hierarchy: every value under the root. -#}
SELECT ['*', value] AS path, row_number() OVER (ORDER BY value ASC NULLS LAST) AS place
FROM (SELECT DISTINCT {{ label }} COLLATE POSIX AS value FROM {{ source }} WHERE {{ column }} IS NOT NULL)
