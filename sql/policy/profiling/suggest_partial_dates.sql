{#- Texts that are dates of any precision: how many there are, whether nearly all are dates and some have no day, and
    how many months, quarters, years and decades there are. -#}
SELECT
    count(*),
    coalesce(count(day) >= {{ nearly }} * count(*) AND bool_or(length(value) = 7 OR has_years_and_days), false),
    count(DISTINCT CASE WHEN length(day) > 4 THEN left(day, 7) END),
    count(DISTINCT CASE
        WHEN length(day) > 4 THEN left(day, 4) || (CAST(day[6:7] AS INTEGER) + 2) // 3
    END),
    count(DISTINCT left(day, 4)),
    count(DISTINCT left(day, 3))
FROM (
    SELECT
        *, bool_or(length(day) = 4) OVER () AND bool_or(length(day) >= 10) OVER () AS has_years_and_days
    FROM (
        SELECT value, CASE WHEN regexp_full_match(value, {{ partial_date }}) THEN value END AS day
        FROM (
            SELECT DISTINCT {{ value }} COLLATE POSIX AS value
            FROM {{ source }}
            WHERE {{ value }} IS NOT NULL{% if codes %} AND {{ value }} NOT IN ({{ codes }}){% endif +%}
        )
    )
)
