// Package rerun says of which tests a failure must stay red.
//
// In CI a test that fails is run once more (tools/suites), since a busy machine may be to blame. A
// failure that is rare by nature must not be passed over like that: what a kill, a power cut or a
// race brings about comes once in many runs, and a dry run that writes once is a dry run that
// writes.
package rerun

import "testing"

// Never makes a later failure of the test final, for the reason given. The harness that makes
// failures rare calls it, such as node.Kill; a test that kills by a command calls it itself.
func Never(t testing.TB, why string) {
	t.Helper()
	t.Logf("a failure of this test is never run again: %s", why)
}
