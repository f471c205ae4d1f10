package nodestatus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/kube"
	"github.com/netwright/netwright/pkg/report"
)

// api is a server that records the requests. The real server is in test/kubernetes. Here the test
// controls the clock.
type api struct {
	mu      sync.Mutex
	err     error // the error of every request; nil: none
	node    map[string]kube.Condition
	events  map[string]kube.Event
	asked   int
	patched int

	refused map[string]error // by the kind of write

	uid         string
	annotations map[string]string
	annotated   int
}

func newAPI() *api {
	return &api{node: map[string]kube.Condition{}, events: map[string]kube.Event{}, uid: "1", annotations: map[string]string{}}
}

func (a *api) as(ctx context.Context, do func(context.Context, Client) error) error {
	return do(ctx, a)
}

func (a *api) request() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked++
	return a.err
}

// write counts a write of this kind, which may be refused.
func (a *api) write(what string) error {
	err := a.request()
	a.mu.Lock()
	defer a.mu.Unlock()
	return cmp.Or(err, a.refused[what])
}

// refuses makes all writes of a kind fail, or none with nil.
func (a *api) refuses(what string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refused = map[string]error{what: err}
}

func (a *api) fails(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.err = err
}

func (a *api) Condition(context.Context, string, string) (*kube.Condition, error) {
	if err := a.request(); err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if c, ok := a.node[Type]; ok {
		return &c, nil
	}
	return nil, nil
}

func (a *api) SetCondition(_ context.Context, _ string, c kube.Condition) error {
	if err := a.write("condition"); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.node[c.Type] = c
	a.patched++
	return nil
}

func (a *api) Annotate(_ context.Context, _, key, value string) error {
	if err := a.request(); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.annotations[key] = value
	a.annotated++
	return nil
}

func (a *api) Registered(context.Context, string) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.uid, a.err
}

// registers deletes the Node and makes another one.
func (a *api) registers(uid string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.uid, a.node, a.annotations = uid, map[string]kube.Condition{}, map[string]string{}
}

func (a *api) applied() (value string, times int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.annotations[kube.AppliedAnnotation], a.annotated
}

func (a *api) CreateEvent(_ context.Context, node string, e kube.Event) (string, error) {
	if err := a.write("event"); err != nil {
		return "", err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	name := fmt.Sprintf("%s.%d", node, len(a.events))
	a.events[name] = e
	return name, nil
}

func (a *api) RepeatEvent(_ context.Context, name string, e kube.Event) error {
	if err := a.write("event"); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.events[name]; !ok {
		return fmt.Errorf("patch events %s: %w", name, fs.ErrNotExist)
	}
	a.events[name] = e
	return nil
}

func (a *api) now() kube.Condition {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.node[Type]
}

func (a *api) counts() (asked, patched, events int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asked, a.patched, len(a.events)
}

// run runs a node that reports to the api, in a bubble whose clock moves only when all goroutines
// wait.
func run(t *testing.T, a *api, do func(t *testing.T, n *Node, logs *observer.ObservedLogs, stop func())) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zap.InfoLevel)
		n := &Node{As: a.as, Log: zap.New(core)}
		ctx, cancel := context.WithCancelCause(t.Context())
		ended := make(chan struct{})
		go func() { n.Run(ctx); close(ended) }()
		stop := func() {
			cancel(errors.New("enough"))
			<-ended
		}
		do(t, n, logs, stop)
		stop()
	})
}

func wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// status returns the status of a node, with a key as its reason.
func status(state report.NodeState, generation int64) *report.Status {
	s := &report.Status{Node: "node-1", State: state, Configuration: report.Configuration{Generation: generation}, Kinds: []report.KindStatus{{Kind: "sysctl", Tasks: 1}}}
	if state == report.NodeFailing || state == report.NodeContested {
		s.Keys = []report.KeyStatus{{Key: "sysctl:x", State: report.KeyState(state), Text: "is 0"}}
	}
	return s
}

func TestConditionFollowsTheNode(t *testing.T) {
	a := newAPI()
	run(t, a, func(t *testing.T, n *Node, _ *observer.ObservedLogs, stop func()) {
		n.Observe(status(report.NodeStarting, 0), nil)
		wait(time.Minute)
		if asked, _, _ := a.counts(); asked != 0 {
			t.Errorf("%d requests of a daemon that has not looked yet", asked)
		}
		n.Observe(status(report.NodeConverged, 3), nil)
		wait(time.Minute)
		first := a.now()
		if first.Status != kube.True || first.Reason != "Converged" || first.Message != "generation 3: all is as wanted" || first.Since.IsZero() {
			t.Errorf("converged: %+v", first)
		}
		n.Observe(status(report.NodeFailing, 3), nil)
		wait(time.Minute)
		failing := a.now()
		if failing.Status != kube.False || failing.Reason != "Failing" || failing.Message != "generation 3: sysctl:x: is 0" || !failing.Since.After(first.Since) {
			t.Errorf("failing: %+v", failing)
		}
		n.Observe(status(report.NodeContested, 4), nil)
		wait(2 * time.Minute)
		if got := a.now(); got.Status != kube.False || got.Reason != "Contested" || !got.Since.Equal(failing.Since) {
			t.Errorf("another reason for the same status is no transition: %+v", got)
		}
		stop()
		if got := a.now(); got.Status != kube.Unknown || got.Reason != "AgentStopped" {
			t.Errorf("when it ended: %+v", got)
		}
	})
}

// A daemon that starts again keeps the time of the last change.
func TestTransitionsOutliveTheDaemon(t *testing.T) {
	a := newAPI()
	long := time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)
	a.node[Type] = kube.Condition{Type: Type, Status: kube.True, Reason: "Converged", Since: long}
	run(t, a, func(t *testing.T, n *Node, _ *observer.ObservedLogs, _ func()) {
		n.Observe(status(report.NodeConverged, 3), nil)
		wait(time.Minute)
		if got := a.now(); !got.Since.Equal(long) || !got.Seen.After(long) {
			t.Errorf("now returns %+v", got)
		}
	})
}

// A node whose status does not change for a day makes some thirty requests. A node whose state
// changes all the time makes one in ten seconds, and one whose text changes all the time one in
// half an hour.
func TestRequestsAreFew(t *testing.T) {
	for name, c := range map[string]struct {
		every time.Duration
		next  func(i int) *report.Status
		most  int // in an hour
	}{
		"a state that does not change": {time.Minute, func(int) *report.Status { return status(report.NodeConverged, 3) }, 3},
		"a state that changes each second": {time.Second, func(i int) *report.Status {
			return status([]report.NodeState{report.NodeFailing, report.NodeConverged}[i%2], 3)
		}, 362},
		"a text that changes each second": {time.Second, func(i int) *report.Status {
			s := status(report.NodeFailing, 3)
			s.Keys[0].Text = fmt.Sprintf("it took %d ms", i)
			return s
		}, 5},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAPI()
			run(t, a, func(t *testing.T, n *Node, _ *observer.ObservedLogs, _ func()) {
				for i := range int(time.Hour / c.every) {
					n.Observe(c.next(i), nil)
					time.Sleep(c.every)
				}
				asked, patched, _ := a.counts()
				if asked > c.most || patched < 1 {
					t.Errorf("%d requests in an hour, want at most %d", asked, c.most)
				}
				t.Logf("%d requests in an hour", asked)
				n.Observe(status(report.NodeConverged, 4), nil)
				wait(10 * time.Minute)
				if got := a.now(); got.Status != kube.True || !strings.HasPrefix(got.Message, "generation 4:") {
					t.Errorf("the last word is %+v", got)
				}
			})
		})
	}
}

// A conflict about three keys, once a second for an hour, is three Events with counts. A thousand
// keys at once make only some Events.
func TestEventsAreFew(t *testing.T) {
	a := newAPI()
	run(t, a, func(t *testing.T, n *Node, _ *observer.ObservedLogs, _ func()) {
		n.Observe(status(report.NodeConverged, 3), nil)
		wait(time.Minute)
		before, _, _ := a.counts()
		const fights = 3600
		for i := range fights {
			n.Observe(status(report.NodeConverged, 3), []report.Event{
				{At: time.Now(), Kind: report.EventRepaired, Key: fmt.Sprintf("sysctl:%d", i%3), Text: "value differs"}, {At: time.Now(), Kind: report.EventChanged, Key: "file:/x"},
			})
			time.Sleep(time.Second)
		}
		wait(5 * time.Minute)
		asked, _, _ := a.counts()
		if asked -= before; asked > 3*60+15+eventBurst || len(a.events) < 3 || len(a.events) > 6 { // others begin after an hour
			t.Errorf("%d requests, %d Events: %+v", asked, len(a.events), a.events)
		}
		total := 0
		for _, e := range a.events {
			total += e.Count
			if e.Reason != "NetworkRepaired" || e.Warning || !e.Last.After(e.First) || !strings.HasPrefix(e.Message, "sysctl:") {
				t.Errorf("got %+v", e)
			}
		}
		if total != fights {
			t.Errorf("they count %d, want %d", total, fights)
		}
		var many []report.Event
		for i := range 1000 {
			many = append(many, report.Event{At: time.Now(), Kind: report.EventFailed, Key: fmt.Sprintf("file:/%d", i), Text: "no space"})
		}
		beginning := len(a.events)
		n.Observe(status(report.NodeFailing, 3), many)
		wait(time.Hour)
		if made := len(a.events) - beginning; made > maxWaiting+1 || made < 2 {
			t.Errorf("a thousand keys made %d Events", made)
		}
	})
}

// An API that does not answer gets requests less and less often, and the log says so once. When it
// answers again, it gets the present status.
func TestAnAPIThatIsGone(t *testing.T) {
	a := newAPI()
	a.fails(graph.Transient(errors.New("connection refused")))
	run(t, a, func(t *testing.T, n *Node, logs *observer.ObservedLogs, _ func()) {
		n.Observe(status(report.NodeFailing, 3), []report.Event{{At: time.Now(), Kind: report.EventRolledBack, Text: "the node was cut off"}})
		wait(time.Hour)
		if asked, _, _ := a.counts(); asked > 35 || logs.FilterLevelExact(zap.WarnLevel).Len() != 1 {
			t.Errorf("%d requests, and it said %v", asked, logs.All())
		}
		n.Observe(status(report.NodeConverged, 4), nil)
		a.fails(nil)
		wait(10 * time.Minute)
		if got := a.now(); got.Status != kube.True {
			t.Errorf("when it is back: %+v", got)
		}
		if _, _, events := a.counts(); events != 1 || logs.FilterMessageSnippet("told again").Len() != 1 {
			t.Errorf("%d Events; it said %v", events, logs.All())
		}
		a.mu.Lock()
		a.events = map[string]kube.Event{} // as after an hour
		a.mu.Unlock()
		n.Observe(status(report.NodeConverged, 4), []report.Event{{At: time.Now(), Kind: report.EventRolledBack, Text: "again"}})
		wait(10 * time.Minute)
		if _, _, events := a.counts(); events != 1 {
			t.Errorf("an Event that the server has forgotten is not made again: %d", events)
		}
	})
}

// Before a node has joined, the log does not say that it has no Node. A node that may not write
// tries twice an hour. A server that limits or refuses Events gets the node's status all the same,
// and as soon. The line that keeps it: pkg/publish/nodestatus/node.go, eventsAt.
func TestEventsThatAreRefusedHoldNothingElseUp(t *testing.T) {
	for name, err := range map[string]error{"limited": graph.Transient(errors.New("too many requests")), "forbidden": fs.ErrPermission} {
		t.Run(name, func(t *testing.T) {
			a := newAPI()
			run(t, a, func(t *testing.T, n *Node, logs *observer.ObservedLogs, _ func()) {
				n.Observe(status(report.NodeConverged, 3), nil)
				wait(time.Minute)
				a.refuses("event", err)
				n.Observe(status(report.NodeConverged, 3), []report.Event{{At: time.Now(), Kind: report.EventFailed, Key: "file:/x", Text: "no space"}})
				for _, state := range slices.Repeat([]report.NodeState{report.NodeFailing, report.NodeConverged}, 10) {
					wait(10 * time.Minute)
					n.Observe(status(state, 3), nil)
					wait(urgent + time.Second)
					if got := a.now(); (got.Status == kube.True) != (state == report.NodeConverged) {
						t.Errorf("%s is told as %+v", state, got)
					}
				}
				if said := logs.FilterLevelExact(zap.WarnLevel).Len(); said != 1 || logs.Len() != 1 {
					t.Errorf("it said %v", logs.All())
				}
				a.refuses("event", nil)
				wait(time.Hour)
				if _, _, events := a.counts(); events != 1 || logs.FilterMessageSnippet("told again").Len() != 1 {
					t.Errorf("when it takes them again: %d Events; it said %v", events, logs.All())
				}
			})
		})
	}
}

// That a Node can be read is no reason to try a refused write again soon. The line that keeps it:
// pkg/publish/nodestatus/node.go, publishStatus.
func TestANodeThatMayBeReadAndNotTold(t *testing.T) {
	a := newAPI()
	run(t, a, func(t *testing.T, n *Node, logs *observer.ObservedLogs, _ func()) {
		n.Observe(status(report.NodeConverged, 3), nil)
		wait(time.Minute)
		a.refuses("condition", fs.ErrPermission)
		before, _, _ := a.counts()
		n.Observe(status(report.NodeFailing, 3), nil)
		wait(24 * time.Hour)
		if asked, _, _ := a.counts(); asked-before > inADay(retryNever) || logs.Len() != 1 {
			t.Errorf("%d requests in a day; it said %v", asked-before, logs.All())
		}
	})
}

// If the API does not know the credentials, they are renewed, and then the Node is written soon,
// however long that took. The line that keeps it: pkg/publish/nodestatus/retry.go, pause
// (ErrUnknown).
func TestCredentialsAreRenewed(t *testing.T) {
	a := newAPI()
	run(t, a, func(t *testing.T, n *Node, _ *observer.ObservedLogs, _ func()) {
		a.fails(fmt.Errorf("patch nodes/status: %w", kube.ErrUnknown))
		n.Observe(status(report.NodeConverged, 3), nil)
		wait(24 * time.Hour)
		asked, _, _ := a.counts()
		a.fails(nil)
		wait(retryMax * 3 / 2)
		if a.now().Status != kube.True || asked > inADay(retryMax) {
			t.Errorf("%+v, after %d requests", a.now(), asked)
		}
	})
}

// inADay returns how many attempts a day may have. A pause is at least half of the longest one, and
// the first pauses are shorter.
func inADay(longest time.Duration) int { return int(2*24*time.Hour/longest) + 10 }

func TestNotYetAndNever(t *testing.T) {
	a := newAPI()
	a.fails(fs.ErrNotExist)
	run(t, a, func(t *testing.T, n *Node, logs *observer.ObservedLogs, _ func()) {
		n.Observe(status(report.NodeConverged, 3), []report.Event{{At: time.Now(), Kind: report.EventWaiting, Key: "file:/x", Text: "for calico"}})
		wait(time.Hour)
		if logs.Len() != 0 {
			t.Errorf("it says %v", logs.All())
		}
		a.fails(nil)
		wait(3 * time.Minute)
		if _, _, events := a.counts(); a.now().Status != kube.True || events != 1 {
			t.Errorf("once it has joined: %+v, %d Events", a.now(), events)
		}
		a.fails(fs.ErrPermission)
		before, _, _ := a.counts()
		n.Observe(status(report.NodeFailing, 3), nil)
		wait(24 * time.Hour)
		if asked, _, _ := a.counts(); asked-before > inADay(retryNever) {
			t.Errorf("%d requests in a day of an API that forbids it", asked-before)
		}
	})
}

func TestJudge(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	kinds := []report.KindStatus{{Kind: "file", Tasks: 3, Right: 3}}
	drifted := report.KeyStatus{Key: "file:/x", State: report.KeyDrifted, Text: "content differs"}
	for name, c := range map[string]struct {
		s    report.Status
		want string
	}{
		"begins":              {report.Status{State: report.NodeStarting}, "nothing"},
		"no configuration":    {report.Status{State: report.NodeFailing, Reason: "the store is away", Configuration: report.Configuration{Error: "the store is away"}}, "False Failing no configuration: the store is away"},
		"the store is silent": {report.Status{State: report.NodeSilent, Kinds: kinds, Configuration: report.Configuration{Generation: 3, Error: "no route", Silent: time.Unix(0, 0)}}, "True StoreSilent generation 3: all is as wanted; the store was not read since 1970-01-01T00:00:00Z: no route"},
		"the store is away":   {report.Status{State: report.NodeFailing, Kinds: kinds, Configuration: report.Configuration{Generation: 3, Error: "no route"}}, "True ConfigurationError generation 3: all is as wanted, and the store, or what it has, cannot be used: no route"},
		"pods depend on it":   {report.Status{Kinds: kinds, Keys: []report.KeyStatus{{Key: "file:a", State: report.KeyFailing, Text: "no room"}, {Key: "link:y", State: report.KeyContested, Pods: true, Text: "repaired"}}}, "False Critical no configuration: link:y: repaired"},
		"pods depend on a key that waits for its repair": {report.Status{Kinds: kinds, Keys: []report.KeyStatus{{Key: "sysctl:a", State: report.KeyWaiting, Pods: true, Text: "its next repair"}}}, "False Critical no configuration: sysctl:a: its next repair"},
		"a failing key stops pods":                       {report.Status{Kinds: kinds, Keys: []report.KeyStatus{{Key: "file:a", State: report.KeyFailing, Pods: true, Means: "no pod can be started", Text: "no room"}}}, "False Critical no configuration: file:a: no pod can be started: no room"},
		"kubelet is down":                                {report.Status{Kinds: kinds, Keys: []report.KeyStatus{drifted}, Services: []report.Service{{Name: "containerd", Works: true}, {Name: "kubelet", Text: "stopped"}}}, "False KubeletDown no configuration: kubelet does not work: stopped"},
		"the runtime is down":                            {report.Status{Kinds: kinds, Services: []report.Service{{Name: "containerd", Text: "stopped"}}}, "False RuntimeDown no configuration: containerd does not work: stopped"},
		"a contested key and an error of the store":      {report.Status{Kinds: kinds, Keys: []report.KeyStatus{drifted, {Key: "link:y", State: report.KeyContested, Text: "given up"}}, Configuration: report.Configuration{Error: "no route"}}, "False Contested no configuration: link:y: given up"},
		"a pass fails as a whole":                        {report.Status{Kinds: kinds, Last: &report.LastPass{Error: "two tasks own a key"}}, "False Failing no configuration: two tasks own a key"},
		"drift in a pause":                               {report.Status{State: report.NodePaused, Kinds: kinds, Keys: []report.KeyStatus{drifted}, Paused: &report.Paused{Until: at}}, "False Drifted no configuration: file:/x: content differs"},
		"a pause":                                        {report.Status{State: report.NodePaused, Kinds: kinds, Paused: &report.Paused{Until: at, By: "alice", Reason: "a new switch"}}, "True Paused no configuration: nothing is changed: paused until 2026-01-02T03:04:05Z by alice: a new switch"},
		"held at a revision while a generation waits":    {report.Status{State: report.NodeWaiting, Kinds: kinds, Pinned: "held at revision 3 by root", Waiting: &report.Waiting{Generation: 4, Reason: "auto is reload"}}, "True ConfigurationWaiting no configuration: held at revision 3 by root; generation 4 waits: auto is reload"},
		"a switch is held back":                          {report.Status{State: report.NodeWaiting, Kinds: kinds}, "False Waiting no configuration: something is held back: agent status on the node says what"},
		"a pass hangs": {report.Status{Kinds: kinds, Keys: []report.KeyStatus{drifted}, Hangs: &report.Hanging{At: "a pass of its own: plan", Since: at}},
			"False Failing no configuration: a pass of its own: plan, since 2026-01-02T03:04:05Z: " + report.NotEnded},
		"a key waits for another key": {report.Status{Kinds: kinds, Keys: []report.KeyStatus{{Key: "a", State: report.KeyWaiting, Because: "b"}}}, "True Converged no configuration: all is as wanted"},
	} {
		got := "nothing"
		if v := conditionOf(&c.s); v != nil {
			got = v.Status + " " + v.Reason + " " + v.Message
		}
		if got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, c.want)
		}
	}
}
