{#- A hash of a table: of `header` and of its rows in their order, each as one line of text. Rows are hashed in pieces, so
    that memory does not grow with the table. -#}
SELECT system.main.sha256({{ header }} || coalesce(system.main.string_agg(part, '' ORDER BY piece ASC), ''))
FROM (
    SELECT place // 4096 AS piece, system.main.sha256(system.main.string_agg(line, '' ORDER BY place ASC)) AS part
    FROM (SELECT row_number() OVER () AS place, {{ line }} AS line FROM {{ of }})
    GROUP BY piece
)
