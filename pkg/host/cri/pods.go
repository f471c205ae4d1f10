package cri

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// Pod is a pod sandbox of the container runtime, in which the containers of a pod run.
type Pod struct {
	ID              string // the runtime's id
	Namespace, Name string
	Ready           bool         // false: its processes have ended; its network may still exist
	HostNetwork     bool         // it uses the node's network, and no CNI
	Running         []string     // names of the running containers
	Addresses       []netip.Addr // assigned by the CNI plugin
}

// String returns the pod's name as kubectl shows it.
func (p Pod) String() string { return p.Namespace + "/" + p.Name }

// Limits of one call.
const (
	criListLimit   = 10 * time.Second
	criRemoveLimit = time.Minute // a plugin that waits for its agent takes long
)

// Pods lists the pod sandboxes of the runtime at a socket, in its order. It returns
// [sys.ErrNoLiveState] without a socket. Any other error means that the runtime did not answer;
// then it may be retried.
func Pods(ctx context.Context, socket string) (out []Pod, err error) {
	err = askRuntime(ctx, socket, criListLimit, func(ctx context.Context, c *criClient) error {
		answer, err := c.call(ctx, "ListPodSandbox", nil)
		if err != nil {
			return fmt.Errorf("list the pods: %w", err)
		}
		if out, err = sandboxes(answer); err != nil {
			return fmt.Errorf("list the pods: %w", err)
		}
		here := out[:0]
		for _, p := range out {
			answer, err := c.call(ctx, "PodSandboxStatus", criText(p.ID))
			if errors.Is(err, errNoSandbox) {
				continue // removed meanwhile
			}
			if err == nil {
				err = p.network(answer)
			}
			if err != nil {
				return fmt.Errorf("look at pod %s: %w", p, err)
			}
			here = append(here, p)
		}
		out = here
		if answer, err = c.call(ctx, "ListContainers", nil); err != nil {
			return fmt.Errorf("list the containers: %w", err)
		}
		return addRunning(out, answer)
	})
	return out, err
}

// RemovePod stops a pod sandbox and removes it. The runtime calls the CNI plugins to remove the
// pod's network. The pod's controller or kubelet then creates it again. A missing sandbox is
// success. It may be retried.
func RemovePod(ctx context.Context, socket, id string) error {
	return askRuntime(ctx, socket, criRemoveLimit, func(ctx context.Context, c *criClient) error {
		for _, method := range []string{"StopPodSandbox", "RemovePodSandbox"} {
			if _, err := c.call(ctx, method, criText(id)); err != nil && !errors.Is(err, errNoSandbox) {
				return fmt.Errorf("%s %s: %w", method, id, err)
			}
		}
		return nil
	})
}

// askRuntime calls do with a client of the runtime, within limit.
func askRuntime(
	ctx context.Context, socket string, limit time.Duration, do func(context.Context, *criClient) error,
) error {
	if socket == "" {
		return sys.ErrNoLiveState
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it did not answer within %s", limit))
	defer cancel()
	c, done := dialCRI(socket)
	defer done()
	if err := do(ctx, c); err != nil {
		return fmt.Errorf("ask the runtime at %s: %w", socket, servesNone(err))
	}
	return nil
}

// criText encodes a message whose only field is a text with number 1.
func criText(text string) []byte {
	return append(binary.AppendUvarint([]byte{1<<3 | 2}, uint64(len(text))), text...)
}

// sandboxes decodes a ListPodSandboxResponse.
func sandboxes(answer []byte) (out []Pod, err error) {
	var d decoder
	for _, m := range d.at(answer, 1) {
		out = append(out, Pod{ID: d.text(m, 1), Name: d.text(m, 2, 1), Namespace: d.text(m, 2, 3),
			Ready: d.number(m, 3) == 0}) // 0 is SANDBOX_READY, which is not sent
	}
	return out, d.err
}

// networkOfNode is the NamespaceMode NODE.
const networkOfNode = 2

// network decodes two parts of a PodSandboxStatusResponse: status.linux.namespaces.options.network,
// and status.network.ip with additional_ips.
func (p *Pod) network(answer []byte) error {
	var d decoder
	p.HostNetwork = slices.ContainsFunc(d.at(answer, 1, 6, 1, 2),
		func(options []byte) bool { return d.number(options, 1) == networkOfNode })
	if p.HostNetwork {
		return d.err
	}
	for _, text := range append(d.at(answer, 1, 5, 1), d.at(answer, 1, 5, 2, 1)...) {
		if addr, err := netip.ParseAddr(string(text)); err == nil { // "" if the pod has none yet
			p.Addresses = append(p.Addresses, addr.Unmap())
		}
	}
	return d.err
}

// containerRunning is the ContainerState CONTAINER_RUNNING.
const containerRunning = 1

// addRunning decodes a ListContainersResponse, and adds to each pod the names of its running
// containers.
func addRunning(pods []Pod, answer []byte) error {
	var d decoder
	for _, container := range d.at(answer, 1) {
		sandbox := d.text(container, 2)
		i := slices.IndexFunc(pods, func(p Pod) bool { return p.ID == sandbox })
		if i >= 0 && d.number(container, 6) == containerRunning {
			pods[i].Running = append(pods[i].Running, d.text(container, 3, 1))
		}
	}
	return d.err
}
