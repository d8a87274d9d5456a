"""`mlirad demo`: 27 problems with certified answers, fitted with derivatives of kernels."""
