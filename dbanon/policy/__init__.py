"""The policy: roles and settings of columns, how they are declared, resolved, proposed and checked."""
