{#- Least and greatest number, how many there are, and a top: at or below the quantile, reached by k persons (records) or
    more, where fewer have the greatest number. It is a whole number, from 20 on a multiple of five. -#}
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
        (SELECT median(value) FROM found) AS middle
),
-- One row: the top.
rounded AS (
    SELECT *, CASE WHEN least(by_k, quantile) >= 20 THEN floor(least(by_k, quantile) / 5) * 5 ELSE floor(least(by_k, quantile)) END AS top
    FROM reached
)
SELECT
    (SELECT min(value) FROM found), (SELECT max(value) FROM found), (SELECT count(DISTINCT value) FROM found),
    CASE WHEN at_most < {{ k }} AND top > middle THEN top END
FROM rounded
