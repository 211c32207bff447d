{#- People and the clusters that they were put in, of related tables: rid is the number of the person. -#}
{% include 'release/part/clustered.sql' %}
-- A row a part of a group: the cluster, in the place of a class.
class_of_part AS MATERIALIZED (SELECT gid, first, last, cluster AS class_id FROM parts),
{% include 'release/part/classed.sql' %}
-- A row a person, and who lies in no cluster.
dealt AS (SELECT rid, class_id AS cluster FROM placed)
FROM dealt
