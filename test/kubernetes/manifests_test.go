package kubernetes

import (
	"os"
	"testing"
)

// manifests are those that docs/kubernetes.md tells people to apply, so that what is documented is
// what is tested.
func manifests(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/kubernetes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
