"""The same kernels, compiled with wide instructions."""
