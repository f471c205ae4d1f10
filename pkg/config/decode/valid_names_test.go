package decode

import "testing"

// The name of a conf names a file in the runtimes' directory, and in no other. The line that keeps
// it: valid_names.go, ValidConfName.
func TestConfNameLeavesNoDirectory(t *testing.T) {
	for name, want := range map[string]bool{
		"10-a.conflist": true, "a.conf": true, "a.json": true,
		"": false, "a": false, "a.txt": false, "../a.conflist": false, "/etc/a.conf": false, "b/a.json": false, "a\nb.conf": false,
	} {
		if says := ValidConfName(name); (says == "") != want {
			t.Errorf("%q: expected %q", name, says)
		}
	}
}
