"""Split: begin with the whole table and cut it while every side still meets the model. The family of Mondrian."""
