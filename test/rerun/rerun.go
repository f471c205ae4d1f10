// Package rerun marks the tests whose failure is final.
//
// In CI a test that fails runs once more (tools/suites), because a busy machine may be the cause. A
// failure that is rare by nature must not be lost in this way. A kill, a power cut or a race has
// its effect once in many runs, and a dry run that writes once is a dry run that writes.
package rerun

import "testing"

// Never makes a later failure of the test final, for the given reason. A helper whose failures are
// rare, such as node.Kill, calls it. A test that kills by a command calls it itself.
func Never(t testing.TB, why string) {
	t.Helper()
	t.Logf("a failure of this test is never run again: %s", why)
}
