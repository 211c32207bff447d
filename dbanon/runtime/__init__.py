"""Services of every call: sessions, interrupts, progress, files, keys."""
