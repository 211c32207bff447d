{#- Least and greatest number, how many there are, and a top: at or below the quantile, reached by k persons (records)
    or more, where fewer have the greatest number. It has two digits that are not 0, from 20 on it is a multiple of
    five, so that it need not be the number of a person. There is none where nearly every record has a number of its
    own. -#}
WITH
-- One row per record that has a finite number: its number and its person.
record_numbers AS (
    SELECT {{ value }}::DOUBLE AS value, {% if who %}{{ who }}{% else %}row_number() OVER (){% endif %} AS person_key
    FROM {{ source }}
    WHERE isfinite({{ value }}::DOUBLE){% if codes %} AND {{ value }}::DOUBLE NOT IN ({{ codes }}){% endif +%}
),
-- One row per person: the greatest number.
person_maxima AS (
    SELECT max(value) AS value FROM record_numbers WHERE person_key IS NOT NULL GROUP BY person_key
),
-- One row: the number that k persons reach, how many have the greatest number, and quantiles.
limits AS (
    SELECT
        (
            SELECT CASE WHEN count(*) >= {{ k }} THEN min(value) END
            FROM (SELECT value FROM person_maxima ORDER BY value DESC LIMIT {{ k }})
        ) AS k_persons_value,
        (
            SELECT count(*) FROM person_maxima WHERE value = (SELECT max(value) FROM person_maxima)
        ) AS n_persons_at_maximum,
        (SELECT quantile_disc(value, {{ top }}) FROM record_numbers) AS quantile,
        (SELECT median(value) FROM record_numbers) AS median,
        (
            SELECT count(DISTINCT value) >= {{ nearly }} * count(*) AND count(*) >= {{ few_rows }} FROM record_numbers
        ) AS is_nearly_unique
),
-- One row: the same, with the top.
rounded_limits AS (
    SELECT
        *, least(k_persons_value, quantile) AS limit_value,
        CASE
            WHEN limit_value >= 100 THEN 10 ** (floor(log10(limit_value)) - 1) WHEN limit_value >= 20 THEN 5 ELSE 1
        END AS step,
        floor(limit_value / step) * step AS top
    FROM limits
)
SELECT
    (SELECT min(value) FROM record_numbers),
    (SELECT max(value) FROM record_numbers),
    (SELECT count(DISTINCT value) FROM record_numbers),
    CASE WHEN n_persons_at_maximum < {{ k }} AND top > median AND NOT is_nearly_unique THEN top END
FROM rounded_limits
