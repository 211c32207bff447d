-- what: Achieved t of a sensitive column: greatest earth mover's distance of a class from the whole release.
-- better: lower
-- source: Li, Li and Venkatasubramanian 2007
-- place: 43
-- needs: t
-- of: classes, noise
SELECT detail, value FROM (VALUES (NULL, NULL){% for s in tested %}{% for m in s.models if m.kind == 'closeness' %}, ({{ m.column }}, (SELECT max(value) FROM judged_{{ m.number }})){% endfor %}{% endfor %}) AS found (detail, value)
WHERE detail IS NOT NULL
