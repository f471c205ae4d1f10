package control

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/ipc"
	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/report"
)

// a daemon is a server on a root of its own. stop ends it and waits for its end.
type daemon struct {
	*Server
	opt  host.Options
	log  *observer.ObservedLogs
	stop func()
}

func serve(t *testing.T) *daemon {
	t.Helper()
	opt := host.Options{Root: t.TempDir()}
	core, log := observer.New(zap.InfoLevel)
	s, err := Listen(opt, "v1", zap.New(core))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	d := &daemon{Server: s, opt: opt, log: log}
	d.stop = func() {
		cancel(errors.New("the test ends"))
		if err := <-ended; err != nil {
			t.Error(err)
		}
		ended <- nil
	}
	t.Cleanup(d.stop)
	return d
}

// answer is the result of a request that runs beside the test. It comes through a channel.
type answer struct {
	last   Event
	err    error
	events []Event
}

func (d *daemon) ask(ctx context.Context, req Request, hear func(Event)) <-chan answer {
	out := make(chan answer, 1)
	go func() {
		c, err := Dial(ctx, d.opt, "v1")
		if err != nil {
			out <- answer{err: err}
			return
		}
		defer c.Close()
		var a answer
		a.last, a.err = c.Do(ctx, req, func(e Event) {
			a.events = append(a.events, e)
			hear(e)
		})
		out <- a
	}()
	return out
}

func nothing(Event) {}

func TestWhatIsSaidArrives(t *testing.T) {
	d := serve(t)
	got := d.ask(t.Context(), Request{Command: Rollback, By: "alice", Revision: 3, Target: Target{Node: "node-1"}}, nothing)
	job := <-d.Jobs()
	if job.Command != Rollback || job.By != "alice" || job.Revision != 3 || job.Target.Node != "node-1" || job.Peer.PID != os.Getpid() {
		t.Errorf("the job is %+v of %+v", job.Request, job.Peer)
	}
	plan := &report.Plan{Node: "node-1", Steps: []report.Step{{Key: "file:/a", State: report.Planned}}}
	plan.Finish(1)
	job.Send(Event{Event: Begin})
	job.Send(Event{Event: Plan, Plan: plan})
	job.End(Event{Plan: plan, Error: &Failure{Text: "no", Besides: "besides", Again: true, ID: "other"}})
	job.End(Event{}) // a second end changes nothing
	a := <-got
	if len(a.events) != 2 || a.events[1].Plan == nil || a.events[1].Plan.Steps[0].Key != "file:/a" {
		t.Errorf("heard %+v", a.events)
	}
	var failure *Failure
	if !errors.As(a.err, &failure) || *failure != (Failure{"no", "besides", true, "other"}) || a.last.Plan == nil {
		t.Errorf("the end is %+v, %v", a.last, a.err)
	}
}

// An error from a daemon has the same identifier as without a daemon, at its end and as data, and
// only once. The lines that keep it: control.go, Failed and Problem.
func TestAnErrorOfTheDaemonHasItsIdentifier(t *testing.T) {
	named := problem.RevisionMissing.Errorf("read revision 7")
	for want, err := range map[string]error{
		"roll back: read revision 7 [revision-missing]": fmt.Errorf("roll back: %w", named),
		"no space left [other]":                         errors.New("no space left"),
	} {
		f := Failed(err, err)
		if got := problem.KindOf(f).Wrap(f).Error(); got != want || f.Besides != want {
			t.Errorf("%q, besides %q; want %q", got, f.Besides, want)
		}
	}
}

// A client that comes while the daemon works for another one is told so, and waits. The line that
// keeps it: server.go, queue.
func TestWhoWaitsHearsWhatFor(t *testing.T) {
	d := serve(t)
	done := d.Working("rollback by alice (pid 12)")
	queued := make(chan string, 1)
	got := d.ask(t.Context(), Request{Command: Once}, func(e Event) {
		if e.Event == Queued {
			queued <- e.Text
		}
	})
	if text := <-queued; !strings.HasPrefix(text, "rollback by alice (pid 12), since 2") {
		t.Errorf("told %q", text)
	}
	select {
	case a := <-got:
		t.Errorf("ended before its turn: %+v", a)
	default:
	}
	done()
	(<-d.Jobs()).End(Event{})
	if a := <-got; a.err != nil {
		t.Error(a.err)
	}
}

// The next command does not wait for one that has ended: `agent resume --apply` makes two requests.
// The line that keeps it: job.go, End.
func TestWhatHasEndedIsNotWaitedFor(t *testing.T) {
	d := serve(t)
	got := d.ask(t.Context(), Request{Command: Resume}, nothing)
	job := <-d.Jobs()
	defer d.Working(job.String())()
	job.End(Event{})
	<-got
	got = d.ask(t.Context(), Request{Command: Once}, func(e Event) {
		if e.Event == Queued {
			t.Errorf("it waits for %s", e.Text)
		}
	})
	(<-d.Jobs()).End(Event{})
	<-got
}

// If a client is killed while it waits, its request is not carried out. If it is killed later, the
// daemon goes on. The lines that keep it: server.go, queue (gone); job.go, send.
func TestAClientThatDies(t *testing.T) {
	d := serve(t)
	defer d.Working("something")()
	ctx, kill := context.WithCancelCause(t.Context())
	queued := make(chan bool, 1)
	got := d.ask(ctx, Request{Command: Once, By: "the dead"}, func(Event) { queued <- true })
	<-queued
	kill(errors.New("killed"))
	if a := <-got; a.err == nil || !strings.Contains(a.err.Error(), "had not begun the command") {
		t.Errorf("a client that gave up gets %v", a.err)
	}

	ctx, kill = context.WithCancelCause(t.Context())
	began := make(chan bool, 1)
	got = d.ask(ctx, Request{Command: Rollback, By: "the living"}, func(e Event) {
		if e.Event == Begin {
			began <- true
		}
	})
	job := <-d.Jobs()
	for job.By == "the dead" { // the daemon took the request before it noticed the client's death
		job.End(Event{})
		job = <-d.Jobs()
	}
	job.Send(Event{Event: Begin})
	<-began // the client has received it
	kill(errors.New("killed"))
	if a := <-got; a.err == nil || !strings.Contains(a.err.Error(), "goes on with the command") {
		t.Errorf("a client that is killed gets %v", a.err)
	}
	for range 100 {
		job.Send(Event{Event: Start, Key: "file:/a"})
	}
	job.End(Event{})

	after := d.ask(t.Context(), Request{Command: Resume}, nothing)
	(<-d.Jobs()).End(Event{Text: "well"})
	if a := <-after; a.err != nil || a.last.Text != "well" {
		t.Errorf("the next one: %+v", a)
	}
}

// A client that does not read does not delay a pass. The line that keeps it: job.go,
// SetWriteDeadline.
func TestAClientThatStandsStill(t *testing.T) {
	d := serve(t)
	conn := d.dial(t)
	say(t, conn, Request{Protocol: Protocol, Command: Once})
	job := <-d.Jobs()
	text := strings.Repeat("x", 1<<20) // more than any socket buffer holds
	for range 8 {
		job.Send(Event{Event: Note, Text: text})
	}
	job.End(Event{})
}

func (d *daemon) dial(t *testing.T) *net.UnixConn {
	t.Helper()
	conn, err := ipc.Dial(t.Context(), d.opt.Files(), Socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func say(t *testing.T, conn *net.UnixConn, what any) {
	t.Helper()
	data, err := json.Marshal(what)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write(append(data, '\n')); err != nil {
		t.Fatal(err)
	}
}

// A client of another version, or something that is no client, gets an answer that says what to do.
// The line that keeps it: server.go, read.
func TestRequestsThatAreNone(t *testing.T) {
	d := serve(t)
	for _, c := range []struct {
		name, says, hears string
	}{
		{"another protocol", `{"protocol":"netwright.dev/control/v9","version":"v9","new":1}`, "netwright v9 and speaks netwright.dev/control/v9: restart the daemon"},
		{"a field of a newer release", `{"protocol":"netwright.dev/control/v1","command":"once","new":1}`, "the daemon is older than this command"},
		{"no JSON", `GET / HTTP/1.1`, "in one line of JSON"},
		{"a request that is too long", strings.Repeat("x", maxRequest+1), "in one line of JSON"},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn := d.dial(t)
			_, _ = conn.Write([]byte(c.says + "\n")) // the rest of a request that is too long is not read
			lines := bufio.NewScanner(conn)
			var e Event
			for lines.Scan() {
				if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
					t.Fatal(err)
				}
			}
			if e.Event != End || e.Error == nil || !strings.Contains(e.Error.Text, c.hears) {
				t.Errorf("answered %+v", e)
			}
		})
	}
}

// fake is a daemon that sends these lines on the next connection.
func fake(t *testing.T, says ...string) host.Options {
	t.Helper()
	opt := host.Options{Root: t.TempDir()}
	s, err := ipc.Listen(opt.Files(), Socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	go func() {
		conn, err := s.AcceptUnix()
		if err != nil {
			return
		}
		for _, line := range says {
			if strings.HasSuffix(line, "}") {
				line += "\n"
			}
			_, _ = conn.Write([]byte(line))
		}
		conn.CloseWrite()
		_, _ = bufio.NewReader(conn).ReadString('\n')
		conn.Close()
	}()
	return opt
}

const hello = `{"event":"hello","protocol":"netwright.dev/control/v1","version":"v1","pid":7}`

// These are the errors of a client whose daemon dies or is of another version. The lines that keep
// it: client.go, greet and lost.
func TestDaemonsThatFail(t *testing.T) {
	for _, c := range []struct {
		name string
		says []string
		want string
	}{
		{"another version", []string{`{"event":"hello","protocol":"netwright.dev/control/v9","version":"v9","pid":7}`}, "the daemon is netwright v9 and speaks netwright.dev/control/v9"},
		{"the daemon died before it began", []string{hello}, "died before it began once"},
		{"the daemon died in the middle", []string{hello, `{"event":"begin"}`, `{"event":"start","key":"file:/a"}`}, "died before once was done"},
		{"the daemon died in the middle of a line", []string{hello, `{"event":"begin"}`, `{"event":"pl`}, "died before once was done"},
		{"a refusal", []string{`{"event":"end","error":{"text":"too many"}}`}, "too many"},
		{"an event of a later release", []string{hello, `{"event":"weather","sun":true}`, `{"event":"end"}`}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			client, err := Dial(t.Context(), fake(t, c.says...), "v1")
			if err == nil {
				defer client.Close()
				_, err = client.Do(t.Context(), Request{Command: Once}, nothing)
			}
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("err = %v, want %q", err, c.want)
			}
		})
	}
}

func TestNoDaemon(t *testing.T) {
	opt := host.Options{Root: t.TempDir()}
	if _, err := Dial(t.Context(), opt, "v1"); !errors.Is(err, ErrNoDaemon) {
		t.Errorf("nothing is there: %v", err)
	}
	s, err := ipc.Listen(opt.Files(), Socket)
	if err != nil {
		t.Fatal(err)
	}
	_ = s.UnixListener.Close() // as by SIGKILL: the name stays
	if _, err := Dial(t.Context(), opt, "v1"); !errors.Is(err, ErrNoDaemon) {
		t.Errorf("a dead daemon's socket: %v", err)
	}
}

// A daemon that ends tells the clients that wait, and removes its socket. The lines that keep it:
// server.go, queue (ctx.Done) and Serve.
func TestADaemonThatEnds(t *testing.T) {
	d := serve(t)
	defer d.Working("something")()
	queued := make(chan bool, 1)
	got := d.ask(t.Context(), Request{Command: Once}, func(Event) { queued <- true })
	<-queued
	d.stop()
	if a := <-got; a.err == nil || !strings.Contains(a.err.Error(), "the daemon stops, and this command was not begun") {
		t.Errorf("a client that waited gets %v", a.err)
	}
	if left, err := os.ReadDir(filepath.Join(d.opt.Root, filepath.Dir(Socket))); err != nil || len(left) > 0 {
		t.Errorf("left: %v %v", left, err)
	}
}

func TestTargetDiffers(t *testing.T) {
	own := Target{Store: "/srv/a", Cluster: "demo", Node: "node-1"}
	if what, _, _ := own.Differs(Target{Cluster: "demo"}); what != "" {
		t.Errorf("a target without a value differs: %s", what)
	}
	if what, a, b := own.Differs(Target{Store: "/srv/a", NodeGroup: "gpu"}); what != "node group" || a != "" || b != "gpu" {
		t.Errorf("Differs returns %s %s %s", what, a, b)
	}
}
