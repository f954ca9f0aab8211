"""What cells compute on one pair of tables: a cell is computed anew when its module changes."""
