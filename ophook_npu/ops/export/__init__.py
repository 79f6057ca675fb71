"""A declaration written out as the files that torch_npu's and CANN's builds want."""
