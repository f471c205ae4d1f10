package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/test/child"
	"github.com/netwright/netwright/test/rerun"
)

// process is one life of a node, from boot to power-off.
type process struct {
	*child.Process     // nspawn
	leader         int // pid of the node's systemd, as this machine sees it
}

const bootTime = 5 * time.Minute // far above what a busy machine takes: it only ends what hangs

func (n *Node) boot(ctx context.Context) (state string, err error) {
	if n.process != nil {
		return "", errors.New("it is already on")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, bootTime, fmt.Errorf("not up after %s", bootTime))
	defer cancel()
	groups, err := makeCgroups(prefix + n.fabric.lab.id + "/" + n.name)
	if err != nil {
		return "", err
	}
	nspawn := n.nspawn(groups)
	log, err := os.OpenFile(n.console(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return "", fmt.Errorf("opening the console's log: %w", err)
	}
	defer log.Close()
	nspawn.Stdout, nspawn.Stderr = log, log
	started, err := child.Start(nspawn)
	if err != nil {
		return "", fmt.Errorf("starting systemd-nspawn: %w", err)
	}
	n.process = &process{Process: started}
	if err := n.await(ctx); err != nil {
		return "", err
	}
	err = retry(func() error { // its socket is there before it answers
		result, err := n.enter(ctx, "systemctl", "is-system-running", "--wait")
		if state = strings.TrimSpace(result.Stdout); err == nil && state == "" {
			err = fmt.Errorf("it says nothing: %s", result.Stderr)
		}
		return err
	})
	if err != nil {
		return "", fmt.Errorf("waiting for systemd: %w", err)
	}
	if n.options.Networkd && n.options.Address != "" {
		err = retry(func() error { return n.Do(routed) })
	}
	return state, err
}

// routed is an error while networkd, which systemd does not wait for, has not set both default
// routes yet.
func routed() error {
	for path, route := range map[string]string{
		"/proc/thread-self/net/route":      "host0\t00000000\t",                                                          // proc_net(5): link, destination
		"/proc/thread-self/net/ipv6_route": "\n" + strings.Repeat("0", 32) + " 00 " + strings.Repeat("0", 32) + " 00 fd", // destination, source, next hop
	} {
		routes, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("reading the routes of a node: %w", err)
		}
		if !strings.Contains("\n"+string(routes), route) {
			return fmt.Errorf("there is no default route in %s", path)
		}
	}
	return nil
}

// nspawn is the command that boots the node. It enters the node's cgroups itself, before it has
// children.
func (n *Node) nspawn(groups []string) *exec.Cmd {
	script := `for g in $CGROUPS; do echo $$ >$g/cgroup.procs || exit 1; done; unset CGROUPS; exec "$@"`
	args := []string{"-c", script, "sh", "nsenter", "--net=" + n.fabric.Netns(), "systemd-nspawn",
		"--directory=" + n.Root(), "--boot", "--machine=" + n.machine(), "--hostname=" + n.name,
		"--network-bridge=br0", "--register=no", "--keep-unit", "--private-users=no",
		// The kernel is the machine's: no modules, no clock. Everything else a host's root may do.
		"--capability=all", "--drop-capability=CAP_SYS_MODULE,CAP_SYS_TIME,CAP_SYS_RAWIO",
		"--system-call-filter=@keyring bpf perf_event_open", // runc's keyrings, networks' BPF programs
		"--resolv-conf=off", "--timezone=off", "--link-journal=no",
		"--bind=" + filepath.Join(n.dir, "containerd") + ":/var/lib/containerd", // no overlay upon an overlay
	}
	for to, from := range n.options.Binds {
		args = append(args, "--bind-ro="+from+":"+to)
	}
	cmd := exec.Command("sh", args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH") + ":/usr/sbin:/sbin", "CGROUPS=" + strings.Join(groups, " "), "SYSTEMD_LOG_LEVEL=notice"}
	return cmd
}

func (n *Node) console() string { return filepath.Join(n.dir, "console.log") }

// await finds the node's first process and waits for its systemd to listen.
func (n *Node) await(ctx context.Context) error {
	for {
		for _, pid := range children(n.process.PID) {
			// Until nspawn has changed its child's root, that is this machine's, which may have a
			// systemd of its own.
			if _, err := os.Stat(fmt.Sprintf("/proc/%d/root/run/systemd/private", pid)); err == nil && isFirst(pid) {
				n.process.leader = pid
				return nil
			}
		}
		select {
		case <-n.process.Ended:
			p := n.process
			n.process = nil
			return fmt.Errorf("systemd-nspawn ended: %w\n%s", p.Err(), n.journal())
		case <-ctx.Done():
			return fmt.Errorf("waiting for systemd to listen: %w\n%s", context.Cause(ctx), n.journal())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// isFirst says that a process is the first of a pid namespace below this one.
func isFirst(pid int) bool {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)) // gone is no
	for line := range strings.Lines(string(status)) {
		if ids, ok := strings.CutPrefix(line, "NSpid:"); ok {
			fields := strings.Fields(ids)
			return len(fields) > 1 && fields[len(fields)-1] == "1"
		}
	}
	return false
}

// children are the processes that the threads of a process have started: a file for each thread
// (proc(5)), and no look at all processes of the machine.
func children(parent int) []int {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", parent))
	var pids []int
	for _, path := range lists {
		list, _ := os.ReadFile(path) // gone is none
		for word := range strings.FieldsSeq(string(list)) {
			if pid, err := strconv.Atoi(word); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// Reboot shuts the node down properly and boots it again with the same disk.
func (n *Node) Reboot(ctx context.Context) {
	n.t.Helper()
	n.PowerOff(ctx)
	n.Boot(ctx)
}

// PowerOff shuts the node down properly: systemd stops the units.
func (n *Node) PowerOff(ctx context.Context) {
	n.t.Helper()
	ctx, cancel := context.WithTimeoutCause(ctx, bootTime, fmt.Errorf("not off after %s", bootTime))
	defer cancel()
	_, err := n.enter(ctx, "systemctl", "poweroff")
	var exit *exec.ExitError
	if signalled := errors.As(err, &exit) && !exit.Exited(); err != nil && !signalled { // that is the node, which ends it with all else
		n.t.Fatalf("shutting node %s down: %v", n.name, err)
	}
	select {
	case <-n.process.Ended:
	case <-ctx.Done():
		n.t.Fatalf("shutting node %s down: %v\n%s", n.name, context.Cause(ctx), n.journal())
	}
	n.off()
}

// Kill ends all processes of the node at once, as a power cut does. Unlike a power cut it loses no
// write. Boot starts the node again.
func (n *Node) Kill() {
	n.t.Helper()
	rerun.Never(n.t, "it kills the node")
	if err := n.kill(); err != nil {
		n.t.Fatalf("killing node %s: %v", n.name, err)
	}
}

func (n *Node) kill() error {
	if n.process == nil {
		return nil
	}
	if n.process.leader != 0 {
		unix.Kill(n.process.leader, unix.SIGKILL) // first in its pid namespace: all others go with it
	}
	n.process.Kill()
	return n.off()
}

// off waits until the kernel has let go of what the node had: its processes, and its end of the
// cable, whose name the next boot takes.
func (n *Node) off() error {
	n.process = nil
	if err := removeCgroups(prefix + n.fabric.lab.id + "/" + n.name); err != nil {
		return err
	}
	_ = command("ip", "-n", n.fabric.netns, "link", "del", n.cable()) // the kernel may take minutes to end a namespace, and it with it
	return retry(func() error {
		return n.fabric.Do(func() error {
			links, err := os.ReadFile("/proc/thread-self/net/dev")
			if err == nil && bytes.Contains(links, []byte(n.cable()+":")) {
				err = fmt.Errorf("%s is still there", n.cable())
			}
			return err
		})
	})
}

// machine is nspawn's name for the node: unlike the host name it is unique on this machine, and
// short enough for a link's name.
func (n *Node) machine() string { return n.fabric.lab.id + "-" + strconv.Itoa(n.index) }

// cable is the fabric's end of the node's host0.
func (n *Node) cable() string { return "vb-" + n.machine() }

// journal is the end of what the node said, for whoever must find out why a test failed.
func (n *Node) journal() string {
	console, _ := os.ReadFile(n.console())
	journal, _ := exec.Command("journalctl", "--no-pager", "--lines=200", "--output=short-monotonic",
		"--directory="+filepath.Join(n.Root(), "var/log/journal")).CombinedOutput()
	var shown strings.Builder
	for line := range strings.Lines(string(journal)) {
		if !strings.Contains(line, "level=info") { // containerd tells its whole configuration
			shown.WriteString(line)
		}
	}
	return fmt.Sprintf("console:\n%s\njournal:\n%s", console[max(0, len(console)-4000):], shown.String())
}
