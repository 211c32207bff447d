{#- Least and greatest number, how many there are, and a top: at or below the quantile, reached by k persons (records) or
    more, where fewer have the greatest number. It has two digits that are not 0, from 20 on a multiple of five, so that it is
    no one's number; there is none where nearly every record has a number of its own. -#}
WITH
-- A row a record.
found AS (
    SELECT {{ value }}::DOUBLE AS value, {% if who %}{{ who }}{% else %}row_number() OVER (){% endif %} AS who
    FROM {{ source }}
    WHERE isfinite({{ value }}::DOUBLE){% if codes %} AND {{ value }}::DOUBLE NOT IN ({{ codes }}){% endif %}
),
-- A row a person: the greatest number.
greatest_of AS (SELECT max(value) AS value FROM found WHERE who IS NOT NULL GROUP BY who),
-- One row: the number that k persons reach, as many as have the greatest of all, and the quantile.
reached AS (
    SELECT
        (SELECT CASE WHEN count(*) >= {{ k }} THEN min(value) END FROM (SELECT value FROM greatest_of ORDER BY value DESC LIMIT {{ k }})) AS by_k,
        (SELECT count(*) FROM greatest_of WHERE value = (SELECT max(value) FROM greatest_of)) AS at_most,
        (SELECT quantile_disc(value, {{ top }}) FROM found) AS quantile,
        (SELECT median(value) FROM found) AS middle,
        (SELECT count(DISTINCT value) >= {{ nearly }} * count(*) AND count(*) >= {{ few_rows }} FROM found) AS is_nearly_unique
),
-- One row: the top.
rounded AS (
    SELECT
        *, least(by_k, quantile) AS highest,
        CASE WHEN highest >= 100 THEN 10 ** (floor(log10(highest)) - 1) WHEN highest >= 20 THEN 5 ELSE 1 END AS step,
        floor(highest / step) * step AS top
    FROM reached
)
SELECT
    (SELECT min(value) FROM found), (SELECT max(value) FROM found), (SELECT count(DISTINCT value) FROM found),
    CASE WHEN at_most < {{ k }} AND top > middle AND NOT is_nearly_unique THEN top END
FROM rounded
