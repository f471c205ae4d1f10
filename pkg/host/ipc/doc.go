// Package ipc has locks and unix sockets for processes of one host. A lock knows the process that
// has it, and a socket knows which user connects. Both are files below the host's root, opened as
// in hostfs.
package ipc
