// Package sandbox runs this program again in throw-away namespaces, over an overlay of /: what is
// done there reaches the machine by no file and by no link. A dry run of a verb that writes, and
// the tests of dry runs, are made in it.
package sandbox
