"""The functions in Harlequin, a SQL IDE for the terminal."""
