// Package disk is a disk that records each write, so that a test can have the disk as it was at any
// moment of a possible power cut. The disk is a file of a FUSE file system with one file, below a
// loop device. The file system on the disk sends its flushes to it, as to a real disk. Between two
// flushes a real disk may lose any write: [Recorder.Image] also drops some of these writes.
//
// The package mounts where the test runs: the test should have its own mount namespace. Root only.
package disk
