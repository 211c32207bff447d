"""The slow, obviously correct answers that the fast code is tested against."""
