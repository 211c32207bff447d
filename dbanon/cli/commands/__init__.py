"""The commands of `dbanon`, one file each."""
