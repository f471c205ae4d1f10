// Package hostfs reads and writes the files of a host or of a mounted image.
//
// [Reader] has no method that writes. [Writer] puts files in place so that after a crash each is
// the old one or the new one, whole: [Batch] says how. No path is walked by name: see walk.go and
// docs/adr/0022-paths.md.
//
// It is named for what it has and not fs, since whoever names a mode needs [io/fs] beside it.
package hostfs
