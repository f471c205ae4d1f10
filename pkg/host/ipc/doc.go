// Package ipc is how processes of one host meet: locks that name who has them, and unix sockets
// that know who connects. Both are files below the host's root, reached as hostfs reaches files.
package ipc
