"""Split: begin with the whole table and cut it while every side still meets the model. The family of Mondrian.

This is not growth (see `dbanon.cluster.growth`): no record is left over, since both sides of a cut are clusters.
"""
