"""What every part of the package needs at run time: sessions, interrupts, progress, files, keys."""
