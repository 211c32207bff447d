-- what: Achieved c of recursive (c, l)-diversity of a sensitive column; every class is below c.
-- better: lower
-- source: Machanavajjhala et al. 2006
-- place: 42
-- needs: l
-- of: classes, noise
SELECT detail, value FROM (VALUES (NULL, NULL){% for s in tested %}{% for m in s.models if m.kind == 'recursive' %}, ({{ m.column }}, (SELECT max(value) FROM judged_{{ m.number }})){% endfor %}{% endfor %}) AS found (detail, value)
WHERE detail IS NOT NULL
