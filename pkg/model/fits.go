package model

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// fits refuses pods and clouds that the network cannot serve, by what its data says of itself.
func (b *builder) fits() error {
	var errs []error
	if b.view.V6 && !b.net.IPv6 {
		errs = append(errs, fmt.Errorf("use %s (%s): it has no IPv6, and the cluster's pods do (%s): choose %s",
			b.net.Name, b.view.NetworkOrigin(), b.view.Origin("spec.podCIDR"), b.otherwise()))
	}
	clouds, cloud := b.net.Requires.Clouds, b.in.Node.CloudProvider
	if cloud != "" && len(clouds) > 0 && !slices.Contains(clouds, cloud) {
		errs = append(errs, fmt.Errorf("use %s (%s): it works on %s only, and the cloud is %s (%s): choose %s",
			b.net.Name, b.view.NetworkOrigin(), strings.Join(clouds, " or "), cloud, b.view.Origin("spec.cloudProvider"), b.otherwise()))
	}
	return errors.Join(errs...)
}

// otherwise is what to choose in the network's place.
func (b *builder) otherwise() string {
	return cmp.Or(b.net.Lifecycle.Instead, "cilium, calico or bridge")
}
