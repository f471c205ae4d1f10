// Package systemd reads and drives systemd over D-Bus: units, their jobs and
// files, transient timers, and the signals of changes.
//
// [Reader] starts nothing, not even by a call to a service that does not run.
// [Writer] starts, stops and enables. The other functions read text only.
package systemd
