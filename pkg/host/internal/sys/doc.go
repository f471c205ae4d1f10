// Package sys has what all parts of the host layer ask of the system itself:
// small files of /proc and /sys, programs to run, processes, and the error of
// a root without a kernel behind it.
package sys
