// Package systemd reads and controls systemd over D-Bus: units, their jobs and files, transient
// timers, and signals about changes.
//
// [Reader] starts nothing, not even by a call to a service that does not run. [Writer] starts,
// stops and enables units. The other functions only parse text.
package systemd
