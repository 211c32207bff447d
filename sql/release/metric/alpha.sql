-- what: Achieved alpha of a sensitive column: greatest share of a value in a class.
-- better: lower
-- source: Wong et al. 2006
-- place: 44
-- needs: alpha
-- of: classes, noise
SELECT detail, value FROM (VALUES (NULL, NULL){% for s in tested %}{% for m in s.models if m.kind == 'share' %}, ({{ m.column }}, (SELECT max(value) FROM judged_{{ m.number }})){% endfor %}{% endfor %}) AS found (detail, value)
WHERE detail IS NOT NULL
