package model

import (
	"errors"
	"fmt"

	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/tasks"
)

// Build makes the tasks of a node and the notes of its plan. Their order depends only on the
// input.
//
// An error names what the documents ask for and this node cannot have, and what to write instead.
// It joins all errors that one call can find (errors.Join). It is permanent: the same input gives
// the same error. A pass calls Build once, and `agent store check` calls it off the host.
func Build(in Input) ([]tasks.Task, []Note, error) {
	if in.Node == nil || in.Facts == nil {
		return nil, nil,
			errors.New("build the model: the node's configuration or the host's facts are missing (a bug " +
				"of the caller)")
	}
	net, ok := network.Of(in.Node)
	if !ok {
		return nil, nil, fmt.Errorf("build the model: no network %q is known: `agent networks` lists those that are",
			in.Node.Networking.Name())
	}
	b := &builder{in: in, net: net.WithPrepared(in.HandedOver), view: view(in)}
	if in.Node.Apart() {
		b.note(network.Info, in.Node.Origin("spec.role").String(),
			"this is a bastion of kOps, which runs neither nodeup nor kubelet: nothing is made on it")
		return nil, b.notes, nil
	}
	for _, step := range []struct {
		do func() error
		id problem.ID
	}{
		{b.supported, problem.NetworkUnfit},
		{b.validatePods, problem.NetworkUnfit},
		{b.requires, problem.NetworkUnfit},
		{b.directories, problem.Plan},
		{b.modules, problem.KernelUnfit},
		{b.sysctls, problem.SysctlConflict},
		{b.mounts, problem.Plan},
		{b.sharedHost, problem.Plan},
		{b.sourceDest, problem.NetworkUnfit},
		{b.plugins, problem.AssetMissing},
		{b.network, problem.Plan},
		{b.modes, problem.Plan},
		{b.certificates, problem.KeypairMissing},
		{b.kubelet, problem.Plan},
		{b.runtime, problem.Plan},
		{b.userFiles, problem.Plan},
		{b.userHooks, problem.Plan},
	} {
		if err := step.do(); err != nil {
			b.errs = append(b.errs, step.id.Wrap(err))
		}
	}
	b.problems()
	b.peers()
	b.conf()
	b.effects()
	if err := errors.Join(b.errs...); err != nil {
		return nil, b.notes, err // no partial result: prune would remove what is missing in it
	}
	return b.tasks, b.notes, nil
}

// Prepares returns what the ledger records about the node's network if another owner may take over
// the network or has taken it over. It returns nil if the network has no such preparation.
func Prepares(in Input) *network.Preparation {
	net, ok := network.Of(in.Node)
	if !ok || in.HandedOver != nil || in.Node.Apart() {
		return in.HandedOver
	}
	return net.Prepares(view(in))
}

// Modes returns the modes of the network that the documents choose, separated by commas, for the
// ledger.
func Modes(in Input) string {
	net, ok := network.Of(in.Node)
	if !ok || in.Node.Apart() {
		return ""
	}
	return net.ModesOf(view(in))
}

// modes removes what earlier modes of the network and of kube-proxy left behind.
func (b *builder) modes() error {
	b.add(b.net.LeftModes(b.view, b.in.Modes, b.view.NetworkOrigin())...)
	origin := "spec.kubeProxy.proxyMode"
	if on := b.in.Node.KubeProxy; on != nil && !*on {
		origin = "spec.kubeProxy.enabled"
	}
	b.add(network.KubeProxy().LeftModes(b.view, "", b.view.Origin(origin))...)
	return nil
}

// network adds the tasks and notes of the network's own Make function.
func (b *builder) network() error {
	var err error
	b.built, err = b.net.Make(b.view)
	b.take(b.built)
	return err
}

// certificates adds the certificates that the documents ask for besides those of the network.
func (b *builder) certificates() error {
	built, err := network.Certificates(b.view, b.built)
	b.take(built)
	return err
}

// take adds the tasks and the notes of a network.
func (b *builder) take(built network.Built) {
	b.add(built.Tasks...)
	b.notes = append(b.notes, built.Notes...)
}

// supported refuses a Kubernetes release or a kernel that cannot run the network. It also adds the
// notes about the network's support status.
func (b *builder) supported() error {
	// An image has no running kernel, so its IPv6 support is unknown.
	if b.view.V6 && b.in.Facts.Kernel.Release != "" && !b.in.Facts.Kernel.IPv6 {
		return fmt.Errorf("give pods IPv6 addresses (%s): the kernel of this node has no IPv6 (ipv6.disable=1, or "+
			"built without): boot it with IPv6, or take the IPv6 range out of podCIDR",
			b.view.Origin("spec.podCIDR"))
	}
	notes, err := b.net.Judge(b.view)
	b.notes = append(b.notes, notes...)
	return err
}
