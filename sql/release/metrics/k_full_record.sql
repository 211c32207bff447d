-- description: Least number of {unit} that are equal in everything published, including unchanged columns: the \
    protection against an attacker who knows these.
-- better: higher
-- source: -
-- order: 47
-- requires: unchanged
-- value: least_equal
