"""The Python functions behind `import dbanon`."""
