// Package sys has what all packages of the host need from the system: small files of /proc and
// /sys, netlink, programs to run, processes, and the error for a root without a running kernel.
package sys
