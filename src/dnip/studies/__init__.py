"""Studies of the method: comparison, benchmark, reproduction of the paper, demonstration."""
