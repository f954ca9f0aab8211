"""Compiled kernels: arrays in, arrays out, exact integer counts; they know nothing of the package.

Every kernel has a plain-NumPy twin in ``tests/solvers/kernels`` that it must equal on every input.
"""
