package inbound

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/netwright/netwright/pkg/kube"
)

// The time limits of a question, besides the context's.
const (
	askAgain    = time.Second     // pause after an error of the API
	retractTime = 2 * time.Second // to remove the question
)

// Ask requests that peers connect to TCP ports of a node. It returns for each peer, by name, the
// ports that it reached, such as "tcp4:22". It returns when all peers have answered, when done
// returns true, or when the context ends. A busy peer counts as one without an answer. If asked is
// nil, it asks the peers that [Peers] returns. An error means that no peer could be asked. A
// checkpoint calls Ask before and after its change.
func Ask(
	ctx context.Context, api API, own string, ports []uint16, asked []string, done func(said map[string][]string) bool,
) (map[string][]string, error) {
	if asked == nil {
		names, err := api.Names(ctx)
		if err != nil {
			return nil, fmt.Errorf("find peers that knock: %w", err)
		}
		asked = Peers(names, own)
	}
	if len(asked) == 0 || len(ports) == 0 {
		return nil, nil
	}
	nonce := rand.Text()
	ports = ports[:min(len(ports), MaxPorts)]
	defer func() {
		last, stop := context.WithTimeoutCause(context.WithoutCancel(ctx), retractTime, errors.New("no answer"))
		defer stop()
		_ = api.Annotate(last, own, kube.RequestsAnnotation, "") // a question that stays has its answers already
	}()
	err := api.Annotate(ctx, own, kube.RequestsAnnotation, write(question{Nonce: nonce, Ports: ports}))
	if err != nil {
		return nil, fmt.Errorf("ask peers to knock: %w", err)
	}
	return gather(ctx, asked, ports, func(ctx context.Context, peer string) (answer, bool) {
		return awaitAnswer(ctx, api, peer, own, nonce)
	}, done)
}

// gather asks all peers at once until done returns true. It leaves out peers without an answer, and
// ports that were not asked for.
func gather(
	ctx context.Context, asked []string, ports []uint16,
	ask func(ctx context.Context, peer string) (a answer, ok bool), done func(said map[string][]string) bool,
) (map[string][]string, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(errors.New("enough have answered"))
	type reply struct {
		peer string
		open []string
		ok   bool
	}
	replies := make(chan reply, len(asked)) // a peer that answers late must not block
	for _, peer := range asked {
		go func() {
			a, ok := ask(ctx, peer)
			replies <- reply{peer, a.Open, ok}
		}()
	}
	said := map[string][]string{}
	for range asked {
		r := <-replies
		if !r.ok {
			continue
		}
		said[r.peer] = slices.DeleteFunc(r.open, func(port string) bool { return !askedFor(port, ports) })
		if done(said) {
			stop(errors.New("enough have answered"))
		}
	}
	return said, nil
}

// askedFor reports whether a port is one of those that were asked for.
func askedFor(port string, ports []uint16) bool {
	return slices.ContainsFunc(ports, func(p uint16) bool {
		return port == name(true, p) || port == name(false, p)
	})
}

// awaitAnswer waits for a peer's answer. It returns false for a busy peer.
func awaitAnswer(ctx context.Context, api API, peer, own, nonce string) (answer, bool) {
	for ctx.Err() == nil {
		n, err := api.Node(ctx, peer)
		if err == nil {
			if a := read[map[string]answer](n.Answers)[own]; a.Nonce == nonce {
				return a, !a.Busy
			}
			err = api.Changed(ctx, peer, n.Version)
		}
		if err != nil {
			wait(ctx, askAgain)
		}
	}
	return answer{}, false
}

// wait pauses, and returns early when the context ends.
func wait(ctx context.Context, pause time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(pause):
	}
}
