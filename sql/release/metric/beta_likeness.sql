-- what: Achieved beta of a sensitive column: greatest relative gain of a value's share in a class.
-- better: lower
-- source: Cao and Karras 2012
-- place: 46
-- needs: beta
-- of: classes, noise
SELECT detail, value FROM (VALUES (NULL, NULL){% for s in tested %}{% for m in s.models if m.parameter == 'beta' %}, ({{ m.column }}, (SELECT max(value) FROM judged_{{ m.number }})){% endfor %}{% endfor %}) AS found (detail, value)
WHERE detail IS NOT NULL
