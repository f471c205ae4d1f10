// Package kernel reads and sets what the running kernel shows below /proc and /sys: sysctls,
// modules and mounts.
//
// [Reader] has no method that writes, and [Writer] none that only reads.
package kernel
