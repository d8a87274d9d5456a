"""`mlirad demo`: 27 regression problems with certified answers, fitted with derivatives of kernels."""
