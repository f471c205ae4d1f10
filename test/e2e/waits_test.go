package e2e

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/netwright/netwright/test/node"
)

// held is a server that can be held: then it answers in a way that does not end before the test ends it. A zero one answers as it should.
type held struct {
	mu      sync.Mutex
	how     func(w http.ResponseWriter, end <-chan struct{})
	end     chan struct{}
	met     chan struct{} // closed when the first was held
	holding int
}

// begin holds whoever asks from now on. The channel is closed when the first is held.
func (h *held) begin(how func(w http.ResponseWriter, end <-chan struct{})) (met <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.how, h.end, h.met = how, make(chan struct{}), make(chan struct{})
	return h.met
}

// now is how many are held.
func (h *held) now() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.holding
}

// release lets all go, and answers as it should.
func (h *held) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.how = nil
	close(h.end)
}

// answer holds a request; false: it is to be answered.
func (h *held) answer(w http.ResponseWriter, r *http.Request) bool {
	h.mu.Lock()
	how, end := h.how, h.end
	if how == nil {
		h.mu.Unlock()
		return false
	}
	if h.holding++; h.holding == 1 {
		select {
		case <-h.met:
		default:
			close(h.met)
		}
	}
	h.mu.Unlock()
	over, gone := make(chan struct{}), r.Context().Done()
	go func() {
		defer close(over)
		select {
		case <-end:
		case <-gone:
		}
	}()
	how(w, over)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.holding--
	return true
}

// blackHole never answers.
func blackHole(_ http.ResponseWriter, end <-chan struct{}) { <-end }

// drip answers above the slowest rate that a client takes for alive, and never comes to its end.
func drip(w http.ResponseWriter, end <-chan struct{}) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := w.Write([]byte(strings.Repeat(" ", 200))); err != nil {
			return
		}
		w.(http.Flusher).Flush()
		select {
		case <-end:
			return
		case <-tick.C:
		}
	}
}

// endless has a body without an end, as fast as it is read.
func endless(w http.ResponseWriter, end <-chan struct{}) {
	chunk := []byte(strings.Repeat(" ", 64<<10))
	for {
		select {
		case <-end:
			return
		default:
		}
		if _, err := w.Write(chunk); err != nil {
			return
		}
	}
}

const repairs = 12 // of each kind, while something is held

// repaired changes a sysctl and a file of a node again and again, and returns how long each was wrong.
func repaired(t *testing.T, n *node.Node, what string) (p99 time.Duration) {
	t.Helper()
	out := n.Shell(t.Context(), fmt.Sprintf(`for i in $(seq %d); do
		a=$(date +%%s%%N); echo 0 >/proc/sys/net/ipv4/ip_forward
		while [ "$(cat /proc/sys/net/ipv4/ip_forward)" != 1 ]; do :; done
		b=$(date +%%s%%N); echo "took $((b-a))"; sleep 0.5
		a=$(date +%%s%%N); rm /srv/mine
		while ! [ -e /srv/mine ]; do :; done
		b=$(date +%%s%%N); echo "took $((b-a))"; sleep 0.5
	done`, repairs))
	var all []time.Duration
	for line := range strings.Lines(out) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), "took "); ok {
			nanoseconds, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, time.Duration(nanoseconds))
		}
	}
	slices.Sort(all)
	p99 = all[(len(all)*99-1)/100]
	t.Logf("%-44s %d repairs: median %s, p99 %s, worst %s", what, len(all), all[len(all)/2].Round(100*time.Microsecond), p99.Round(100*time.Microsecond), all[len(all)-1].Round(100*time.Microsecond))
	return p99
}

// What drifts is repaired while others that the agent asks do not come to their end: the store, which is also where its archives are, and the container
// runtime. Each is held by this test for as long as it repairs, and is still held when all is right. How long it took is printed.
//
// The lines that keep it: pkg/agent/look.go; pkg/agent/fetch.go; pkg/host/cri_aside.go.
func TestRepairWaitsForNobody(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := bridgeStore(t)
	doc, err := os.ReadFile(s.path("cluster.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	s.write(t, "cluster.yaml", string(doc)+"  drift: {contested: {after: 1000, within: 10s}}\n  fileAssets:\n"+assetFile("/srv/mine", "one\n"))
	f := serveFresh(t, s)
	files := map[string]string{"/root/user-data": f.userData}
	maps.Copy(files, f.files)
	n := f.fabric.Node(t, node.Options{Name: "node-1", Address: "10.77.0.11", Files: files})
	n.Must(ctx, "/root/user-data")
	n.Must(ctx, "systemctl", "start", "netwright-agent.service") // waits for READY
	n.Must(ctx, "netwright", "--once")
	without := repaired(t, n, "nothing is held")

	report := func(what string, p99 time.Duration) {
		t.Logf("%-44s p99 is %.1f times that without", what, float64(p99)/float64(without))
	}
	for _, c := range []struct {
		what  string
		how   func(http.ResponseWriter, <-chan struct{})
		holds bool // the agent cannot end it before its limit
	}{
		{"the store is a black hole", blackHole, true}, {"the store drips", drip, true}, {"the store's answer is endless", endless, false},
	} {
		met := f.hold.begin(c.how)
		n.Must(ctx, "systemctl", "reload", "netwright-agent")
		<-met
		p99 := repaired(t, n, c.what)
		if c.holds && f.hold.now() == 0 {
			t.Errorf("%s: nothing is held any more when all is repaired: this proves nothing", c.what)
		}
		report(c.what, p99)
		f.hold.release()
		n.Must(ctx, "netwright", "--once")
	}

	// An archive that is on its way: its key waits, all else is repaired, and it is right when it is there.
	until(t, n, "the plugins are kept", "ls /var/lib/netwright/assets/members/* >/dev/null")
	met := f.hold.begin(blackHole)
	n.Shell(ctx, "rm /var/lib/netwright/assets/members/* && rm "+pluginPath)
	<-met
	report("an archive is being fetched", repaired(t, n, "an archive is being fetched"))
	if f.hold.now() == 0 || n.Is(ctx, "test -e "+pluginPath) {
		t.Error("the archive is not held")
	}
	f.hold.release()
	n.Must(ctx, "netwright", "--once")
	until(t, n, "the plugin is there", "test -e "+pluginPath)

	for _, c := range []struct{ what, unit string }{{"containerd is stopped", "containerd"}} {
		pid := strings.TrimSpace(n.Must(ctx, "systemctl", "show", "--value", "-p", "MainPID", c.unit))
		n.Is(ctx, "kill -STOP "+pid)
		n.Shell(ctx, "systemctl daemon-reload") // an event of units
		p99 := repaired(t, n, c.what)
		if !n.Is(ctx, "grep -q ') T ' /proc/"+pid+"/stat") {
			t.Errorf("%s is not stopped any more when all is repaired: this proves nothing", c.unit)
		}
		report(c.what, p99)
		n.Is(ctx, "kill -CONT "+pid)
	}
}
