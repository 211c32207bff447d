"""What tests share: connections, tables, how much runs."""
