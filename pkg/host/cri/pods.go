package cri

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// Pod is a sandbox of the container runtime, in which the containers of a pod run.
type Pod struct {
	ID              string // the runtime's
	Namespace, Name string
	Ready           bool         // else its processes have ended, and its network may be there still
	HostNetwork     bool         // it has the node's network, and nothing of the CNI's
	Running         []string     // names of the containers that run
	Addresses       []netip.Addr // that the CNI gave it
}

// String is the pod's name as kubectl writes it.
func (p Pod) String() string { return p.Namespace + "/" + p.Name }

// Limits of one call.
const (
	criListLimit   = 10 * time.Second
	criRemoveLimit = time.Minute // a plugin that waits for its agent takes long
)

// Pods lists the sandboxes of the runtime at a socket, in its order. [sys.ErrNoLiveState] without a
// socket. Any other error says that the runtime did not answer: it may be retried.
func Pods(ctx context.Context, socket string) (out []Pod, err error) {
	err = askRuntime(ctx, socket, criListLimit, func(ctx context.Context, c criClient) error {
		answer, err := c.call(ctx, "ListPodSandbox", nil)
		if err != nil {
			return fmt.Errorf("list the pods: %w", err)
		}
		if out, err = sandboxes(answer); err != nil {
			return fmt.Errorf("list the pods: %w", err)
		}
		here := out[:0]
		for _, p := range out {
			answer, err := c.call(ctx, "PodSandboxStatus", criText(1, p.ID))
			if errors.Is(err, errNoSandbox) {
				continue // it went meanwhile
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

// RemovePod stops a sandbox, with which the runtime calls the CNI plugins to take the pod's network
// away, and removes it. Whose pod it is, makes it again. A sandbox that is not there is success. It
// may be retried.
func RemovePod(ctx context.Context, socket, id string) error {
	return askRuntime(ctx, socket, criRemoveLimit, func(ctx context.Context, c criClient) error {
		for _, method := range []string{"StopPodSandbox", "RemovePodSandbox"} {
			if _, err := c.call(ctx, method, criText(1, id)); err != nil && !errors.Is(err, errNoSandbox) {
				return fmt.Errorf("%s %s: %w", method, id, err)
			}
		}
		return nil
	})
}

// askRuntime has calls made to the runtime, in whichever version of CRI it serves.
func askRuntime(
	ctx context.Context, socket string, limit time.Duration, do func(context.Context, criClient) error,
) error {
	if socket == "" {
		return sys.ErrNoLiveState
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it did not answer within %s", limit))
	defer cancel()
	c, done := dialCRI(socket)
	defer done()
	err := do(ctx, c)
	if errors.Is(err, errUnimplemented) {
		c.service = criAlpha
		err = do(ctx, c)
	}
	if err != nil {
		return fmt.Errorf("ask the runtime at %s: %w", socket, servesNone(err))
	}
	return nil
}

// criText is a message with one string.
func criText(field int, text string) []byte {
	return append(binary.AppendUvarint([]byte{byte(field<<3 | 2)}, uint64(len(text))), text...)
}

// sandboxes reads a ListPodSandboxResponse.
func sandboxes(answer []byte) (out []Pod, err error) {
	err = eachField(answer, func(field int, _ uint64, data []byte) error {
		if field != 1 {
			return nil
		}
		p := Pod{Ready: true} // SANDBOX_READY is 0, which is not sent
		err := eachField(data, func(field int, number uint64, data []byte) error {
			switch field {
			case 1:
				p.ID = string(data)
			case 2: // PodSandboxMetadata
				return eachField(data, func(field int, _ uint64, data []byte) error {
					switch field {
					case 1:
						p.Name = string(data)
					case 3:
						p.Namespace = string(data)
					}
					return nil
				})
			case 3:
				p.Ready = number == 0
			}
			return nil
		})
		out = append(out, p)
		return err
	})
	return out, err
}

// networkOfNode is the NamespaceMode NODE.
const networkOfNode = 2

// network reads of a PodSandboxStatusResponse status.linux.namespaces.options.network, and
// status.network.ip and additional_ips.
func (p *Pod) network(answer []byte) error {
	options, err := within(answer, 1, 6, 1, 2)
	if err != nil {
		return err
	}
	for _, message := range options {
		if err := eachField(message, func(field int, number uint64, _ []byte) error {
			p.HostNetwork = p.HostNetwork || field == 1 && number == networkOfNode
			return nil
		}); err != nil {
			return err
		}
	}
	if p.HostNetwork {
		return nil
	}
	first, err := within(answer, 1, 5, 1)
	if err != nil {
		return err
	}
	others, err := within(answer, 1, 5, 2, 1)
	for _, text := range append(first, others...) {
		if addr, err := netip.ParseAddr(string(text)); err == nil { // "" of a pod that has none yet
			p.Addresses = append(p.Addresses, addr.Unmap())
		}
	}
	return err
}

// within are the messages and texts of a message that are reached by these fields, one below the
// other.
func within(message []byte, fields ...int) (found [][]byte, err error) {
	found = [][]byte{message}
	for _, field := range fields {
		var below [][]byte
		for _, one := range found {
			if err := eachField(one, func(f int, _ uint64, data []byte) error {
				if f == field {
					below = append(below, data)
				}
				return nil
			}); err != nil {
				return nil, err
			}
		}
		found = below
	}
	return found, nil
}

// containerRunning is the ContainerState CONTAINER_RUNNING.
const containerRunning = 1

// addRunning reads a ListContainersResponse, and gives each pod the names of its containers that
// run.
func addRunning(pods []Pod, answer []byte) error {
	return eachField(answer, func(field int, _ uint64, data []byte) error {
		if field != 1 {
			return nil
		}
		var sandbox, name string
		var state uint64
		err := eachField(data, func(field int, number uint64, data []byte) error {
			switch field {
			case 2:
				sandbox = string(data)
			case 3: // ContainerMetadata
				return eachField(data, func(field int, _ uint64, data []byte) error {
					if field == 1 {
						name = string(data)
					}
					return nil
				})
			case 6:
				state = number
			}
			return nil
		})
		for i := range pods {
			if pods[i].ID == sandbox && state == containerRunning {
				pods[i].Running = append(pods[i].Running, name)
			}
		}
		return err
	})
}
