"""The kernels: written here, compiled when the package is built."""
