package kubernetes

import (
	"os"
	"testing"
)

// manifests returns the manifests that docs/kubernetes.md tells people to apply, so that the tests
// use what is documented.
func manifests(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/kubernetes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
