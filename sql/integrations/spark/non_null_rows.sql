{#- Rows of a part that are not dropped because of a NULL, by number. -#}
SELECT rowid AS rid FROM {{ origin }} WHERE {% for q in quasi %}{% if not loop.first %} AND {% endif %}{{ q.value }} \
    IS NOT NULL{% endfor %} ORDER BY rid ASC
