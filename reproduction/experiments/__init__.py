"""The paper's experiments: each file has the cells, tables, figures and statements of one."""
