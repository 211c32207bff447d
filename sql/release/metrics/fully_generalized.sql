-- description: Share of the records whose published value of a quasi-identifier reveals nothing: *, or a node or \
    range that covers everything published of it.
-- better: lower
-- source: -
-- order: 181
-- per: column
-- value: hidden_share
