package inbound

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/kube"
	"github.com/netwright/netwright/pkg/report"
)

// TestMain fails if a test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// nodes has the Nodes of an API.
type nodes struct {
	mu      sync.Mutex
	all     map[string]kube.Node
	changed chan struct{} // closed at the next change
	writes  int
	err     error // the error of every request
}

func newNodes(names ...string) *nodes {
	n := &nodes{all: map[string]kube.Node{}, changed: make(chan struct{})}
	for _, name := range names {
		n.all[name] = kube.Node{Name: name, Version: "0"}
	}
	return n
}

func (n *nodes) Names(context.Context) ([]string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Sorted(maps.Keys(n.all)), n.err
}

func (n *nodes) Node(_ context.Context, name string) (*kube.Node, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	one, ok := n.all[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return &one, n.err
}

func (n *nodes) Changed(ctx context.Context, name, version string) error {
	for {
		n.mu.Lock()
		now, changed := n.all[name].Version, n.changed
		n.mu.Unlock()
		if now != version {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-changed:
		}
	}
}

func (n *nodes) NodeName(node string) string { return node }

func (n *nodes) Annotate(ctx context.Context, own, key, value string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.err != nil || ctx.Err() != nil {
		return errors.Join(n.err, ctx.Err())
	}
	n.writes++
	one := n.all[own]
	switch key {
	case kube.RequestsAnnotation:
		one.Requests = value
	case kube.AnswersAnnotation:
		one.Answers = value
	}
	one.Version = strconv.Itoa(n.writes)
	n.all[own] = one
	close(n.changed)
	n.changed = make(chan struct{})
	return nil
}

// begin runs an agent that answers requests on each of these nodes, until the test ends.
func begin(t *testing.T, api *nodes, busy func(peer string) bool, names ...string) (end func()) {
	t.Helper()
	ctx, stop := context.WithCancelCause(t.Context())
	var all sync.WaitGroup
	for _, name := range names {
		p := &Peer{API: api, Busy: func() bool { return busy(name) }, Log: zap.NewNop()}
		p.Observe(&report.Status{Node: name}, nil)
		all.Go(func() { p.Run(ctx) })
	}
	return func() { stop(errors.New("the daemons end")); all.Wait() }
}

func never(map[string][]string) bool { return false }

func TestPeersAnswerWhoAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		names := []string{"a", "b", "c", "d", "e", "f"}
		api := newNodes(names...)
		rendezvous := Peers(names, "a")
		changes := rendezvous[0]
		end := begin(t, api, func(peer string) bool { return peer == changes }, names[1:]...)
		synctest.Wait()
		for range 2 { // the second is a new request
			said, err := Ask(t.Context(), api, "a", []uint16{22}, nil, never)
			if got, want := slices.Sorted(maps.Keys(said)), slices.Sorted(slices.Values(rendezvous[1:])); err != nil || !slices.Equal(got, want) {
				t.Errorf("%v answer, %v; want %v, for %s is in the middle of a change", got, err, want, changes)
			}
		}
		time.Sleep(2 * knockEach)
		synctest.Wait()
		for name, n := range api.all {
			if n.Requests != "" || n.Answers != "" {
				t.Errorf("%s still asks %q, answers %q", name, n.Requests, n.Answers)
			}
		}
		end()
	})
}

// A node that sends requests without a pause gets one answer a second, and one for each request.
func TestPeersKeepToTheirRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newNodes("a", "b")
		end := begin(t, api, func(string) bool { return false }, "b")
		defer end()
		synctest.Wait()
		asked, begun := 0, time.Now()
		for time.Since(begun) < 10*time.Second {
			_ = api.Annotate(t.Context(), "a", kube.RequestsAnnotation, write(question{Nonce: fmt.Sprint(asked), Ports: []uint16{22}}))
			asked++
			time.Sleep(50 * time.Millisecond)
		}
		if answered := api.writes - asked; answered < 5 || answered > 11 {
			t.Errorf("%d questions in 10 s have %d answers", asked, answered)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		settled := api.writes
		time.Sleep(time.Hour) // the names are read again meanwhile
		if api.writes != settled {
			t.Errorf("%d more answers to the same question", api.writes-settled)
		}
	})
}

func TestNobodyAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), 3*time.Second)
		defer stop()
		if said, err := Ask(ctx, newNodes("a"), "a", []uint16{22}, nil, never); len(said) > 0 || err != nil || ctx.Err() != nil {
			t.Errorf("a node alone: %v, %v, %v", said, err, ctx.Err())
		}
		api := newNodes("a", "b") // their agent is an older one
		if said, err := Ask(ctx, api, "a", []uint16{22}, nil, never); len(said) > 0 || err != nil || api.all["a"].Requests != "" {
			t.Errorf("a silent peer: %v, %v; asks %q", said, err, api.all["a"].Requests)
		}
		api.err = fs.ErrPermission
		if _, err := Ask(t.Context(), api, "a", []uint16{22}, nil, never); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("an API that forbids it: %v", err)
		}
	})
}

// An answer counts only for its own request.
func TestAnswersOfAnotherQuestionAreNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newNodes("a", "b")
		answers := func(text string) { _ = api.Annotate(t.Context(), "b", kube.AnswersAnnotation, text) }
		answers(`{"a": {"nonce": "old", "open": ["tcp4:22"]}}`)
		go func() {
			time.Sleep(time.Second)
			answers(`no JSON`)
			time.Sleep(time.Second)
			a, _ := api.Node(t.Context(), "a")
			q := read[question](a.Requests)
			answers(`{"a": {"nonce": "` + q.Nonce + `", "open": ["tcp4:22", "tcp6:23"], "more": {}}}`)
		}()
		said, err := Ask(t.Context(), api, "a", []uint16{22}, nil, func(said map[string][]string) bool { return len(said) > 0 })
		if got := fmt.Sprint(said); err != nil || got != "map[b:[tcp4:22]]" {
			t.Errorf("got %s, error %v", got, err)
		}
	})
}

// Both sides find each other by the names. A node that is added or removed changes few of the
// pairs.
func TestRendezvous(t *testing.T) {
	var names []string
	for i := range 200 {
		names = append(names, fmt.Sprintf("ip-10-0-%d-%d.ec2.internal", i/16, i%16))
	}
	most, moved, chosen := 0, 0, map[string][]string{}
	for _, name := range names {
		chosen[name] = Peers(names, name)
	}
	for name, list := range chosen {
		if len(list) != peers || slices.Contains(list, name) {
			t.Fatalf("peers of %s: %v", name, list)
		}
		moved += len(slices.DeleteFunc(Peers(names[1:], name), func(p string) bool { return slices.Contains(list, p) }))
		askers := Askers(names, name)
		most = max(most, len(askers))
		for _, other := range names {
			if slices.Contains(askers, other) != slices.Contains(chosen[other], name) {
				t.Errorf("%s and %s do not agree", name, other)
			}
		}
	}
	if most > maxAskers || moved > maxAskers {
		t.Errorf("one knocks for %d, at most %d; and %d knock for others when one goes", most, maxAskers, moved)
	}
	if got := Peers([]string{"a"}, "a"); len(got) > 0 {
		t.Errorf("a node alone has the peers %v", got)
	}
}

func TestTargetsAreAddressesOfAHost(t *testing.T) {
	var list []netip.Addr
	for _, text := range []string{"127.0.0.1", "::1", "0.0.0.0", "255.255.255.255", "224.0.0.1", "169.254.169.254", "fe80::1", "ff02::1", "10.0.0.1", "10.0.0.2", "fd00::1", "2001:db8::1"} {
		list = append(list, netip.MustParseAddr(text))
	}
	if got := fmt.Sprint(targets(list)); got != "[10.0.0.1 fd00::1]" {
		t.Errorf("the addresses to ask: %s, want [10.0.0.1 fd00::1]", got)
	}
}

func TestKnock(t *testing.T) {
	open, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	closed, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	ports := []uint16{open.Addr().(*net.TCPAddr).AddrPort().Port(), closed.Addr().(*net.TCPAddr).AddrPort().Port()}
	heard := make(chan int)
	go func() {
		c, err := open.Accept()
		if err != nil {
			heard <- -1
			return
		}
		defer c.Close()
		n, _ := c.Read(make([]byte, 1))
		heard <- n
	}()
	got := knock(t.Context(), []netip.Addr{netip.MustParseAddr("127.0.0.1")}, ports)
	if want := []string{name(true, ports[0])}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if n := <-heard; n != 0 {
		t.Errorf("%d bytes were sent", n)
	}
}
