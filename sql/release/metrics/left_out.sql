-- what: Records left out before clustering: beyond `bounds`, or alike in all that is published to one that is kept (drop_duplicates).
-- better: lower
-- source: Majeed et al. 2024, preprocessing
-- place: 22
-- needs: prepared
SELECT detail, value FROM (VALUES (NULL, NULL)
    {% if bounds %}, ('bounds', (SELECT coalesce(sum(size), 0) FROM whole_source) - (SELECT coalesce(sum(size), 0) FROM bounded)){% endif %}
    {% if distinct %}, ('duplicate', (SELECT coalesce(sum(size), 0) FROM bounded) - (SELECT coalesce(sum(size), 0) FROM source)){% endif %}
) AS found (detail, value)
WHERE detail IS NOT NULL
