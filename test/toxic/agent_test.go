package toxic_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/netwright/netwright/test/pki"
	"github.com/netwright/netwright/test/storetest"
	"github.com/netwright/netwright/test/toxic"
)

// fault is a fault that a node meets, with its begin and its end.
type fault struct {
	begin, end func(*machine)
}

// answers returns the fault of a server that answers by f.
func answers(f toxic.Fault) fault {
	return fault{func(m *machine) { m.server.Fail(f) }, func(m *machine) { m.server.Fail(nil) }}
}

// shows returns the fault of a server that shows another certificate.
func shows(other func(*machine) pki.Pair) fault {
	return fault{func(m *machine) { m.show(other(m)) }, func(m *machine) { m.show(m.ca.Server(name, name)) }}
}

// lost is the fault of a name that cannot be resolved: the nodes' name server does not answer
// either.
var lost = fault{
	func(m *machine) { m.write("hosts", "127.0.0.1 localhost\n"); m.server.CloseClientConnections() },
	func(m *machine) { m.write("hosts", "127.0.0.1 "+name+"\n") },
}

// expires is the fault of a token that the server no longer accepts, until the node has another.
var expires = fault{
	func(m *machine) { renewed := m.read("token") + "-renewed"; m.token.Store(&renewed) },
	func(m *machine) { m.write("token", *m.token.Load()) },
}

// old serves the store as it was before all that the node has accepted, as a restored copy or a
// cache does.
func old(m *machine) http.Handler {
	before := new(storetest.MapStore)
	m.publish(before, 5)
	return toxic.Files(before)
}

// trial is a fault and what a node does about it.
type trial struct {
	name     string
	fault    fault
	text     string // in the one error of the log; "": the node gets its new generation all the same
	requests int    // the most requests in a look
	inS3     bool
	believed bool // the pause for the server is longer than the test
	silent   bool // a running node shows nothing
}

// The store of a released agent fails: while the agent runs, when a new generation waits, and at a
// boot. The agent goes on with the last good configuration and repairs by it. It says once why, and
// since when. It sends no more requests than it may, and restarts and rewrites nothing. When the
// fault is over it takes the new generation.
//
// The lines that keep it: pkg/daemon/loop.go once, publish; pkg/reconcile/rollout/last_good.go
// LastGood; pkg/daemon/log_troubles.go store.
func TestNodeStandsIt(t *testing.T) {
	t.Parallel()
	var table toxic.Table
	t.Cleanup(func() { t.Log("\n" + table.String()) })
	var all sync.WaitGroup
	for _, c := range []trial{
		{name: "latency of 300 ms", fault: answers(toxic.Late(300 * time.Millisecond)), requests: 2},
		{name: "reset", fault: answers(toxic.Reset), text: "connection", requests: 2},
		{name: "half of the manifest, then reset", fault: answers(toxic.Half), text: "after ", requests: 1},
		{name: "half of each object as if it were all", fault: answers(toxic.Objects(toxic.Short)), text: "is not what the manifest says", requests: 2},
		{name: "half of the manifest as if it were all", fault: answers(toxic.Short), text: "manifest", requests: 1},
		{name: "more than there is", fault: answers(toxic.Objects(toxic.Long)), text: "the expected maximum", requests: 2},
		{name: "other bytes of the same length", fault: answers(toxic.Swapped), text: "manifest", requests: 1},
		{name: "nothing is ever modified", fault: answers(toxic.Unmodified), text: "304 Not Modified", requests: 1, silent: true},
		{name: "a new ETag each time", fault: answers(toxic.NewETags), requests: 2},
		{name: "401", fault: answers(toxic.Status(401, 0)), text: "let this node read it", requests: 1},
		{name: "403", fault: answers(toxic.Status(403, 0)), text: "let this node read it", requests: 1},
		{name: "404", fault: answers(toxic.Status(404, 0)), text: "there is no published cluster", requests: 4},
		{name: "404 for each object", fault: answers(toxic.Objects(toxic.Status(404, 0))), text: "publish again, the manifest last", requests: 3},
		{name: "429, again in an hour", fault: answers(toxic.Status(429, 3600)), text: "429", requests: 1, believed: true},
		{name: "500", fault: answers(toxic.Status(500, 0)), text: "500", requests: 1},
		{name: "503", fault: answers(toxic.Status(503, 0)), text: "503", requests: 1},
		{name: "page of a captive portal", fault: answers(toxic.Portal), text: "a login page", requests: 1},
		{name: "redirect to another host", fault: answers(toxic.Elsewhere("https://portal.example.com/login")), text: "redirected to", requests: 1},
		{name: "a generation of long ago", fault: fault{func(m *machine) { m.server.Fail(toxic.Instead(old(m))) }, func(m *machine) { m.server.Fail(nil) }}, text: "this node has seen generation", requests: 1},
		{name: "the name is not known", fault: lost, text: "lookup", requests: 0},
		{name: "expired certificate, or clock ahead", fault: shows(func(m *machine) pki.Pair { return m.ca.ExpiredServer(name, name) }), text: "look at this machine's clock", requests: 0},
		{name: "certificate of another host", fault: shows(func(m *machine) pki.Pair { return m.ca.Server(name, "other.example.com") }), text: "use the name that the server's certificate has", requests: 0},
		{name: "certificate of an unknown CA", fault: shows(func(m *machine) pki.Pair { return pki.New(m.t, "somebody").Server(name, name) }), text: "put the PEM of the server's CA into", requests: 0},
		{name: "the token expires", fault: expires, text: "the agent sends the token in", requests: 1},
		{name: "S3: AccessDenied", fault: answers(toxic.S3(403, "AccessDenied", "no")), text: "allow s3:GetObject", requests: 1, inS3: true},
		{name: "S3: ExpiredToken", fault: answers(toxic.S3(400, "ExpiredToken", "The provided token has expired.")), text: "renew the credentials", requests: 1, inS3: true},
		{name: "S3: SlowDown", fault: answers(toxic.S3(503, "SlowDown", "Please reduce your request rate.")), text: "503 SlowDown", requests: 1, inS3: true},
		{name: "S3: clock is wrong", fault: answers(toxic.S3(403, "RequestTimeTooSkewed", "The difference is too large.", "Date", time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat))),
			text: "look at this machine's clock", requests: 1, inS3: true},
	} {
		all.Go(func() { t.Run(c.name, func(t *testing.T) { c.run(t, &table) }) }) // all at once, since they mostly wait
	}
	all.Wait()
}

func (c trial) run(t *testing.T, table *toxic.Table) {
	m := newMachine(t, c.inS3)
	m.publish(m.memory, 10)
	m.start()
	c.applied(m, 10)

	if c.silent {
		c.meet(m, table, "poll", 20, "", func() {})
	} else {
		c.meet(m, table, "poll", 20, "going on with generation 10", func() {})
	}
	if c.believed {
		m.stop()
		return
	}
	c.fault.end(m)
	c.applied(m, 20)

	c.meet(m, table, "boot", 30, "going on with the last good configuration, generation 20, taken at ", func() { m.stop(); m.start() })
	c.fault.end(m)
	c.applied(m, 30)
	m.stop()
	if strings.Contains(m.logged(), secret) {
		t.Error("a credential is logged")
	}
}

// applied waits until a generation is in force, and no complaint is left.
func (c trial) applied(m *machine, generation int) {
	m.t.Helper()
	m.await(fmt.Sprintf("generation %d is applied", generation), func() bool {
		since, _ := m.statuses(1<<30, "")
		return since > 0 && m.read("root"+which) == fmt.Sprint(generation) && m.read("root"+conflist) != "" && !strings.Contains(m.last(), "going on")
	})
}

// looks is how often the store is asked during a fault.
const looks = 3

// meet begins the fault when a generation is published, and checks the node during the fault.
func (c trial) meet(m *machine, table *toxic.Table, when string, generation int, status string, then func()) {
	m.t.Helper()
	before, since := 0, 0
	m.server.Aside(func() { // so the node does not take the generation before the fault
		m.server.Taken()
		before = len(m.logged())
		m.publish(m.memory, int64(generation))
		c.fault.begin(m)
	})
	m.drift()
	times := m.times()
	since, _ = m.statuses(0, "")
	then()
	if c.text == "" {
		c.applied(m, generation)
		asked, _ := m.server.Taken()
		table.Add(c.name, when, len(asked), nil)
		return
	}
	m.await("it goes on with what it has", func() bool {
		_, with := m.statuses(since, status)
		if c.silent && when == "poll" { // a poll that finds nothing makes no pass, and says nothing
			with = m.server.Asked()
		}
		return with >= looks && m.read("root"+conflist) != ""
	})
	passes, _ := m.statuses(0, "")
	asked, _ := m.server.Taken()
	if most := c.requests*(passes-since+1) + 4; len(asked) > most { // the first look may try twice more
		m.t.Errorf("%s: %d requests in %d passes, at most %d are wanted: %q", when, len(asked), passes-since, most, asked)
	}
	said, want := complaints(m.logged()[before:]), 1
	if c.silent && when == "poll" {
		want = 0
	}
	if len(said) != want || want == 1 && !strings.Contains(said[0], c.text) {
		m.t.Errorf("%s: %d errors are logged, want one with %q:\n%s", when, len(said), c.text, m.logged()[before:])
	}
	for path, at := range m.times() {
		if was, ok := times[path]; !ok || !was.Equal(at) {
			m.t.Errorf("%s: %s was written (%t)", when, path, ok)
		}
	}
	if want == 0 {
		table.Add(c.name, when, len(asked), errors.New("nothing: it goes on with generation 10"))
		return
	}
	_, text, _ := strings.Cut(strings.Join(said, " "), `"error": "`)
	text, _, _ = strings.Cut(text, `", "going on`)
	table.Add(c.name, when, len(asked), errors.New(strings.ReplaceAll(text, `\`, "")))
}

// complaints returns the lines of a log above the level info.
func complaints(log string) (out []string) {
	for line := range strings.Lines(log) {
		if words := strings.Fields(line); len(words) > 1 && (words[1] == "error" || words[1] == "warn") {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return out
}
