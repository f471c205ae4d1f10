// Package disk is a disk whose every write is recorded, so that a test can have it as it was at any
// moment at which the power might have gone. The disk is a file of a FUSE file system of one file
// under a loop device; the file system on it sends its flushes down to it, as it does to real ones.
// Between two flushes a real disk may keep what it likes: [Recorder.Image] drops some of that too.
//
// Mounts are made where the test runs: it should have a mount namespace of its own. Root only.
package disk
