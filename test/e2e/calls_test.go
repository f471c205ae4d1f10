package e2e

import (
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/rerun"
)

// ofRuntime has the system calls that Go's runtime makes for itself. Their number depends on the
// speed of the machine and not on the work.
const ofRuntime = "futex,clock_gettime,epoll_pwait,epoll_ctl,epoll_create1,eventfd2,nanosleep,clock_nanosleep,sched_yield,sched_getaffinity,rt_sigaction,rt_sigprocmask," +
	"rt_sigreturn,sigaltstack,madvise,mmap,munmap,mprotect,mincore,clone,clone3,tgkill,getpid,gettid,exit,exit_group,restart_syscall,set_robust_list," +
	"rseq,prctl,arch_prctl,membarrier,timer_create,timer_settime,timer_delete"

// counted has the numbers of system calls of a program.
type counted struct {
	all    int
	byName map[string]int
	peers  map[string]int // the number of connections, by the path of the socket
}

var (
	callLine   = regexp.MustCompile(`^\d+ +(\w+)\(`)
	ofNoWork   = regexp.MustCompile(`anon_inode:|EAGAIN`) // of the runtime, or with no data yet
	socketPath = regexp.MustCompile(`sun_path="([^"]+)"`)
)

func callsIn(trace string) counted {
	c := counted{byName: map[string]int{}, peers: map[string]int{}}
	for line := range strings.Lines(trace) {
		m := callLine.FindStringSubmatch(line)
		if m == nil || ofNoWork.MatchString(line) {
			continue
		}
		c.all++
		c.byName[m[1]]++
		if path := socketPath.FindStringSubmatch(line); path != nil && m[1] == "connect" {
			c.peers[path[1]]++
		}
	}
	return c
}

// String lists the calls, the most frequent first.
func (c counted) String() string {
	names := slices.SortedFunc(maps.Keys(c.byName), func(a, b string) int { return c.byName[b] - c.byName[a] })
	var b strings.Builder
	fmt.Fprintf(&b, "%d calls:", c.all)
	for _, name := range names {
		fmt.Fprintf(&b, " %s %d", name, c.byName[name])
	}
	return fmt.Sprintf("%s; connects to %v", b.String(), c.peers)
}

// onThisMachine returns the id that a process of a node has on this machine.
func onThisMachine(t *testing.T, n *node.Node, pid string) int {
	t.Helper()
	mine, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", n.Init()))
	if err != nil {
		t.Fatal(err)
	}
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range all {
		status, _ := os.ReadFile(dir + "/status") // a process that is gone has an empty status
		for line := range strings.Lines(string(status)) {
			ids := strings.Fields(line)
			if ids[0] != "NSpid:" || len(ids) < 3 || ids[len(ids)-1] != pid {
				continue
			}
			if ns, err := os.Readlink(dir + "/ns/pid"); err == nil && ns == mine {
				found, err := strconv.Atoi(filepath.Base(dir))
				if err != nil {
					t.Fatal(err)
				}
				return found
			}
		}
	}
	t.Fatalf("no process of this machine is %s of the node", pid)
	return 0
}

// following has strace's arguments for the calls of all threads, except the calls of the runtime.
var following = []string{"-f", "-qq", "-y", "-s", "128", "-e", "trace=!" + ofRuntime}

// betweenLooks is true from 2 to 12 seconds after a look at the services
// (pkg/daemon/runtime_and_kubelet.go). A look asks systemd and the runtime, and the next one comes
// half a minute later.
const betweenLooks = `began=$(systemctl show --value -p ExecMainStartTimestampMonotonic netwright-agent)
	s=$(awk -v began=$began '{print int($1-began/1e6)%30}' /proc/uptime); [ $s -ge 2 ] && [ $s -le 12 ]`

// follow calls do and counts the calls of a process, until the process has made none for quiet
// seconds.
func follow(t *testing.T, pid, quiet int, do func()) counted {
	t.Helper()
	trace := filepath.Join(t.TempDir(), "trace")
	cmd := exec.Command("strace", slices.Concat(following, []string{"-o", trace, "-p", strconv.Itoa(pid)})...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for !traced(pid) {
		time.Sleep(10 * time.Millisecond)
	}
	do()
	read := func() string {
		text, err := os.ReadFile(trace)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for was, at := -1, time.Now(); time.Since(at) < time.Duration(quiet)*time.Second; time.Sleep(100 * time.Millisecond) {
		if now := callsIn(read()).all; now != was {
			was, at = now, time.Now()
		}
	}
	_ = cmd.Process.Signal(syscall.SIGINT) // strace detaches from the process
	_ = cmd.Wait()                         // and its error says that it was interrupted
	return callsIn(read())
}

// traced says whether strace follows all threads of a process.
func traced(pid int) bool {
	all, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	for _, name := range all {
		status, err := os.ReadFile(name)
		if err == nil && strings.Contains(string(status), "TracerPid:\t0\n") {
			return false
		}
	}
	return len(all) > 0
}

// passesOf returns how many passes the daemon of a node has made, and how many objects it has
// allocated until then.
func passesOf(t *testing.T, n *node.Node) (passes, mallocs int) {
	t.Helper()
	out := n.Must(t.Context(), "bash", "-euc", `exec 3<>/dev/tcp/127.0.0.1/19870
		printf 'GET /metrics HTTP/1.0\r\n\r\n' >&3
		awk '/^go_memstats_mallocs_total /{m=$2} /^netwright_passes_total/{n+=$2} END{printf "%d %d\n", n, m}' <&3`)
	if _, err := fmt.Sscan(out, &passes, &mallocs); err != nil {
		t.Fatalf("%q: the error is %v", out, err)
	}
	return passes, mallocs
}

// runOnce counts the calls of a run without a daemon.
func runOnce(t *testing.T, n *node.Node, args ...string) counted {
	t.Helper()
	trace := filepath.Join(t.TempDir(), "trace")
	command := slices.Concat(following, []string{"-o", trace, "nsenter", "--target", strconv.Itoa(n.Init()), "--all", "--root", "--wd", "/usr/bin/netwright", "--once"}, args)
	if out, err := exec.Command("strace", command...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	_, agents, _ := strings.Cut(string(text), `execve("/usr/bin/netwright"`)
	return callsIn(agents)
}

// These are bounds of what a pass of the node below costs. Each is somewhat above the figure that
// was measured when the bound was last set. A commit that makes a pass cheaper lowers the bound. A
// commit that makes it dearer raises the bound and says why.
const (
	syncsOfARepair  = 6      // of `agent --once` that repairs a file: the file and its directory, and twice the journal and its
	callsOfARun     = 990    // 968 of `agent --once` that finds nothing to do, start and end of the process with it
	callsOfARepair  = 1_180  // 1,152 of one that repairs a file: 205 more when it looked again at what no change touched
	callsOfARoute   = 44     // 39 to make one of many: 45 when each family was listed by itself
	callsOfADrift   = 1_300  // 850 to 1,080 of a repair of a key, the search for its writers, and the next pass
	linksOfADrift   = 60     // 22 links read in the search for other writers: 120 when each file of a process that may do more was read
	objectsOfAWhole = 11_000 // 8,200 of a daemon's whole pass that finds nothing to do, and that a command asked for: 12,400 when it got all signals of systemd
)

// This test counts the costs of a pass that do not depend on the machine's speed: system calls,
// connections to other programs, allocated objects. After an event on the host the daemon does not
// ask the runtime, and connects to systemd once.
//
// The lines that keep it: pkg/daemon/loop.go, round; pkg/daemon/watch_host.go, subscribe;
// pkg/host/writing_programs.go, hasOpen.
func TestDaemonCostsInCalls(t *testing.T) {
	t.Parallel()
	rerun.Never(t, "what it counts is no matter of luck")
	needs.Tool(t, "strace", "nsenter")
	const systemd, runtime = "/run/systemd/private", "/run/containerd/containerd.sock"
	n, ctx := driftNode(t), t.Context()
	until(t, n, "all is right", "netwright --dry-run")
	pid := onThisMachine(t, n, strings.TrimSpace(n.Must(ctx, "systemctl", "show", "--value", "-p", "MainPID", "netwright-agent")))

	for _, c := range []struct{ what, shell, right string }{
		{"a file is written", "echo theirs >>" + conflistPath, "! grep -q theirs " + conflistPath},
		{"a sysctl is written", "echo 0 >/proc/sys/net/ipv4/ip_forward", "grep -q 1 /proc/sys/net/ipv4/ip_forward"},
		{"the file again", "echo theirs >>" + conflistPath, "! grep -q theirs " + conflistPath},
		{"the file a third time", "echo theirs >>" + conflistPath, "! grep -q theirs " + conflistPath},
	} {
		var wrong string
		// If another program causes an event in one of these periods, the daemon gathers facts
		// again, and that is right. On a busy machine the pass after a repair comes some seconds
		// later (pkg/daemon/cpu_budget.go).
		for _, quiet := range []int{1, 5, 5} {
			until(t, n, "no look at the services comes soon", betweenLooks)
			until(t, n, "nothing but an event makes a pass soon", `[ $(($(date -d "$(netwright status -o json | jq -r .next)" +%s) - $(date +%s))) -gt 60 ]`)
			before, _ := passesOf(t, n)
			calls := follow(t, pid, quiet, func() {
				if !n.Is(ctx, c.shell) || !n.Await(ctx, c.right) {
					t.Fatalf("%s, and is not made right", c.what)
				}
			})
			after, _ := passesOf(t, n)
			passes := after - before
			t.Logf("%s: %d passes, %s", c.what, passes, calls)
			switch {
			case passes == 0 || calls.all > passes*callsOfADrift || calls.all < passes*100:
				wrong = fmt.Sprintf("%d calls in %d passes, want at most %d in each", calls.all, passes, callsOfADrift)
			case calls.byName["readlinkat"] > passes*linksOfADrift:
				wrong = fmt.Sprintf("%d links read in %d passes, want at most %d in each", calls.byName["readlinkat"], passes, linksOfADrift)
			case calls.peers[runtime] > 0 || calls.peers[systemd] > passes:
				wrong = fmt.Sprintf("connects in %d passes to %v, want none to the runtime and one a pass to systemd", passes, calls.peers)
			default:
				wrong = ""
			}
			if wrong == "" {
				break
			}
		}
		if wrong != "" {
			t.Errorf("%s: three times %s", c.what, wrong)
		}
	}

	asking, both := math.MaxInt, math.MaxInt // the least of each: others allocate meanwhile
	for range 5 {
		_, begun := passesOf(t, n)
		_, asked := passesOf(t, n)
		n.Must(ctx, "netwright", "--once")
		_, ended := passesOf(t, n)
		asking, both = min(asking, asked-begun), min(both, ended-asked)
	}
	objects := both - asking
	t.Logf("a whole pass that finds nothing allocates %d objects", objects)
	if objects > objectsOfAWhole || objects < 1000 {
		t.Errorf("a whole pass that finds nothing allocates %d objects, want at most %d", objects, objectsOfAWhole)
	}

	n.Must(ctx, "systemctl", "stop", "netwright-agent")
	calls := runOnce(t, n)
	t.Logf("a run that finds nothing: %s", calls)
	if calls.all > callsOfARun || calls.all < 100 {
		t.Errorf("a run that finds nothing makes %d calls, want at most %d", calls.all, callsOfARun)
	}
	if calls.peers[runtime] != 1 || calls.peers[systemd] != 1 {
		t.Errorf("a run that finds nothing connects to %v, want runtime and systemd once each", calls.peers)
	}
	const services = 300
	n.Shell(ctx, fmt.Sprintf(`{ echo '*nat'; for i in $(seq %d); do printf ':KUBE-SVC-%%016d - [0:0]\n' $i; done; echo COMMIT; } | iptables-nft-restore -n`, services))
	if many := runOnce(t, n); many.all > calls.all+services/3 {
		t.Errorf("with %d chains of services it makes %d calls more: %s", services, many.all-calls.all, many)
	}
	n.Must(ctx, "sh", "-c", "echo theirs >>"+conflistPath)
	repair := runOnce(t, n)
	t.Logf("a run that repairs a file: %s", repair)
	if repair.all > callsOfARepair {
		t.Errorf("a run that repairs a file makes %d calls, want at most %d", repair.all, callsOfARepair)
	}
	if syncs := repair.byName["fsync"]; syncs > syncsOfARepair || syncs < 4 {
		t.Errorf("a run that repairs a file syncs %d files and directories, want %d: what each is for", syncs, syncsOfARepair)
	}
	costsOfPeers(t, n, calls.all)
}

// costsOfPeers checks that a node with routes to many other nodes lists its routes as often as a
// node with one. without is the number of calls of a run that finds nothing to do on a node with
// one.
//
// The lines that keep it: pkg/host/snapshot.go, readOnce;
// pkg/reconcile/execute/unaffected_tasks.go, unaffected; pkg/host/rtnl/routes_write.go,
// ReplaceRoute.
func costsOfPeers(t *testing.T, n *node.Node, without int) {
	t.Helper()
	const peers = 200
	var list []string
	for i := range peers {
		list = append(list, fmt.Sprintf("{name: peer-%d, address: 10.77.0.%d, podCIDRs: [10.244.%d.0/24]}", i, 20+i, 20+i))
	}
	const at = "/srv/netwright/" + cluster + "/cluster.yaml"
	n.Write(at, strings.Replace(n.Must(t.Context(), "cat", at), "bridge: {}", "bridge: {nodes: ["+strings.Join(list, ", ")+"]}\n"+atOnce, 1), 0o644)
	made := runOnce(t, n)
	t.Logf("a run that routes to %d nodes: %s", peers, made)
	if each := (made.all - without) / peers; each > callsOfARoute {
		t.Errorf("to make one of %d routes takes %d calls, want at most %d", peers, each, callsOfARoute)
	}
	if have := n.Shell(t.Context(), "ip route show proto 149 | wc -l"); strings.TrimSpace(have) != strconv.Itoa(peers+1) {
		t.Fatalf("%s routes, want %d", have, peers+1)
	}
	if calls := runOnce(t, n); calls.all > without+peers/2 {
		t.Errorf("with routes to %d nodes it makes %d calls more: %s", peers, calls.all-without, calls)
	}
	n.Shell(t.Context(), "ip route del 10.244.30.0/24")
	calls := runOnce(t, n)
	t.Logf("a run that repairs one of %d routes: %s", peers, calls)
	if calls.all > callsOfARepair+peers/2 {
		t.Errorf("a run that repairs one of %d routes makes %d calls", peers, calls.all)
	}
}
