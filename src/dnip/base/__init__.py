"""What every room stands on: errors, checks of arrays and settings, files, types."""
