package daemon

import (
	"errors"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/systemd"
	"github.com/netwright/netwright/pkg/report"
)

// A service does not work if two looks find a fault; one look is not enough. The daemon does not
// judge a unit that nobody starts, that ran to its end, or that is being started. It does not judge
// a runtime either for which it has no descriptor. It finds a loop of restarts also if every look
// meets the service running. The lines that keep it: runtime_and_kubelet.go, take, unasked and
// wrong.
func TestWhetherServicesWork(t *testing.T) {
	running := systemd.UnitState{Load: "loaded", Active: "active", Sub: "running", ActiveSinceUS: 1, StartedUS: 1}
	looping := systemd.UnitState{Load: "loaded", Active: "activating", Sub: "auto-restart", StartedUS: 1}
	stopped := systemd.UnitState{Load: "loaded", Active: "inactive", Sub: "dead", ActiveSinceUS: 1, StartedUS: 1}
	never := systemd.UnitState{Load: "loaded", Active: "inactive", Sub: "dead"}
	asked := stopped
	asked.Job = true
	ended := stopped
	ended.Ran = true
	at := func(u systemd.UnitState, restarts int) sighting {
		return sighting{name: "kubelet", unit: "kubelet.service", means: "pods stay as they are", state: u, restarts: restarts, end: systemd.UnitEnd{Result: "exit-code", Code: "exit code 1"}}
	}
	hangs := at(running, 0)
	hangs.silent = errors.New("no answer")
	logs := at(looping, 3)
	logs.end.Journal = "bad  flag\n"
	starved := at(running, 0)
	starved.silent = &net.OpError{Op: "dial", Net: "unix", Err: os.NewSyscallError("socket", syscall.EMFILE)}
	unknown := sighting{name: "kubelet", unit: "kubelet.service", err: errors.New("systemd is silent")}
	for name, c := range map[string]struct {
		looks []sighting
		want  string // of the last look: "" if none is judged, "works", or a part of its text
	}{
		"the service runs":                {[]sighting{at(running, 0)}, "works"},
		"one bad look":                    {[]sighting{at(running, 0), at(stopped, 0)}, "works"},
		"a first bad look":                {[]sighting{at(looping, 3)}, ""},
		"two bad looks":                   {[]sighting{at(looping, 3), at(looping, 4)}, "kubelet.service does not stay up (exit-code, exit code 1), restarted 4 times so far: pods stay as they are"},
		"what it means, then its log":     {[]sighting{logs, logs}, "restarted 3 times so far: pods stay as they are; its last log lines: bad flag"},
		"another cause":                   {[]sighting{logs, logs, hangs}, "kubelet.service runs, but does not answer (no answer): pods stay as they are"},
		"stopped":                         {[]sighting{at(running, 0), at(stopped, 0), at(stopped, 0)}, "kubelet.service is stopped"},
		"the service hangs":               {[]sighting{hangs, hangs}, "kubelet.service runs, but does not answer (no answer)"},
		"the service works again":         {[]sighting{hangs, hangs, at(running, 0)}, "works"},
		"the service was never started":   {[]sighting{at(never, 0), at(never, 0)}, ""},
		"the service starts":              {[]sighting{at(asked, 0), at(asked, 0)}, ""},
		"the service ended with success":  {[]sighting{at(ended, 0), at(ended, 0)}, ""},
		"its state cannot be read":        {[]sighting{unknown, unknown}, ""},
		"its state cannot be read once":   {[]sighting{hangs, hangs, unknown}, "does not answer"},
		"the daemon lacks descriptors":    {[]sighting{at(running, 0), starved, starved, starved}, "works"},
		"the daemon lacks them from then": {[]sighting{hangs, hangs, starved}, "does not answer"},
		"one restart":                     {[]sighting{at(running, 0), at(running, 1), at(running, 1)}, "works"},
		"a loop that looks always miss":   {[]sighting{at(running, 0), at(running, 1), at(running, 2), at(running, 3), at(running, 4)}, "kubelet.service runs now, and restarted in a loop until less than a minute ago, restarted 4 times so far"},
		"a loop that is over":             {append([]sighting{at(running, 0), at(running, 1), at(running, 2), at(running, 3)}, slices.Repeat([]sighting{at(running, 3)}, 4)...), "works"},
		"restarts before the agent began": {[]sighting{at(running, 90), at(running, 90)}, "works"},
	} {
		t.Run(name, func(t *testing.T) {
			var s services
			var got []report.Service
			now := time.Unix(0, 0)
			for _, look := range c.looks {
				now = now.Add(servicesEvery)
				got, _ = s.take([]sighting{look}, now)
			}
			switch {
			case c.want == "" && len(got) > 0, c.want != "" && len(got) != 1:
				t.Fatalf("got %+v, want %q", got, c.want)
			case c.want == "":
			case got[0].Works != (c.want == "works"), c.want != "works" && !strings.Contains(got[0].Text, c.want):
				t.Errorf("got %+v, want %q", got[0], c.want)
			}
		})
	}
}

// The daemon asks a runtime that was down at the last pass at its former socket again, since the
// next pass may come long after the runtime runs again. The line that keeps it:
// runtime_and_kubelet.go, of.
func TestSocketOfARuntimeThatWasDown(t *testing.T) {
	var s services
	for _, c := range []struct {
		runtime host.RuntimeFacts
		want    string
	}{
		{host.RuntimeFacts{Name: "cri-o"}, ""},
		{host.RuntimeFacts{Name: "cri-o", Socket: "/run/crio/crio.sock"}, "/run/crio/crio.sock"},
		{host.RuntimeFacts{Name: "cri-o"}, "/run/crio/crio.sock"},
		{host.RuntimeFacts{Name: "cri-o", Socket: "/run/other.sock"}, "/run/other.sock"},
		{host.RuntimeFacts{Name: "containerd"}, ""},
		{host.RuntimeFacts{Name: "containerd", Socket: "/run/c.sock"}, "/run/c.sock"},
		{host.RuntimeFacts{Name: "containerd", CRIDisabled: true}, "/run/c.sock"},
	} {
		if s.of(&host.Facts{Runtime: c.runtime}); s.aim.socket != c.want {
			t.Errorf("%+v: asked at %q, want %q", c.runtime, s.aim.socket, c.want)
		}
	}
}

// A runtime that was started again has read its files, so a pass follows as soon as it answers. The
// line that keeps it: runtime_and_kubelet.go, take (again).
func TestRuntimeThatWasStartedAgain(t *testing.T) {
	s := services{aim: aimed{runtime: "cri-o"}}
	at := func(name, active, run string, silent error) sighting {
		return sighting{name: name, state: systemd.UnitState{Active: active, Invocation: run}, silent: silent}
	}
	for i, c := range []struct {
		look sighting
		want bool
	}{
		{at("cri-o", "active", "1", nil), false},
		{at("cri-o", "active", "1", nil), false},
		{at("cri-o", "inactive", "", nil), false},
		{at("cri-o", "activating", "2", nil), false},
		{at("cri-o", "active", "2", errors.New("no answer")), false},
		{at("cri-o", "active", "2", nil), true},
		{at("cri-o", "active", "2", nil), false},
		{at("kubelet", "active", "1", nil), false},
		{at("kubelet", "active", "2", nil), false},
	} {
		if _, again := s.take([]sighting{c.look}, time.Now()); again != c.want {
			t.Errorf("look %d: %v, want %v", i, again, c.want)
		}
	}
}

// If a service that pods need does not work, the node is critical, whatever the state of its keys,
// unless something worse is known. A daemon that has not looked yet says nothing of services.
func TestServicesMakeANodeCritical(t *testing.T) {
	down := []report.Service{{Name: "containerd", Works: true}, {Name: "kubelet", Text: "kubelet.service is stopped"}}
	for state, want := range map[report.NodeState]string{
		report.NodeConverged: "critical: kubelet does not work: kubelet.service is stopped", report.NodeFailing: "critical: kubelet does not work: kubelet.service is stopped",
		report.NodeCritical: "critical: why", report.NodeStarting: "starting: why",
	} {
		if got, reason := withServices(state, "why", down); string(got)+": "+reason != want {
			t.Errorf("%s becomes %s: %s, want %s", state, got, reason, want)
		}
	}
	if got, _ := withServices(report.NodeConverged, "", down[:1]); got != report.NodeConverged {
		t.Errorf("a node on which all works becomes %s", got)
	}
}
