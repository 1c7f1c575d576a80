package e2e

// maxrssUnit is what the kernel counts the highest resident memory in.
const maxrssUnit = 1
