"""What touches a connection: functions and macros put in place, the user-defined functions."""
