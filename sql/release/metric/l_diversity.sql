-- what: Achieved l of a sensitive column: least number of different values in a class, or least exp of their entropy (diversity).
-- better: higher
-- source: Machanavajjhala et al. 2006
-- place: 41
-- needs: l
-- of: classes, noise
SELECT detail, value FROM (VALUES (NULL, NULL){% for s in tested %}{% for m in s.models if m.parameter == 'l' and m.kind != 'recursive' %}, ({{ m.column }}, (SELECT min(value) FROM judged_{{ m.number }})){% endfor %}{% endfor %}) AS found (detail, value)
WHERE detail IS NOT NULL
