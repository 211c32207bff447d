{#- Whether a value of a column is in both versions. For a column without such a value, then replace its values by their
    ranks by frequency: if every value is spelled differently, the ranks are the same. -#}
{% set side = sql('side') if has_keys else sql('(n_theirs > 0)') %}
{% set records = sql('records') if has_keys else sql('n_mine + n_theirs') %}
SELECT count(*) FROM (SELECT {{ column }} FROM {{ units }} GROUP BY ALL HAVING \
    {% if has_keys %}count(DISTINCT side) = 2{% else %}sum(n_mine) > 0 AND sum(n_theirs) > 0{% endif %});
UPDATE {{ units }} AS u
SET {{ column }} = r.place
FROM (
    SELECT
        {{ side }} AS side, {{ column }} AS value,
        row_number() OVER (PARTITION BY {{ side }} ORDER BY sum({{ records }}) DESC, {{ column }} ASC) AS place
    FROM {{ units }}
    GROUP BY {{ side }}, {{ column }}
) AS r
WHERE r.side = {% if has_keys %}u.side{% else %}(u.n_theirs > 0){% endif %} \
    AND r.value IS NOT DISTINCT FROM u.{{ column }}
