package config

import "testing"

// TestDocumentFields: each kind has its own fields and the common ones, and no field of a network.
func TestDocumentFields(t *testing.T) {
	for kind, want := range map[string]string{"Cluster": "podCIDR", "NodeGroup": "role", "Node": "address"} {
		seen := map[string]bool{}
		for _, f := range DocumentFields(keyKinds, kind) {
			if f.Takes == "" {
				t.Errorf("%s: %s does not say what it takes", kind, f.Path)
			}
			seen[f.Path] = true
		}
		if !seen[want] || !seen["kubelet.maxPods"] || !seen["update.auto"] || seen["networking.bridge.mtu"] {
			t.Errorf("%s: seen is %v", kind, seen)
		}
	}
}
