// Package sandbox runs this program again in temporary namespaces, over an overlay of /. Nothing
// that is done there reaches the machine through files or links. A dry run of a command that writes
// uses it, and so do the tests of dry runs.
package sandbox
