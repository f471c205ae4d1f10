package model

import (
	"cmp"
	"fmt"
)

// validatePods refuses pods that the network cannot serve, according to the network's own data.
func (b *builder) validatePods() error {
	if b.view.V6 && !b.net.IPv6 {
		return fmt.Errorf("use %s (%s): it has no IPv6, and the cluster's pods do (%s): choose %s",
			b.net.Name, b.view.NetworkOrigin(), b.view.Origin("spec.podCIDR"), b.otherwise())
	}
	if b.view.V6 && b.net.IPv6If != nil && !b.net.IPv6If(b.view) {
		return fmt.Errorf("use %s (%s): it has IPv6 with %s only, and the cluster's pods do (%s): choose that, or %s",
			b.net.Name, b.view.NetworkOrigin(), b.net.IPv6When, b.view.Origin("spec.podCIDR"), b.otherwise())
	}
	return nil
}

// otherwise names the networks to choose instead.
func (b *builder) otherwise() string {
	return cmp.Or(b.net.Lifecycle.Instead, "cilium, calico or bridge")
}
