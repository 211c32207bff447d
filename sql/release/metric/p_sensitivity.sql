-- what: Achieved p of a sensitive column: least number of different values in a class.
-- better: higher
-- source: Truta and Vinay 2006
-- place: 45
-- needs: p
-- of: classes, noise
SELECT detail, value FROM (VALUES (NULL, NULL){% for s in tested %}{% for m in s.models if m.parameter == 'p' %}, ({{ m.column }}, (SELECT min(value) FROM judged_{{ m.number }})){% endfor %}{% endfor %}) AS found (detail, value)
WHERE detail IS NOT NULL
